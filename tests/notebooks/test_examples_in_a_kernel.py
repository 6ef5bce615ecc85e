"""The example notebooks in one kernel without a display, and an interrupt of it; what cells print is what TensorFlow 1.15.5 prints."""

import json
import re
import signal
from pathlib import Path

import numpy as np
import pytest
from jupyter_client import KernelManager

NOTEBOOKS = Path(__file__).resolve().parents[2] / "examples" / "notebooks"
PRINTED = {
    "first_graph": """\
step 0  loss 121.0000
step 1  loss 97.1650
step 2  loss 79.3982
""",
    "train_digits": """\
step  0  loss 2.3050
step 20  loss 0.5999
step 40  loss 0.2217
step 60  loss 0.1014
accuracy on 297 others: 0.896
""",
    "resume_checkpoint": """\
beta1_power              []
global_step              []
hidden/kernel/Adam       [64, 16]
logits/kernel/Adam_1     [16, 10]
step 100  loss of all digits 0.2190
step 120  loss of all digits 0.1769
""",
}
"""By TensorFlow 1.15.5, from the cells of code without magics, pictures and JAX."""
LONG = """
with tf.Graph().as_default():
    held = tf.get_variable("held", initializer=3.0)
    session = tf.Session()
    session.run(held.initializer)
    begun = tf.py_func(lambda: print("begun", flush=True), [], [])
    with tf.control_dependencies([begun]):
        start = tf.zeros([])
    endless = tf.while_loop(lambda x: x < 1.0, lambda x: x * 0.5, [start])
    after = held + 1.0
session.run(endless)
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("jupyter")
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            patch.setenv(name, str(folder))
        patch.setenv("PYTHONPATH", str(NOTEBOOKS.parents[1]))
        patch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel(cwd=str(NOTEBOOKS))
        client = manager.blocking_client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=300)
            yield manager, client
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
            manager.context.destroy()


def outputs(kernel, name):
    """What the cells of a notebook print, and the other outputs by their kinds of data."""
    printed, shown = [], {}

    def note(message):
        content = message["content"]
        printed.append(content.get("text", ""))
        shown.update(content.get("data", {}))

    for cell in json.loads((NOTEBOOKS / f"{name}.ipynb").read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            reply = kernel[1].execute_interactive("".join(cell["source"]), output_hook=note, timeout=300)["content"]
            assert reply["status"] == "ok", reply
    return "".join(printed), shown


def check_printed(name, printed):
    """Holds the lines that TensorFlow printed against those of the same words, numbers to 1e-3."""
    number = re.compile(r"\d+\.\d+")
    lines = {number.sub("#", line): line for line in printed.splitlines()}
    for line in PRINTED[name].splitlines():
        found = lines[number.sub("#", line)]
        np.testing.assert_allclose(*(np.array(number.findall(text), float) for text in (found, line)), rtol=1e-3, atol=1e-3)


def test_first_graph(kernel):
    printed, shown = outputs(kernel, "first_graph")
    check_printed("first_graph", printed)
    assert "TensorFlow 1.15.5 (tfcompat)" in printed and "plan: 1 compiled call(s)" in printed
    assert "model/hidden/MatMul" in shown["text/html"]


def test_train_digits(kernel):
    printed, shown = outputs(kernel, "train_digits")
    check_printed("train_digits", printed)
    assert shown["image/png"].startswith("iVBORw0KGgo")  # the signature of PNG in base 64


def test_resume_checkpoint(kernel):
    printed, _ = outputs(kernel, "resume_checkpoint")
    check_printed("resume_checkpoint", printed)
    assert "largest difference of the logits below 1e-4: True" in printed


def test_an_interrupted_run_leaves_a_session_that_works(kernel):
    manager, client = kernel
    client.execute_interactive("%load_ext tfcompat\nimport tensorflow as tf", timeout=300)
    printed = []

    def interrupt(message):
        printed.append(message["content"].get("text", ""))
        if "begun" in printed[-1]:
            manager.signal_kernel(signal.SIGINT)

    reply = client.execute_interactive(LONG, output_hook=interrupt, timeout=300)["content"]
    assert (reply["status"], reply["ename"]) == ("error", "KeyboardInterrupt") and "begun" in "".join(printed)
    assert client.execute_interactive("assert session.run(after) == 4.0", timeout=300)["content"]["status"] == "ok"
