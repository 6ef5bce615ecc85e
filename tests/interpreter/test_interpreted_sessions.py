"""Sessions on the interpreter: what is compiled, who may write to memory, and what is refused by name."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.interpreter.memory import is_lent, lent
from tfcompat._src.runtime.engines import choice, interpreter


@pytest.fixture(autouse=True)
def interprets(monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", "interpret")


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_training_compiles_nothing(session, compile_counter):
    x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32, [None])
    logits = tf.layers.dense(tf.layers.dense(x, 8, tf.nn.relu), 3)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    session.run(tf.global_variables_initializer())
    random = np.random.RandomState(0)
    images = random.randn(60, 4).astype(np.float32)
    labels = images[:, :3].argmax(1)
    before = compile_counter.count
    first = session.run(loss, {x: images, y: labels})
    for _ in range(60):
        session.run(train, {x: images, y: labels})
    assert session.run(loss, {x: images, y: labels}) < 0.3 * first
    assert compile_counter.count == before


def test_rows_of_variables_are_written_in_place_where_nobody_has_them(session):
    table = tf.get_variable("table", initializer=np.zeros((1000, 8), np.float32))
    rows = tf.placeholder(tf.int32, [None])
    add = tf.scatter_add(table, rows, tf.ones([2, 8])).op
    session.run(table.initializer)
    session.run(add, {rows: [0, 1]})
    (held,) = (v for v in session.context.variable_state.held.values() if getattr(v, "shape", ()) == (1000, 8))
    place = held.ctypes.data
    del held
    session.run(add, {rows: [1, 2]})
    (held,) = (v for v in session.context.variable_state.held.values() if getattr(v, "shape", ()) == (1000, 8))
    assert held.ctypes.data == place
    session.run(add, {rows: [2, 3]})  # not in place: `held` has it
    assert held[:4, 0].tolist() == [1, 2, 1, 0]
    assert session.run(table)[:4, 0].tolist() == [1, 2, 2, 1]


def test_what_was_fetched_or_fed_stays(session):
    given = np.zeros((4, 2), np.float32)
    start = tf.placeholder(tf.float32, [4, 2])
    table = tf.get_variable("table", [4, 2])
    add = tf.scatter_add(table, [1], tf.ones([1, 2])).op
    session.run(table.initializer)
    session.run(table.assign(start).op, {start: given})
    fetched = [session.run(table)]
    for _ in range(3):
        session.run(add)
        fetched.append(session.run(table))
    assert [f[1].tolist() for f in fetched] == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert not given.any()


def test_a_check_that_fails_leaves_variables_as_they_were(session):
    table, total = tf.get_variable("table", initializer=np.zeros((4, 2), np.float32)), tf.get_variable("total", initializer=0.0)
    rows = tf.placeholder(tf.int32, [1])
    both = tf.group(tf.scatter_add(table, rows, tf.ones([1, 2])), tf.assign_add(total, 1))
    session.run([table.initializer, total.initializer])
    session.run(both, {rows: [1]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="7"):
        session.run(both, {rows: [7]})
    assert session.run(total) == 1 and session.run(table).sum() == 2
    session.run(both, {rows: [1]})
    assert session.run(table)[1].tolist() == [2, 2]


def test_only_what_one_variable_alone_has_is_lent():
    held = {"a": np.zeros(3), "b": np.zeros(3), "c": np.zeros(3), "d": np.zeros((2, 3)).T}
    view, held["twice"] = held["b"][:1], held["c"]
    lend = lambda: list(map(is_lent, lent(tuple(map(held.get, ["a", "b", "c", "d"])))))
    assert lend() == [True, False, False, False]
    del view, held["twice"]
    assert lend() == [True, True, True, False]


def test_what_is_not_interpreted_is_refused_by_name(session, monkeypatch):
    x = tf.placeholder(tf.float32, [2, 2])
    monkeypatch.delitem(interpreter.engine.TABLE, "cholesky")
    with pytest.raises(NotImplementedError, match=r"TFCOMPAT_ENGINE=interpret.*\['cholesky'\].*TFCOMPAT_ENGINE=compile"):
        session.run(tf.cholesky(x), {x: np.eye(2)})


def test_a_variable_that_was_written_to_when_memory_ran_out_has_no_value(session, monkeypatch):
    table, other = (tf.get_variable(name, initializer=np.ones((4, 2), np.float32)) for name in ("table", "other"))
    session.run(tf.global_variables_initializer())
    added = tf.scatter_add(table, [1], tf.ones([1, 2]))
    with tf.control_dependencies([added]):
        late = tf.exp(other)

    def fail(*_):
        raise MemoryError

    session.run(added.op)  # from here on nothing but the session has the array
    monkeypatch.setitem(interpreter.engine.TABLE, "exp", lambda e: fail)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM"):
        session.run([added.op, late])
    assert session.run(other).sum() == 8
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
        session.run(table)


@pytest.mark.parametrize("rows, updates", [(5, 300), (40, 60)])
def test_updates_of_one_row_are_made_in_their_order(session, rows, updates):
    random = np.random.RandomState(1)
    values, places = random.rand(updates, 7).astype(np.float32), random.randint(0, rows, updates)
    table = tf.get_variable("table", initializer=random.rand(rows, 7).astype(np.float32))
    session.run(tf.global_variables_initializer())
    expected = session.run(table)
    for place, value in zip(places, values):
        expected[place] += value
    assert session.run(tf.scatter_add(table, places, values)).tobytes() == expected.tobytes()


def test_gradient_of_the_parts_of_a_complex_number(session):
    x = tf.placeholder(tf.float32, [4])
    z = tf.conj(tf.complex(x, 3.0 * x))
    loss = tf.reduce_sum(tf.square(tf.real(z))) + tf.reduce_sum(tf.square(tf.imag(z)))
    assert session.run(tf.gradients(loss, x)[0], {x: [1.0, 2.0, 0.0, -1.0]}).tolist() == [20.0, 40.0, 0.0, -20.0]
