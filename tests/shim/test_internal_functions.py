"""Functions of TensorFlow's own modules do what those of 1.15.5 do."""

import difflib
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import tfcompat.data  # noqa: F401  (data_adapter makes datasets of the classes that it registers)
from tfcompat._src.base import dtypes
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.function import wrapped_function
from tfcompat._src.keras.engine import data_adapter
from tfcompat._src.nodes.convert import constant
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.shim.internal import ragged_ops, tf_export
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import AUTO_REUSE, get_variable, variable_scope
from tfcompat.nn import relu

HERE = pathlib.Path(__file__).parent


@pytest.mark.parametrize("name", ["internal_functions", "internal_eager_functions", "internal_session_functions", "internal_graph_functions", "internal_api_generator", "metrics_impl_functions", "grappler_functions", "internal_names_functions", "names_of_libraries_functions"])
def test_what_1_15_5_prints(name):
    done = subprocess.run([sys.executable, "-m", "tfcompat", "run", HERE / f"{name}.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = (HERE / f"{name}_expected.txt").read_text()
    assert done.stdout == expected, "\n".join(difflib.unified_diff(expected.split("\n"), done.stdout.split("\n"), lineterm=""))


def test_public_names():
    assert tf_export.get_v1_names(reduce_sum) == ["math.reduce_sum", "reduce_sum"]  # the marks of 1.15.5's reduce_sum_v1
    assert tf_export.get_v1_names(relu) == tf_export.get_v2_names(relu) == ["nn.relu"]
    assert tf_export.get_canonical_name_for_symbol(reduce_sum) == "math.reduce_sum"
    listed = ragged_ops.ragged_op_list(1).split("\n")
    assert "* `tf.math.add`(**x**, **y**, name=`None`)" in listed and "* `tf.nn.relu`" not in listed


def test_functions_of_one_graph():
    def add(x):
        with variable_scope("vars", reuse=AUTO_REUSE):
            return x + get_variable("v", shape=[], dtype=dtypes.int32, initializer=Zeros())

    def increment(x):
        with variable_scope("vars", reuse=AUTO_REUSE):
            return get_variable("v", shape=[], dtype=dtypes.int32, initializer=Zeros()).assign_add(x)

    with eager_mode():
        graph = wrapped_function.WrappedGraph()
        first = graph.wrap_function(add, [TensorSpec([], dtypes.int32)])
        second = graph.wrap_function(increment, [TensorSpec([], dtypes.int32)])
        assert first(constant(5)).numpy() == 5 and second(constant(3)).numpy() == 3 and first(constant(5)).numpy() == 8
        assert list(graph.variables) == ["vars/v"] and sorted(graph.functions) == ["add", "increment"]


def test_batches_of_adapters():
    with eager_mode():
        x, y = np.arange(10).reshape(5, 2), np.arange(5)
        made = data_adapter.TensorLikeDataAdapter(x, y, batch_size=2, epochs=2)
        rows = [(a.numpy().tolist(), b.numpy().tolist()) for a, b in made.get_dataset()]
        one = [([[0, 1], [2, 3]], [0, 1]), ([[4, 5], [6, 7]], [2, 3]), ([[8, 9]], [4])]
        assert rows == one * 2
        np.random.seed(1)
        shuffled = data_adapter.TensorLikeDataAdapter(x, y, batch_size=5, shuffle=True).get_dataset()
        np.random.seed(1)
        order = np.arange(5)
        np.random.shuffle(order)
        assert [b.numpy().tolist() for _, b in shuffled] == [order.tolist()]
        weights = data_adapter.TensorLikeDataAdapter([x, x], [y, y], [None, np.full(5, 2.0, "f")], batch_size=5).get_dataset()
        assert [[w.numpy().tolist() for w in given] for _, _, given in weights] == [[[1.0] * 5, [2.0] * 5]]
        generated = data_adapter.GeneratorDataAdapter(((np.full((2, 1), i), np.full(2, -i)) for i in range(3)), workers=1)
        assert [b.numpy().tolist() for _, b in generated.get_dataset()] == [[0, 0], [-1, -1], [-2, -2]]
