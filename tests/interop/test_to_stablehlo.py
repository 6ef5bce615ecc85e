"""Runs as StableHLO programs: a process with JAX alone calls them; batches of any size; each against Session.run."""

import json

import children
import jax
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.runtime.latency import merged_traces

pytest.importorskip("flatbuffers")
RANDOM = np.random.RandomState(0)

ALONE = """
import json, sys
import jax, jax.export, numpy as np
with open("model.stablehlo", "rb") as file:
    program = jax.export.deserialize(bytearray(file.read()))
signature = json.load(open("signature.json"))
arrays = np.load("params.npz")
params = {group: {name: arrays[f"{group}/{name}"] for name in names} for group, names in signature["params"].items()}
feeds = [np.load(f"{i}.npy") for i in range(len(signature["inputs"]))]
for _ in range(3):
    found, params = program.call(params, *feeds)
np.savez("found.npz", *jax.tree.leaves(found))
assert not [name for name in sys.modules if name.startswith(("tfcompat", "tensorflow"))]
print(json.dumps(signature))
"""


@pytest.fixture(autouse=True)
def own_graph():
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield


def dense():
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    return [x], tf.nn.softmax(tf.layers.dense(tf.layers.dense(x, 20, tf.nn.relu), 3))


def convolution():
    """With batch statistics, whose mean is over a number of elements that the batch says."""
    x = tf.placeholder(tf.float32, [None, 12, 12, 3], name="x")
    maps = tf.layers.max_pooling2d(tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu, padding="same"), 2, 2)
    maps = tf.layers.conv2d_transpose(tf.layers.batch_normalization(maps, training=True), 3, 3, 2)
    return [x], tf.layers.dense(tf.layers.flatten(maps), 5)


def recurrent():
    x, lengths = tf.placeholder(tf.float32, [None, None, 3], name="x"), tf.placeholder(tf.int32, [None], name="lengths")
    cells = tf.nn.rnn_cell.LSTMCell(7), tf.nn.rnn_cell.GRUCell(7)
    (there, back), _ = tf.nn.bidirectional_dynamic_rnn(*cells, x, lengths, dtype=tf.float32)
    last = tf.stack([tf.range(tf.shape(x)[0]), lengths - 1], 1)
    return [x, lengths], {"last": tf.gather_nd(there, last), "back": back}


def attention():
    words = tf.placeholder(tf.int32, [None, None], name="x")
    found = tf.nn.embedding_lookup(tf.get_variable("table", [30, 16]), words)
    batch, time = tf.unstack(tf.shape(words))
    q, k, v = (tf.transpose(tf.reshape(tf.layers.dense(found, 16), [batch, time, 4, 4]), [0, 2, 1, 3]) for _ in range(3))
    mixed = tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 2.0), v)
    return [words], tf.reduce_mean(tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [batch, time, 16]), 1)


def training():
    x, y = tf.placeholder(tf.float32, [None, 8], name="x"), tf.placeholder(tf.int32, [None], name="y")
    loss = tf.losses.sparse_softmax_cross_entropy(y, tf.layers.dense(tf.layers.dense(x, 20, tf.nn.relu), 3))
    return [x, y], [loss, tf.train.AdamOptimizer(0.05).minimize(loss)]


def arrays_for(make, batch, time):
    return {
        dense: lambda: [RANDOM.rand(batch, 8)], convolution: lambda: [RANDOM.rand(batch, 12, 12, 3)], attention: lambda: [RANDOM.randint(0, 30, [batch, time])],
        recurrent: lambda: [RANDOM.rand(batch, time, 3), RANDOM.randint(1, time + 1, batch)], training: lambda: [RANDOM.rand(batch, 8), RANDOM.randint(0, 3, batch)],
    }[make]()  # fmt: skip


SHAPES = {recurrent: {"x:0": ["batch", "time", 3]}, attention: {"x:0": ["batch", "time"]}}


@pytest.mark.parametrize("make", [dense, convolution, recurrent, attention, training], ids=lambda make: make.__name__)
def test_sizes_are_symbols(make):
    feeds, fetches = make()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        made = tf.to_stablehlo(fetches, feeds, session, shapes=SHAPES.get(make))
        assert made.signature["inputs"][0]["shape"][0] == "batch"
        program = jax.export.deserialize(bytearray(made.content))
        assert program.platforms == ("cpu", "cuda", "tpu")
        params = made.params
        for batch, time in ((1, 1), (4, 3), (9, 40)):
            arrays = [a.astype(f.dtype.as_numpy_dtype) for a, f in zip(arrays_for(make, batch, time), feeds)]
            found, params = program.call(params, *arrays)
            wanted = session.run(fetches, dict(zip(feeds, arrays)))
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6), found, wanted)


def test_a_process_with_jax_alone_trains(tmp_path):
    (x, y), fetches = training()
    arrays = [RANDOM.rand(5, 8).astype(np.float32), RANDOM.randint(0, 3, 5).astype(np.int32)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.to_stablehlo(fetches, [x, y], session).save(tmp_path)
        for i, array in enumerate(arrays):
            np.save(tmp_path / f"{i}.npy", array)
        done = children.python("-c", ALONE, cwd=tmp_path)
        assert not done.returncode, done.stderr
        losses = [session.run(fetches, {x: arrays[0], y: arrays[1]})[0] for _ in range(3)]
        np.testing.assert_allclose(np.load(tmp_path / "found.npz")["arr_0"], losses[-1], rtol=1e-5)
    signature = json.loads(done.stdout)
    assert signature["inputs"] == [{"name": "x:0", "dtype": "float32", "shape": ["batch", 8]}, {"name": "y:0", "dtype": "int32", "shape": ["batch"]}]
    assert signature["outputs"] == [{"dtype": "float32", "shape": []}, None]
    assert signature["params"]["trainable"]["dense/kernel"] == {"dtype": "float32", "shape": [8, 20]}


def test_programs_from_files(tmp_path):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    tf.add(tf.matmul(x, tf.get_variable("w", initializer=[[1.0, 2.0], [3.0, 4.0]])), 1.0, name="y")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "saved"), {"features": x}, {"scores": x.graph.get_tensor_by_name("y:0")})
        tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))
    saved = tf.interop.to_stablehlo_from(tmp_path / "saved")
    checkpoint = tf.interop.to_stablehlo_from(tmp_path / "model.ckpt", {"scores": "y:0"}, ["x:0"], shapes={"x:0": [2, 2]}, platforms=["cpu"])
    for made in (saved, checkpoint):
        found, _ = jax.export.deserialize(bytearray(made.content)).call(made.params, np.eye(2, dtype=np.float32))
        assert found["scores"].tolist() == [[2, 3], [4, 5]]


def test_64_bits_are_32_outside_of_x64():
    ids = tf.placeholder(tf.int64, [None], name="ids")
    found = {"most": tf.argmax(tf.one_hot(ids, 5), 1), "double": tf.cast(ids, tf.float64) / 3}
    made = tf.to_stablehlo(found, [ids])
    assert [made.signature["outputs"][key]["dtype"] for key in ("most", "double")] == ["int32", "float32"]
    result, _ = jax.export.deserialize(bytearray(made.content)).call(made.params, np.array([4, 0, 2]))
    assert result["most"].tolist() == [4, 0, 2]
    with jax.enable_x64(True):
        made = tf.to_stablehlo(found, [ids])
        result, _ = jax.export.deserialize(bytearray(made.content)).call(made.params, np.array([4, 0, 2]))
        np.testing.assert_array_equal(result["double"], np.array([4, 0, 2]) / 3, strict=True)


def test_what_has_no_program_for_all_sizes_is_refused():
    x = tf.placeholder(tf.float32, [None, None], name="x")
    with pytest.raises(ValueError, match=r"x:0 has shape \(\?, \?\): give its sizes"):
        tf.to_stablehlo(x * 2, [x])
    with pytest.raises(ValueError, match=r"`shapes` names z:0, but the feeds are x:0"):
        tf.to_stablehlo(x * 2, [x], shapes={"z:0": [2]})
    with pytest.raises(NotImplementedError, match="With symbolic sizes this run has no JAX function"):
        tf.to_stablehlo(tf.layers.max_pooling1d(x[:, :, None], 2, 2), [x], shapes={"x:0": ["batch", "time"]})
    rooted = tf.reduce_sum(x) * tf.sqrt(tf.cast(tf.shape(x)[0], tf.float32))
    with pytest.raises(NotImplementedError, match="is no polynomial of sizes"):
        tf.to_stablehlo(rooted, [x], shapes={"x:0": ["batch", 2]})
    fixed = tf.placeholder(tf.float32, [2, 3], name="fixed")
    with pytest.raises(ValueError, match=r"fixed:0 has shape \(2, 3\), but got"):
        tf.to_stablehlo(fixed * 2, [fixed], shapes={"fixed:0": ["batch", 3]})
    sparse = tf.sparse_placeholder(tf.float32, [2, 2], name="sparse")
    with pytest.raises(NotImplementedError, match="feed its parts, sparse/"):
        tf.to_stablehlo(sparse.values * 2, [sparse])


def test_a_function_with_symbols_has_no_derivative():
    x = tf.placeholder(tf.float32, [None], name="x")
    fn, params = tf.to_jax(tf.reduce_sum(x * x), [x])
    size = jax.export.symbolic_shape("batch")
    program = jax.export.export(jax.jit(fn))(params, jax.ShapeDtypeStruct(size, np.float32))
    assert program.call(params, np.arange(4, dtype=np.float32))[0] == 14
    with pytest.raises(NotImplementedError, match="no derivative: sizes of its feeds are symbols"):
        jax.export.export(jax.jit(jax.grad(lambda x: fn(params, x)[0])))(jax.ShapeDtypeStruct(size, np.float32))
    assert jax.grad(lambda x: fn(params, x)[0])(np.ones(3, np.float32)).tolist() == [2, 2, 2]


def test_numbers_are_polynomials_of_several_symbols():
    """b*t + 2*b - 3 by its values at the corners and further points; b*b is none with one power of each."""
    b, t = jax.export.symbolic_shape("b, t")
    points = [(2, 5), (2, 7), (3, 5), (3, 7), (10, 11), (4, 6)]
    fit = merged_traces.Fit(points)
    assert str(fit.number([x * y + 2 * x - 3 for x, y in points])([b, t])) == str(b * t + 2 * b - 3)
    assert fit.number([x * y + 2 * x - 3 for x, y in points])([7, 9]) == 74
    assert fit.number([4] * 6)([b, t]) == 4
    assert fit.number([x * x for x, _ in points]) is None
    assert fit.number([x // 2 for x, _ in points]) is None
