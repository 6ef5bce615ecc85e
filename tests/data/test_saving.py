"""Iterators in checkpoints: after restoring, the elements that came after saving come again."""

import os

import pytest

import tfcompat as tf

Dataset = tf.data.Dataset
PIPELINES = {
    "shuffle": lambda: Dataset.range(20).shuffle(5).repeat(2).batch(2),
    "shuffle alike": lambda: Dataset.range(20).shuffle(5, reshuffle_each_iteration=False).map(lambda x: x + 1).repeat(2).batch(2),
    "prefetch": lambda: Dataset.range(20).map(lambda x: x * 2).prefetch(3),
    "interleave": lambda: Dataset.range(20).interleave(Dataset.range, 3),
    "cache": lambda: Dataset.range(4).cache().repeat(),
    "random": lambda: tf.data.experimental.RandomDataset().take(10),
    "errors": lambda: Dataset.range(12).map(lambda x: tf.gather([1.0, 2.0], x % 3)),
}


def taken(session, element, count):
    found = []
    for _ in range(count):
        try:
            found.append(session.run(element).tolist())
        except tf.errors.OpError as error:
            found.append(type(error).__name__)
    return found


def _graph(make):
    iterator = tf.data.make_initializable_iterator(make())
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, tf.data.experimental.make_saveable_from_iterator(iterator))
    return iterator, iterator.get_next(), tf.train.Saver()


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_elements_come_again(name, tmp_path):
    with tf.Graph().as_default():
        iterator, element, saver = _graph(PIPELINES[name])
        with tf.Session() as session:
            session.run(iterator.initializer)
            taken(session, element, 3)
            path = saver.save(session, str(tmp_path / "model"))
            after = taken(session, element, 5)
            saver.restore(session, path)
            assert taken(session, element, 5) == after
        with tf.Session() as session:
            session.run(iterator.initializer)
            saver.restore(session, path)
            assert taken(session, element, 5) == after


def test_an_iterator_at_its_end(tmp_path):
    with tf.Graph().as_default():
        iterator, element, saver = _graph(lambda: Dataset.range(2))
        with tf.Session() as session:
            session.run(iterator.initializer)
            assert taken(session, element, 3) == [0, 1, "OutOfRangeError"]
            path = saver.save(session, str(tmp_path / "model"))
            session.run(iterator.initializer)
            saver.restore(session, path)
            assert taken(session, element, 1) == ["OutOfRangeError"]


def test_iterators_that_were_not_initialized(tmp_path):
    with tf.Graph().as_default():
        iterator, _, saver = _graph(lambda: Dataset.range(2))
        with tf.Session() as session:
            with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
                saver.save(session, str(tmp_path / "model"))
            session.run(iterator.initializer)
            path = saver.save(session, str(tmp_path / "model"))
        with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            saver.restore(session, path)


def test_a_damaged_state(tmp_path):
    with tf.Graph().as_default():
        iterator, _, saver = _graph(lambda: Dataset.range(2))
        with tf.Session() as session:
            session.run(iterator.initializer)
            path = saver.save(session, str(tmp_path / "model"))
            data = tmp_path / "model.data-00000-of-00001"
            damaged = bytearray(data.read_bytes())
            damaged[len(damaged) // 2] ^= 1
            data.write_bytes(bytes(damaged))
            with pytest.raises(tf.errors.DataLossError):
                saver.restore(session, path)


def test_checkpoint_of_an_iterator(tmp_path):
    with tf.Graph().as_default():
        iterator = tf.data.make_initializable_iterator(Dataset.range(9).map(lambda x: x * x))
        element, checkpoint = iterator.get_next(), tf.train.Checkpoint(iterator=iterator)
        with tf.Session() as session:
            session.run([iterator.initializer, checkpoint.save_counter.initializer])
            assert taken(session, element, 2) == [0, 1]
            path = checkpoint.save(os.fspath(tmp_path / "all"), session)
            assert taken(session, element, 2) == [4, 9]
            checkpoint.restore(path).run_restore_ops(session)
            assert taken(session, element, 2) == [4, 9]
    assert "iterator/.ATTRIBUTES/ITERATOR_STATE" in dict(tf.train.list_variables(path))


# What 1.15.5 says when the iterator of each pipeline is serialized after one element.
REFUSED = {
    "random_uniform": (lambda: Dataset.range(5).map(lambda x: tf.random_uniform([], seed=1)), "RandomUniform is stateful."),
    "py_func": (lambda: Dataset.range(5).map(lambda x: tf.py_func(lambda y: y, [x], tf.int64)), "PyFunc is stateful."),
    "filter": (lambda: Dataset.range(5).filter(lambda x: tf.random_uniform([], seed=1) > -1), "RandomUniform is stateful."),
    "inner": (
        lambda: Dataset.range(5).flat_map(
            lambda x: Dataset.range(2).map(lambda y: y + tf.random_uniform([], maxval=3, seed=1, dtype=tf.int64))
        ),
        "RandomUniformInt is stateful.",
    ),
    "variable": (
        lambda: Dataset.range(5).map(
            (lambda v: lambda x: x + v)(tf.get_variable("v", [], tf.int64, tf.zeros_initializer(), use_resource=True))
        ),
        "ReadVariableOp is stateful.",
    ),
    "generator": (lambda: Dataset.from_generator(lambda: iter([1, 2]), tf.int32), "PyFunc is stateful."),
}  # fmt: skip
LET_STAND = {
    "print": lambda: Dataset.range(5).map(lambda x: tf.Print(x, [x], first_n=0)),
    "assert": lambda: Dataset.range(5).map(lambda x: tf.tuple([x], control_inputs=[tf.assert_greater(x, tf.constant(-1, tf.int64))])[0]),
    "table": lambda: Dataset.from_tensors(["a"]).map(tf.contrib.lookup.index_table_from_tensor(["a", "b"]).lookup),
    "timestamp": lambda: Dataset.range(5).map(lambda x: tf.timestamp()),
    "inner shuffle": lambda: Dataset.range(5).interleave(lambda x: Dataset.range(2).shuffle(2, seed=1), cycle_length=2),
}


def _serialized_after_one(make):
    iterator = tf.data.make_initializable_iterator(make())
    serialized = tf.serialize_tensor(tf.raw_ops.SerializeIterator(resource_handle=iterator._iterator_resource))
    element = iterator.get_next()
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        session.run(iterator.initializer)
        session.run(element)
        return session.run(serialized)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_pipeline_that_would_not_come_again_is_not_saved(name):
    make, message = REFUSED[name]
    with tf.Graph().as_default(), pytest.raises(tf.errors.FailedPreconditionError) as error:
        _serialized_after_one(make)
    assert error.value.message.startswith(message)


@pytest.mark.parametrize("name", sorted(LET_STAND))
def test_a_pipeline_with_harmless_operations_is_saved(name):
    with tf.Graph().as_default():
        assert _serialized_after_one(LET_STAND[name])


def test_the_state_of_an_iterator_in_a_file_of_its_own(tmp_path):
    path = str(tmp_path / "state")
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.make_initializable_iterator(Dataset.range(8).shuffle(8))
        handle, element = iterator._iterator_resource, iterator.get_next()
        save = tf.write_file(path, tf.serialize_tensor(tf.raw_ops.SerializeIterator(resource_handle=handle)))
        restore = tf.raw_ops.DeserializeIterator(resource_handle=handle, serialized=tf.parse_tensor(tf.read_file(path), tf.variant))
        session.run(iterator.initializer)
        taken(session, element, 2)
        session.run(save)
        after = taken(session, element, 7)
        session.run(restore)
        assert taken(session, element, 7) == after
        assert after[-1] == "OutOfRangeError"


def test_seeds_that_are_chosen_after_saving_are_chosen_again(tmp_path):
    with tf.Graph().as_default():
        iterator, element, saver = _graph(lambda: Dataset.range(5).shuffle(5).repeat(3))
        with tf.Session() as session:
            session.run(iterator.initializer)
            path = saver.save(session, str(tmp_path / "model"))
            after = taken(session, element, 15)
            saver.restore(session, path)
            assert taken(session, element, 15) == after
