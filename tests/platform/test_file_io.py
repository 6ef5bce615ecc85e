"""`tf.gfile`: results and error classes are those that TensorFlow 1.15.5 gives for the same calls."""

import pytest

from tfcompat._src.base import errors
from tfcompat._src.platform import file_io, gfile


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gfile.recursive_create_dir("a/b/c")
    with file_io.FileIO("a/f.txt", "w") as file:
        file.write("hello\nworld\nx")
    return tmp_path


def test_reading(folder):
    assert file_io.FileIO("a/f.txt").read() == "hello\nworld\nx"
    assert file_io.FileIO("a/f.txt", "rb").read(3) == b"hel"
    assert list(file_io.FileIO("a/f.txt")) == ["hello\n", "world\n", "x"]
    assert file_io.FileIO("a/f.txt").readlines() == ["hello\n", "world\n", "x"]
    assert file_io.FileIO(f"file://{folder}/a/f.txt").size() == 13
    with file_io.FileIO("a/f.txt") as file:
        file.seek(6)
        assert (file.tell(), file.readline(), file.read(), file.read()) == (6, "world\n", "x", "")


def test_writing(folder):
    file_io.FileIO("a/f.txt", "a").write("more")
    assert file_io.FileIO("a/f.txt").read() == "hello\nworld\nxmore"
    file = file_io.FileIO("u", "w")
    file.write(b"ab")
    assert gfile.stat("u").length == 0
    file.flush()
    assert (gfile.stat("u").length, file.tell()) == (2, 2)
    file.close()
    file_io.atomic_write_string_to_file("u", "new")
    assert file_io.read_file_to_string("u", binary_mode=True) == b"new"


def test_folders(folder):
    assert gfile.get_matching_files(["a/f*", "a/b*"]) == ["a/f.txt", "a/b"]
    assert gfile.get_matching_files("nope*") == []
    assert gfile.list_directory("a") == ["b", "f.txt"]
    top_down = [("a", ["b"], ["f.txt"]), ("a/b", ["c"], []), ("a/b/c", [], [])]
    assert list(gfile.walk("a")) == top_down
    assert list(gfile.walk("a", in_order=False)) == top_down[::-1]
    assert list(gfile.walk("nodir")) == []
    assert gfile.is_directory("a") and not gfile.is_directory("a/f.txt") and not gfile.is_directory("nof")
    gfile.create_dir("a")
    gfile.recursive_create_dir("a/b/c")
    gfile.rename("a", "z")
    gfile.delete_recursively("z")
    assert not gfile.file_exists("z")


ERRORS = [
    (lambda: file_io.FileIO("nof").read(), errors.NotFoundError, "nof; No such file or directory"),
    (lambda: file_io.FileIO("nof", "w").read(), errors.PermissionDeniedError, "File isn't open for reading"),
    (lambda: file_io.FileIO("a/f.txt").write("x"), errors.PermissionDeniedError, "File isn't open for writing"),
    (lambda: file_io.FileIO("a").read(), errors.FailedPreconditionError, "a; Is a directory"),
    (lambda: file_io.FileIO("a/f.txt", "zz"), errors.InvalidArgumentError, "mode is not 'r' or 'w'"),
    (lambda: file_io.FileIO("a/f.txt").seek(0, 9), errors.InvalidArgumentError, "Invalid whence argument: 9"),
    (lambda: gfile.create_dir("p/q"), errors.NotFoundError, "p/q; No such file or directory"),
    (lambda: gfile.list_directory("nodir"), errors.NotFoundError, "Could not find directory nodir"),
    (lambda: gfile.delete_file("nof"), errors.NotFoundError, "nof; No such file or directory"),
    (lambda: gfile.delete_file("a"), errors.FailedPreconditionError, "a; Is a directory"),
    (lambda: gfile.copy("nof", "a/h"), errors.NotFoundError, "nof; No such file or directory"),
    (lambda: gfile.copy("a/f.txt", "a/f.txt"), errors.AlreadyExistsError, "file already exists"),
    (lambda: gfile.rename("nof", "z"), errors.NotFoundError, "nof; No such file or directory"),
    (lambda: gfile.stat("nof"), errors.NotFoundError, "nof; No such file or directory"),
    (lambda: gfile.delete_recursively("nof"), errors.NotFoundError, "nof not found"),
    (lambda: gfile.delete_recursively("a/f.txt"), errors.FailedPreconditionError, "a/f.txt; Not a directory"),
    (lambda: file_io.FileIO("s3q://x/y").read(), errors.UnimplementedError, "File system scheme 's3q' not implemented"),
]


@pytest.mark.parametrize("call, error, text", ERRORS)
def test_errors(folder, call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error and caught.value.message.startswith(text)


def test_plus_modes_read_what_was_flushed(tmp_path):
    """Reading and writing have places of their own; "r+" and "w+" begin a new file when first written, "a+" goes on."""
    path = str(tmp_path / "file")
    for mode, want in (("r+", "one"), ("w+", "one"), ("a+", "oneone")):
        with file_io.FileIO(path, mode) as file:
            file.write("one")
            file.flush()
            assert file.read() == want
            file.write("two")
            file.flush()
            assert file.read() == "two"
            file.seek(0)
            assert file.readline() == want + "two"
        if mode != "r+":
            file_io.write_string_to_file(path, "one")


def test_file_comparison(tmp_path):
    """The CRC-32 of "123456789" is the check value that the CRC's definition gives."""
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    file_io.write_string_to_file(first, "123456789")
    file_io.write_string_to_file(second, "123456780")
    assert file_io.file_crc32(first) == "0xcbf43926"
    assert file_io.file_crc32(first, block_size=2) == "0xcbf43926"
    assert file_io.filecmp(first, first)
    assert not file_io.filecmp(first, second)


def test_seek_takes_one_position(tmp_path):
    path = str(tmp_path / "file")
    file_io.write_string_to_file(path, "text")
    with file_io.FileIO(path, "r") as file:
        for arguments in ({}, {"offset": 1, "position": 1}):
            with pytest.raises(TypeError):
                file.seek(**arguments)
        file.seek(position=2)
        assert file.read() == "xt"
