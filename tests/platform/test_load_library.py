"""Shared objects: errors are those of TensorFlow 1.15.5 for the same files."""

import types

import pytest

import tfcompat as tf


@pytest.mark.parametrize("load", [tf.load_op_library, tf.load_file_system_library])
def test_what_is_no_shared_object(load, tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match="nowhere.so: cannot open shared object file"):
        load("/nowhere.so")
    text = tmp_path / "text.so"
    text.write_text("text")
    with pytest.raises(tf.errors.NotFoundError, match="text.so: file too short"):
        load(str(text))
    text.write_text("text" * 100)
    with pytest.raises(tf.errors.NotFoundError, match="text.so: invalid ELF header"):
        load(str(text))
    with pytest.raises(TypeError):
        load(3)


def test_a_folder_of_libraries(tmp_path):
    (tmp_path / "other.so").write_text("text" * 100)
    assert tf.load_library(str(tmp_path)) is None
    (tmp_path / "libtfkernel_mine.so.1.2").write_text("text" * 100)
    with pytest.raises(tf.errors.NotFoundError, match="invalid ELF header"):
        tf.load_library(str(tmp_path))
    with pytest.raises(OSError, match="does not exist"):
        tf.load_library(str(tmp_path / "nowhere"))


def test_a_library_without_ops():
    import _ctypes

    found = tf.load_op_library(_ctypes.__file__)
    assert isinstance(found, types.ModuleType) and found.LIB_HANDLE._name == _ctypes.__file__
