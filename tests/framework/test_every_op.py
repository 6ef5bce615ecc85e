"""Op types that graphs of files have are found by name, whichever module registers them."""

import children

NOT_OF_FILES = (
    "testing/test_ops.py", "cluster/transfer_ops.py", "cluster/step_arrays.py", "cluster/remote_calls.py", "cluster/trust.py", "interop/optax_optimizer.py",
    "interop/flax_layer.py", "horovod/collectives.py",
)  # fmt: skip
"""Modules whose op types no file of TensorFlow's has: its own tests', what masters and servers add to graphs, tfcompat's, and Horovod's."""
PROGRAM = f"""
import importlib, pkgutil
import tfcompat
from tfcompat._src.graph import op_spec
assert op_spec.find("Absent") is None
found = set(op_spec.registered_names())
for entry in pkgutil.walk_packages(tfcompat._src.__path__, "tfcompat._src."):
    if not entry.name.startswith(("tfcompat._src.cli.legacy.", "tfcompat._src.horovod.of_keras")):  # which import packages that need not be installed, and register no op
        importlib.import_module(entry.name)
print(*sorted(s.name for s in op_spec.registered() if s.name not in found and not s.where.split(":")[0].endswith({NOT_OF_FILES!r})))
"""


def test_a_new_process_finds_every_op_type():
    done = children.python("-c", PROGRAM)
    assert (done.returncode, done.stdout.split()) == (0, []), f"a module is missing in an every_op.py: {done.stderr}"
