"""`import tensorflow` in its forms means tfcompat, also where another package of that name is installed."""

import gzip
import importlib
import json
import textwrap
from pathlib import Path

import children
import pytest

import tfcompat

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def run(tmp_path):
    """Runs a program that begins with install_as_tensorflow(), with a stand-in for an installed TensorFlow on its path."""
    for package in ("tensorflow", "tensorflow/python", "tensorflow_core"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise RuntimeError('the installed TensorFlow was loaded')\n")

    def run_program(text, install=True):
        start = "import tfcompat\ntfcompat.install_as_tensorflow()\n" if install else ""
        return children.warm("-c", start + textwrap.dedent(text), cwd=tmp_path)

    return run_program


PROGRAMS = {
    "a module of a contrib package before one of its name that the package's modules import": """
        from tensorflow.contrib.layers import ops as of_layers
        from tensorflow.contrib.lookup import lookup_ops
        from tensorflow.contrib.resampler import ops as of_resampler
        assert lookup_ops.__name__ == "tensorflow.contrib.lookup.lookup_ops"
        assert lookup_ops.string_to_index is tfcompat.contrib.lookup.string_to_index
        assert [of_layers.__name__, of_resampler.__name__] == ["tensorflow.contrib.layers.ops", "tensorflow.contrib.resampler.ops"]
        """,
    "a module before one of its name that it imports": """
        from tensorflow.contrib.framework.python.ops import variables
        assert variables.__name__ == "tensorflow.contrib.framework.python.ops.variables"
        assert variables.local_variable is tfcompat.contrib.framework.local_variable
        """,
    "both forms": """
        import tensorflow as tf
        import tensorflow.compat.v1 as tf1
        assert tf is tf1 is tfcompat and tf.compat.v1.Graph is tf.Graph
        """,
    "installing twice": "tfcompat.install_as_tensorflow(); import tensorflow; assert tensorflow is tfcompat",
    "modules of time series": """
        import tensorflow as tf
        import tensorflow.contrib.timeseries.python.timeseries as package
        from tensorflow.contrib.timeseries.python.timeseries import ar_model, NumpyReader, estimators as ts_estimators
        from tensorflow.contrib.timeseries.python.timeseries.state_space_models import level_trend, state_space_model
        assert package.ARModel is ar_model.ARModel is tf.contrib.timeseries.ARModel
        assert NumpyReader is tf.contrib.timeseries.NumpyReader
        assert issubclass(ts_estimators.LSTMAutoRegressor, tf.contrib.timeseries.TimeSeriesRegressor)
        assert issubclass(level_trend.AdderStateSpaceModel, state_space_model.StateSpaceModel)
        """,
    "public names of internal modules": """
        import tensorflow as tf
        from tensorflow.python.framework import dtypes, errors_impl, ops
        from tensorflow.python.framework.dtypes import float32
        from tensorflow.python.platform import gfile, tf_logging as logging
        assert ops.Graph is tf.Graph and dtypes.float32 is float32 is tf.float32
        assert errors_impl.NotFoundError is tf.errors.NotFoundError and errors_impl.NOT_FOUND == 5
        assert gfile.Exists is tf.gfile.Exists and logging.info is tf.logging.info
        """,
    "internal names": """
        from tensorflow.python.util import nest, tf_decorator, tf_inspect
        from tensorflow.python.lib.io import file_io
        from tensorflow.python import tf2
        assert nest.flatten([1, [2]]) == [1, 2] and not tf2.enabled()
        assert file_io.FileIO("x", "w").name == "x"
        assert tf_inspect.getargspec(lambda a, b=2: 0) == (["a", "b"], None, None, (2,))
        """,
    "internal names under another name": """
        import unittest.mock
        import tensorflow as tf
        from tensorflow.python.eager import execution_callbacks
        from tensorflow.python.ops import gradient_checker, gradient_checker_v2, init_ops, inplace_ops, math_ops, variables
        from tensorflow.python.platform import test
        assert math_ops._bucketize([1.0], boundaries=[0.0]).op.type == "Bucketize"
        assert variables.VariableV1 is tf.Variable and issubclass(tf.Variable, variables.Variable) and test.mock is unittest.mock
        assert gradient_checker.compute_gradient is not gradient_checker_v2.compute_gradient
        assert init_ops._compute_fans([2, 3]) == (2, 3)
        assert inplace_ops.empty([2], tf.float32).op.type == "Empty"
        assert execution_callbacks.ExecutionCallback.RAISE.value == "raise"
        """,
    "functions on arrays are no internal names": """
        from tensorflow.python.ops import array_ops
        assert not hasattr(array_ops, "_unravel_index") and not hasattr(array_ops, "_mirror_pad")
        """,
    "names behind the public ones": """
        from tensorflow.contrib.testing.python.framework import util_test
        from tensorflow.python.client import session
        from tensorflow.python.ops import array_ops
        from tensorflow.python.training import training_util
        assert util_test.latest_summaries is tfcompat.contrib.testing.latest_summaries
        assert session._DeviceAttributes("/job:w/replica:0/task:0/cpu:1", "CPU", 7, 8).name == "/job:w/replica:0/task:0/device:CPU:1"
        step = training_util.get_or_create_global_step()
        more = training_util._increment_global_step(2)
        with tfcompat.Session() as at_work:
            at_work.run(step.initializer)
            assert at_work.run(more) == 2 and at_work.run(training_util._get_or_create_global_step_read()) == 2
            assert at_work.run(array_ops.listdiff([5, 6, 7], [6])).idx.tolist() == [0, 2]
        """,
    "modules that a module imports": """
        from tensorflow.contrib.layers.python.layers import layers
        from tensorflow.python.layers import utils
        from tensorflow.python.ops import nn_ops, rnn, rnn_cell_impl
        from tensorflow.python.ops.rnn_cell_impl import *
        assert rnn.rnn_cell_impl is rnn_cell_impl and rnn_cell_impl.nn_ops is nn_ops and layers.utils is not utils
        assert math_ops.tanh is tfcompat.tanh and not hasattr(rnn, "session")
        """,
    "attribute access without import": """
        import tensorflow as tf
        assert tf.python.framework.ops.Graph is tf.Graph
        """,
    "other paths of the same module": """
        from tensorflow_core.python.framework import ops as one
        from tensorflow.python.framework import ops as two
        assert one is two
        """,
    "messages": """
        import tensorflow as tf
        from tensorflow.core.framework import graph_pb2
        assert graph_pb2.GraphDef.DESCRIPTOR.full_name == "tensorflow.GraphDef"
        """,
    "a star brings modules, names of other modules and of Python": """
        from tensorflow.python.ops.rnn_cell_impl import *
        assert collections.__name__ == "collections" and nest.flatten([1, [2]]) == [1, 2] and BasicLSTMCell is tfcompat.nn.rnn_cell.BasicLSTMCell
        from tensorflow.python.ops.array_ops import *
        assert np.__name__ == "numpy" and gen_array_ops.shape and dtypes.float32 is tfcompat.float32 and concat is tfcompat.concat
        from tensorflow.python.framework.ops import *
        assert control_flow_util.__name__.endswith("control_flow_util") and six.moves
        from tensorflow.python.eager import context
        assert context.MIRRORING_ALL == 1 and context.threading.Lock
        """,
    "what a module says that a star brings": """
        from tensorflow.python.ops.variable_scope import *
        assert get_variable is tfcompat.get_variable and "array_ops" not in dir() and "VariableScope" in dir()
        """,
    "constants and functions of op types": """
        from tensorflow.python.framework import errors_impl
        from tensorflow.python.ops import gen_math_ops
        assert gen_math_ops.tanh is tfcompat.tanh and gen_math_ops.Tanh(x=0.5).op.type == "Tanh"
        from tensorflow_estimator.python.estimator.canned import head
        assert head._PREDICT_SERVING_KEY == "predict"
        from tensorflow.python.keras.api._v1.keras import layers
        assert layers is tfcompat.keras.layers
        """,
    "tests under strategies": """
        from tensorflow.python.distribute import combinations, strategy_combinations
        from tensorflow.python.eager import test
        assert repr(strategy_combinations.one_device_strategy) == "OneDeviceCPU" and not strategy_combinations.default_strategy.required_gpus
        assert len(strategy_combinations.all_strategy_combinations()) == 12 and test.main.__module__.endswith("eager_test")
        """,
    "wildcard": """
        from tensorflow.python.framework.errors_impl import *
        assert NotFoundError.__name__ == "NotFoundError"
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_import(run, name):
    found = run(PROGRAMS[name])
    assert found.returncode == 0, found.stderr


CLASSES_BASES = json.loads(gzip.decompress((ROOT / "tests" / "golden" / "class_bases.json.gz").read_bytes()))
OPTIMIZERS = [
    path for path, bases in CLASSES_BASES.items()
    if path.startswith(("tensorflow.python.training.", "tensorflow.python.keras.optimizer_v2.")) and bases[0].endswith(("optimizer:Optimizer", ":OptimizerV2"))
]  # fmt: skip


def test_optimizers_have_the_direct_base_of_tensorflow():
    tfcompat.install_as_tensorflow()
    wrong = []
    for path in OPTIMIZERS:
        kind, base = (getattr(importlib.import_module(module), name) for module, name in (each.split(":") for each in (path, CLASSES_BASES[path][0])))
        if kind.__base__ is not base:
            wrong.append(path)
    assert len(OPTIMIZERS) > 15 and not wrong


LACKING = {
    "import tensorflow.python.no_such_module": ("ModuleNotFoundError", "tfcompat does not have tensorflow.python.no_such_module"),
    "from tensorflow.python.framework.ops import no_such_name": (
        "ImportError", "tfcompat does not have tensorflow.python.framework.ops.no_such_name"),
    "from tensorflow.python.framework import ops\nops.no_such_name": (
        "AttributeError", "tfcompat does not have tensorflow.python.framework.ops.no_such_name"),
    "from tensorflow.python.ops import seq2seq": ("ImportError", "use tf.contrib.legacy_seq2seq"),
}  # fmt: skip


@pytest.mark.parametrize("program", LACKING)
def test_lacking_name_says_so(run, program):
    error, text = LACKING[program]
    found = run(program)
    assert found.returncode == 1
    last = found.stderr.splitlines()[-1]
    assert last.startswith(error) and text in last


def test_too_late_where_tensorflow_is_already_imported(run):
    found = run(
        """
        import sys, types
        sys.modules["tensorflow"] = types.ModuleType("tensorflow")
        import tfcompat
        tfcompat.install_as_tensorflow()
        """,
        install=False,
    )
    assert "RuntimeError: tensorflow is already imported" in found.stderr


def test_without_installing_the_installed_one_is_untouched(run):
    found = run("import tfcompat\nimport tensorflow\n", install=False)
    assert "the installed TensorFlow was loaded" in found.stderr


def test_without_installing_inner_modules_of_contrib_are_tfcompats(run):
    found = run(
        """
        import sys
        import tfcompat as tf
        python = tf.contrib.tensor_forest.python
        assert python.tensor_forest.RandomForestGraphs and python.ops.model_ops.tree_variable
        assert "tensorflow" not in sys.modules
        """,
        install=False,
    )
    assert not found.returncode, found.stderr


def test_what_a_contrib_package_deletes_is_not_there(run):
    """tf.contrib.rnn imports these and deletes them; tf.contrib.slim deletes nothing."""
    found = run(
        """
        import tensorflow as tf
        assert not hasattr(tf.contrib.rnn, "MinimalRNNCell") and not hasattr(tf.contrib.rnn, "array_ops")
        from tensorflow.contrib.rnn.python.ops.rnn_cell import MinimalRNNCell
        assert tf.contrib.slim.array_ops.concat is tf.concat
        """
    )
    assert not found.returncode, found.stderr
