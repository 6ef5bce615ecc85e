"""Tensors kept in a Session between runs; values and messages are those of TensorFlow 1.15.5."""

import gc

import pytest

import tfcompat as tf


def test_a_kept_tensor_is_used_in_another_run():
    with tf.Graph().as_default(), tf.Session() as sess:
        handle = sess.run(tf.get_session_handle(tf.constant(10) * 2))
        holder, value = tf.get_session_tensor(handle.handle, tf.int32)
        assert handle.handle == "GetSessionHandle;0;/job:localhost/replica:0/task:0/device:CPU:0"
        assert sess.run(value + 1, {holder: handle.handle}) == 21
        assert handle.eval() == 20


def test_a_handle_is_fed_for_a_value_of_its_dtype():
    with tf.Graph().as_default(), tf.Session() as sess:
        x, whole = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
        handle = sess.run(tf.get_session_handle(tf.constant([1.5, 2.5])))
        assert sess.run(x * 2, {x: handle}).tolist() == [3.0, 5.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="is provided"):
            sess.run(whole + 1, {whole: handle})


def test_a_deleted_tensor_is_gone():
    with tf.Graph().as_default(), tf.Session() as sess:
        handle = sess.run(tf.get_session_handle(tf.constant(1.0)))
        holder, value = tf.get_session_tensor(handle.handle, tf.float32)
        to_delete, deletion = tf.delete_session_tensor(handle.handle)
        sess.run(deletion, {to_delete: handle.handle})
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
            sess.run(value, {holder: handle.handle})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Failed to delete a tensor"):
            sess.run(deletion, {to_delete: handle.handle})
        with pytest.raises(TypeError, match="may have already been deleted"):
            handle.eval()


def test_a_tensor_is_kept_while_its_handle_lives_or_its_raw_handle_was_taken():
    with tf.Graph().as_default(), tf.Session() as sess:
        keep = tf.get_session_handle(tf.constant(3.0))
        dropped, raw_handle = sess.run(keep).handle, sess.run(keep).get_raw_handle()
        gc.collect()
        holder, value = tf.get_session_tensor(raw_handle, tf.float32)
        assert sess.run(value, {holder: raw_handle}) == 3.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
            sess.run(value, {holder: dropped})


def test_only_tensors_are_kept():
    with pytest.raises(TypeError, match="`data` must be of type Tensor"):
        tf.get_session_handle(3)
