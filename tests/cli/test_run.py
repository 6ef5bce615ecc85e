"""`tfcompat run` against `python`: the same program, the same arguments, standard output, error and exit status."""

import os
import textwrap
import zipfile

import children
import pytest
from google.protobuf import descriptor_pb2

SHOW = "import sys\nprint(__name__, sys.argv[1:], sys.argv[0], repr(sys.path[0]), __file__ if '__file__' in globals() else None)\n"


def run(*arguments, cwd=None):
    return children.warm(*children.RUN, *arguments, cwd=cwd)


def same_as_python(*arguments, cwd, stdin=""):
    """The command's result, which has python's exit status and output."""
    wanted = children.python(*arguments, cwd=cwd, stdin=stdin)
    found = children.python(*children.RUN, *arguments, cwd=cwd, stdin=stdin)
    assert (found.returncode, found.stdout) == (wanted.returncode, wanted.stdout), found.stderr
    return found, wanted


@pytest.fixture
def folder(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    write("show.py", SHOW)
    write("package/__init__.py", "print('package', __name__)\n")
    write("package/__main__.py", SHOW)
    write("package/part.py", SHOW)
    write("app/__main__.py", "import helper\n" + SHOW)
    write("app/helper.py", "print('helper', __name__)\n")
    write("fails.py", "def f(x):\n    return 1 // x\n\nf(0)\n")
    write("exits.py", "import sys\nsys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 'a text')\n")
    write("python2.py", "print 'hello'\n")
    write("threads.py", """\
        import atexit, threading, pickle
        class C:
            pass
        assert pickle.loads(pickle.dumps(C())).__class__ is C
        atexit.register(lambda: print("at exit", C.__name__))
        threading.Timer(0, lambda: print("thread", C.__name__)).start()
        """)  # fmt: skip
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", SHOW)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ("show.py", "a", "--b", "-c"),
        ("./package/part.py",),
        ("-m", "package", "x", "--strict"),
        ("-m", "package.part", "-m", "y"),
        ("-mpackage.part",),
        ("-c", "import sys; print(sys.argv, __name__, repr(sys.path[0]))", "1", "2"),
        ("app", "z"),
        ("archive.zip", "z"),
        ("threads.py",),
        ("exits.py", "3"),
        ("exits.py", "0"),
    ],
)
def test_runs_as_python_does(folder, arguments):
    same_as_python(*arguments, cwd=folder)


def test_program_from_standard_input(folder):
    same_as_python("-", "a", cwd=folder, stdin=SHOW)
    same_as_python(cwd=folder, stdin=SHOW)


def test_empty_line_of_code(folder):
    same_as_python("-c", "", cwd=folder)


def test_exit_with_a_text_prints_it(folder):
    found, wanted = same_as_python("exits.py", cwd=folder)
    assert found.stderr == wanted.stderr == "a text\n"


def test_traceback_begins_in_the_program(folder):
    found, wanted = same_as_python("fails.py", cwd=folder)
    assert found.returncode == 1
    assert found.stderr.replace(str(folder) + os.sep, "") == wanted.stderr.replace(str(folder) + os.sep, "")


def test_traceback_of_a_module_begins_in_the_module(folder):
    found = run("-m", "fails", cwd=folder)
    assert found.returncode == 1
    assert "runpy" not in found.stderr and "cli" not in found.stderr
    assert found.stderr.splitlines()[-1].startswith("ZeroDivisionError")


@pytest.mark.parametrize("arguments, status", [(("nothing.py",), 2), (("-m", "no_such_module"), 1)])
def test_what_is_not_there(folder, arguments, status):
    found, _ = same_as_python(*arguments, cwd=folder)
    assert found.returncode == status
    assert arguments[-1] in found.stderr


@pytest.mark.parametrize("option", [["--strict"], ["--python", "3"]])
def test_python_2_source_gets_a_hint(option, folder):
    found = run(*option, "python2.py", cwd=folder)
    assert found.returncode == 1 and "Missing parentheses in call to 'print'" in found.stderr
    assert "seems to be written for Python 2" in found.stderr and "python -m fissix" in found.stderr


def test_syntax_error_of_other_kind_gets_none(folder):
    (folder / "wrong.py").write_text("x = (1,\n")
    found, _ = same_as_python("wrong.py", cwd=folder)
    assert "SyntaxError" in found.stderr and "Python 2" not in found.stderr


LEGACY = """
import collections, imp, inspect, time, fractions
import numpy as np
from distutils.version import LooseVersion, StrictVersion
assert np.zeros(2, np.int).dtype.kind == "i" and np.float is float and np.object is object
assert np.product([2, 3]) == 6 and np.in1d([1, 2], [2]).tolist() == [False, True] and np.asscalar(np.array(2)) == 2
assert np.sctypes["int"] == [np.int8, np.int16, np.int32, np.int64] and np.cast[np.float32](1).dtype == np.float32
assert isinstance([], collections.Iterable) and isinstance({}, collections.Mapping)
assert inspect.getargspec(lambda a, b=1, *c, **d: 0) == (["a", "b"], "c", "d", (1,))
assert time.clock() >= 0 and fractions.gcd(12, 18) == 6
assert LooseVersion("1.15.5") > LooseVersion("1.9") and StrictVersion("1.0b2") < StrictVersion("1.0")
print("ok")
"""


CHANGED = """
import numpy as np
ragged = np.array([[1, 2], [3]])
assert ragged.shape == (2,) and ragged.dtype == object and ragged[1] == [3]
assert np.array([1, 2], copy=False).tolist() == [1, 2] and np.asarray(ragged) is ragged
assert np.shape([[1, 2], [3]]) == (2,) and np.ndim([[1], [2, 3]]) == 1 and np.size([[1], [2, 3]]) == 2
grid = np.meshgrid([1, 2], [3, 4])
grid.append(0)
assert np.vstack([n, n] for n in range(3)).shape == (3, 2) and np.stack(iter([[1], [2]]), axis=1).shape == (1, 2)
assert len(grid) == 3 and isinstance(np.gradient(np.zeros([2, 2])), list) and isinstance(np.atleast_2d(1), np.ndarray)
try:
    np.array([[1, 2], [3]], np.float32)
except ValueError:
    print("ok")
"""


def test_functions_of_numpy_take_and_give_what_they_did():
    found = run("-c", CHANGED)
    assert (found.returncode, found.stdout) == (0, "ok\n"), found.stderr


def test_removed_names_are_restored_for_the_program():
    found = run("-c", LEGACY)
    assert (found.returncode, found.stdout) == (0, "ok\n"), found.stderr


LEGACY_PACKAGES = {
    "PIL": """
        from PIL import Image, ImageDraw, ImageFont
        assert Image.ANTIALIAS == Image.LANCZOS
        font, draw = ImageFont.load_default(), ImageDraw.Draw(Image.new("RGB", (9, 9)))
        assert draw.textsize("text", font) == font.getsize("text") == font.getbbox("text")[2:]
        """,
    "pandas": """
        import pandas as pd
        frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
        assert frame.append({"a": 5, "b": 6}, ignore_index=True).as_matrix().tolist() == [[1, 3], [2, 4], [5, 6]]
        assert frame.a.append(frame.b).tolist() == [1, 2, 3, 4] and frame.as_matrix(["b"]).tolist() == [[3], [4]]
        """,
    "yaml": """
        import yaml
        assert yaml.load("a: [1, 2]") == {"a": [1, 2]} and yaml.load("b: 1", Loader=yaml.SafeLoader) == {"b": 1}
        """,
    "h5py": """
        import h5py
        import numpy as np
        with h5py.File("f.h5", "w", driver="core", backing_store=False) as f:
            f.attrs["version"] = "2.3.1".encode("utf8")
            f.attrs["name"] = "text"
            assert f.attrs["version"] == b"2.3.1" and f.attrs.get("name") == "text" and "other" not in f.attrs
            f.attrs["names"] = np.array([b"a", b"bc"], np.object_)
            assert f.attrs["names"].tolist() == [b"a", b"bc"]
            f["data"] = [1, 2]
            assert f["data"].value.tolist() == [1, 2]
        """,
    "scipy": """
        import numpy as np
        import scipy, scipy.integrate, scipy.signal, scipy.sparse as sp
        from scipy.misc import logsumexp
        from scipy.sparse.linalg.eigen.arpack import eigsh
        from scipy.sparse.csr import csr_matrix
        assert np.allclose(eigsh(sp.diags([1.0, 2.0, 3.0]), 1)[0], 3) and csr_matrix is sp.csr_matrix
        assert np.isclose(logsumexp([0.0, 0.0]), np.log(2)) and scipy.integrate.simps([0.0, 1.0, 4.0]) == 8 / 3
        assert scipy.signal.hann(3).tolist() == [0, 1, 0] and scipy.zeros(2).tolist() == [0, 0]
        """,
    "sklearn": """
        from sklearn.cross_validation import train_test_split
        from sklearn.externals import joblib
        assert train_test_split.__module__.startswith("sklearn.model_selection") and joblib.dump
        """,
}


@pytest.mark.parametrize("package", LEGACY_PACKAGES)
def test_what_packages_have_removed_is_restored(package):
    pytest.importorskip(package)
    found = run("-c", textwrap.dedent(LEGACY_PACKAGES[package]))
    assert found.returncode == 0, found.stderr


MESSAGES = """
from google.protobuf import descriptor as _descriptor, message as _message, reflection as _reflection
from google.protobuf import symbol_database as _symbol_database
_sym_db = _symbol_database.Default()
DESCRIPTOR = _descriptor.FileDescriptor(name="note.proto", package="note", syntax="proto3", serialized_pb=%r)
_NOTE = _descriptor.Descriptor(
  name="Note", full_name="note.Note", filename=None, file=DESCRIPTOR, containing_type=None,
  fields=[
    _descriptor.FieldDescriptor(
      name="pitch", full_name="note.Note.pitch", index=0, number=1, type=5, cpp_type=1, label=3, has_default_value=False,
      default_value=[], message_type=None, enum_type=None, containing_type=None, is_extension=False, extension_scope=None,
      serialized_options=None, file=DESCRIPTOR),
  ],
  extensions=[], nested_types=[], enum_types=[], serialized_options=None, is_extendable=False, syntax="proto3",
  extension_ranges=[], oneofs=[])
DESCRIPTOR.message_types_by_name["Note"] = _NOTE
Note = _reflection.GeneratedProtocolMessageType("Note", (_message.Message,), dict(DESCRIPTOR=_NOTE, __module__="note_pb2"))
_sym_db.RegisterMessage(Note)
"""


def test_message_modules_of_earlier_compilers_are_imported(tmp_path):
    description = descriptor_pb2.FileDescriptorProto(name="note.proto", package="note", syntax="proto3")
    description.message_type.add(name="Note").field.add(name="pitch", number=1, type="TYPE_INT32", label="LABEL_REPEATED")
    description.message_type[0].enum_type.add(name="Kind").value.add(name="REST", number=0)
    (tmp_path / "note_pb2.py").write_text(MESSAGES % description.SerializeToString())
    program = "import note_pb2; print(note_pb2.Note(pitch=[1, 2]).SerializeToString(), note_pb2.Note.REST)"
    done = run("-c", program, cwd=tmp_path)
    assert done.stdout == "b'\\n\\x02\\x01\\x02' 0\n", done.stderr
    assert "TypeError" in run("--strict", "-c", program, cwd=tmp_path).stderr


def test_strict_restores_nothing():
    found = run("--strict", "-c", "import numpy as np\nnp.int\n")
    assert found.returncode == 1
    assert "AttributeError" in found.stderr


def test_tensorflow_means_tfcompat(folder):
    (folder / "tensorflow.py").write_text("raise SystemExit('the wrong one')\n")
    (folder / "uses.py").write_text("import tensorflow as tf, tfcompat\nprint(tf is tfcompat, tf.__version__)\n")
    found = run("uses.py", cwd=folder)
    assert found.stdout == "True 1.15.5\n", found.stderr


@pytest.mark.parametrize(
    "arguments, status, stream, text",
    [
        (("--help",), 0, "stdout", "usage: tfcompat COMMAND"),
        (("--version",), 0, "stdout", "TensorFlow 1.15.5"),
        ((), 2, "stderr", "usage: tfcompat COMMAND"),
        (("walk",), 2, "stderr", "unknown command 'walk'"),
        (("run", "--no"), 2, "stderr", "unknown option --no"),
        (("run", "-m"), 2, "stderr", "argument expected for -m"),
        (("run", "--help"), 0, "stdout", "--strict"),
    ],
)
def test_command_line(arguments, status, stream, text):
    found = children.warm("-m", "tfcompat", *arguments)
    assert found.returncode == status
    assert text in getattr(found, stream)


def test_reshape_takes_its_old_keyword(tmp_path):
    done = run("-c", "import numpy as np; print(np.reshape([1, 2, 3, 4], newshape=(2, 2)).tolist())", cwd=tmp_path)
    assert done.stdout == "[[1, 2], [3, 4]]\n", done.stderr


def test_nothing_to_run_from_a_terminal():
    terminal, stdin = os.openpty()
    try:
        done = children.python(*children.RUN, stdin=stdin)
    finally:
        os.close(terminal)
        os.close(stdin)
    assert done.returncode == 2 and "nothing to run" in done.stderr
