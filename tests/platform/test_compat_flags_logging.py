"""`tf.compat`, `tf.flags`, `tf.app` and `tf.logging` as TensorFlow 1.15.5 behaves."""

import pathlib

import children
import pytest

from tfcompat._src.platform import compat, versions


def run(text, *arguments):
    return children.warm("-c", text, *arguments)


def test_versions():
    assert (versions.VERSION, versions.GIT_VERSION, versions.GRAPH_DEF_VERSION) == (
        "1.15.5",
        "v1.15.4-39-g3db52be",
        134,
    )


def test_bytes_and_text():
    assert compat.as_bytes("a\u00e9") == b"a\xc3\xa9" == compat.as_bytes(bytearray(b"a\xc3\xa9"))
    assert compat.as_text(b"a\xc3\xa9") == compat.as_str("a\u00e9") == compat.as_str_any(b"a\xc3\xa9") == "a\u00e9"
    assert compat.as_str_any(3) == "3"
    assert compat.path_to_str(pathlib.PurePosixPath("/x")) == "/x" and compat.path_to_str(3) == 3


@pytest.mark.parametrize(
    "function, value", [(compat.as_bytes, 3), (compat.as_text, None), (compat.as_text, bytearray(b"q"))]
)
def test_what_is_no_text(function, value):
    with pytest.raises(TypeError, match="Expected binary or unicode string, got"):
        function(value)


def test_forward_compatibility():
    assert compat.forward_compatible(2019, 8, 20) and not compat.forward_compatible(2019, 8, 21)
    with compat.forward_compatibility_horizon(2030, 1, 1):
        assert compat.forward_compatible(2029, 12, 31) and not compat.forward_compatible(2030, 1, 1)
    assert not compat.forward_compatible(2019, 8, 21)


FLAGS = """
import sys
from tfcompat._src.platform import flags
flags.DEFINE_string("s", "d", "h")
flags.DEFINE_integer("num", default_value=1, docstring="x")
F = flags.FLAGS
print(F.flag_values_dict()["num"], F.is_parsed())
print(F.num, F.s, F.is_parsed(), "num" in F, F.__flags["num"].value)
F.num = 9
print(F.num)
"""


def test_flags_are_parsed_when_first_read():
    found = run(FLAGS, "--num=7", "rest")
    assert found.stdout.splitlines() == ["1 False", "7 d True True 7", "9"], found.stderr


NAMES = """
import tfcompat as tf
from absl import flags as absl
own = {"DEFINE_string", "DEFINE_boolean", "DEFINE_bool", "DEFINE_float", "DEFINE_integer", "FLAGS"}
public = {n for n in dir(tf.flags) if not n.startswith("_")}
print(tf.app.flags is tf.flags, sorted(public ^ set(absl.__all__)), {n for n in public if getattr(tf.flags, n) is not getattr(absl, n)} == own)
print(tf.flags.DEFINE_bool is tf.flags.DEFINE_boolean, tf.flags.DEFINE_string.__name__)
"""


def test_other_names_are_those_of_absl():
    found = run(NAMES)
    assert found.stdout.splitlines() == ["True [] True", "True DEFINE_string"], found.stderr


WRAPPER = """
import sys
from absl import flags as absl
from tfcompat._src.platform import flags
values = absl.FlagValues()
wrapper = flags._FlagValuesWrapper(values)
flags.DEFINE_string("only", "v", "h", flag_values=values)
print("only" in wrapper, list(wrapper.__dict__), wrapper.is_parsed(), hasattr(wrapper, "nope"), wrapper.is_parsed(), wrapper.only)
wrapper.unparse_flags()
try:
    values.only
except absl.UnparsedFlagAccessError:
    print(wrapper.only, wrapper["only"].help, isinstance(wrapper, absl.FlagValues))
for change in (lambda: setattr(wrapper, "nope", 3), lambda: flags.DEFINE_integer("only", 1, "h", flag_values=values), lambda: wrapper(["p", "--x=1"])):
    try:
        change()
    except absl.Error as error:
        print(type(error).__name__)
print(wrapper(["p", "--undefok=x", "--x=1", "a"]), wrapper(["p", "--x=1"], known_only=True))
del wrapper.only
print(len(wrapper), "only" in values)
"""


def test_the_wrapper_hands_on_all_but_reading_a_flag():
    found = run(WRAPPER)
    assert found.stdout.splitlines() == [
        "True ['__wrapped'] False False True v", "v h True", "UnrecognizedFlagError", "DuplicateFlagError", "UnrecognizedFlagError",
        "['p', 'a'] ['p', '--x=1']", "0 False",
    ], found.stderr  # fmt: skip


def test_unknown_flag():
    found = run(FLAGS, "--unknown=3")
    assert "UnrecognizedFlagError: Unknown command line flag 'unknown'" in found.stderr


APP = """
from tfcompat._src.platform import app, flags
flags.DEFINE_integer("n", 1, "h")
def main(argv):
    print(argv, flags.FLAGS.n)
    return 4
app.run()
"""


def test_app_run_hands_on_what_it_does_not_know():
    found = run(APP, "--n=3", "--zzz=1", "a", "b")
    assert (found.returncode, found.stdout) == (4, "['-c', '--zzz=1', 'a', 'b'] 3\n"), found.stderr


LOGGING = """
from tfcompat._src.platform import logging as l
print(l.get_verbosity())
l.info("no"); l.warn("w %d", 1); l.error("e"); l.fatal("f"); l.debug("d"); l.TaskLevelStatusMessage("t")
l.set_verbosity(l.INFO); l.info("i %s", "x"); l.vlog(l.INFO, "v"); l.log(l.DEBUG, "nd")
for i in range(5): l.log_every_n(l.INFO, "every %d", 2, i)
for i in range(5): l.log_first_n(l.INFO, "first %d", 2, i)
l.log_if(l.INFO, "if", True); l.log_if(l.INFO, "if", False)
"""


def test_logging_lines():
    found = run(LOGGING)
    assert found.stdout == "30\n"
    assert found.stderr.splitlines() == [
        "WARNING:tensorflow:w 1", "ERROR:tensorflow:e", "CRITICAL:tensorflow:f", "ERROR:tensorflow:t",
        "INFO:tensorflow:i x", "INFO:tensorflow:v", "INFO:tensorflow:every 0", "INFO:tensorflow:every 2",
        "INFO:tensorflow:every 4", "INFO:tensorflow:if",
    ]  # fmt: skip


def test_googletest_has_the_names_of_absl():
    from absl.testing import absltest

    from tfcompat._src.testing import googletest

    assert all(getattr(googletest, n) is getattr(absltest, n) for n in ("TestCase", "TestLoader", "skipIf", "TempFileCleanup"))
    assert googletest.StatefulSessionAvailable() is False and googletest.main is not absltest.main
