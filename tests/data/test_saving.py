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
    "errors": lambda: Dataset.range(12).map(lambda x: tf.check_numerics(1.0 / tf.cast(x % 3, tf.float32), "not finite")),
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
