"""An uncaught exception shows the lines of the program; frames of tfcompat and JAX are folded."""

import re
import sys
import traceback

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base.tracebacks import folded
from tfcompat._src.cli import run

FEED = """\
def step(session, x):
    return session.run(x, {x: np.ones([2, 5])})

with tf.Graph().as_default(), tf.Session() as session:
    step(session, tf.placeholder(tf.float32, [None, 3], name="x"))
"""
CALLED = """\
def f(x):
    raise ValueError("mine")

with tf.Graph().as_default(), tf.Session() as session:
    session.run(tf.py_func(f, [1.0], tf.float32))
"""
SCOPE = """\
with tf.Graph().as_default():
    with tf.control_dependencies([tf.no_op()]), tf.name_scope("not a scope"):
        pass
"""


@pytest.fixture
def fails(tmp_path):
    """Runs a program that fails, and returns the exception, whose traceback begins in the program."""

    def fails(text):
        path = tmp_path / "program.py"
        path.write_text(text)
        with pytest.raises(Exception) as caught:
            exec(compile(text, path, "exec"), {"tf": tf, "np": np})
        return caught.value.with_traceback(caught.value.__traceback__.tb_next)

    return fails


def printed(error, capsys):
    run.report(type(error), error, error.__traceback__)
    return capsys.readouterr().err


def lines(text):
    """The lines of a program that a printed exception shows."""
    return re.findall(r'  File ".*program\.py", line (\d+)', text)


def test_lines_of_the_program_are_shown_and_the_message_stays(fails, capsys):
    error = fails(FEED)
    before = error.__traceback__
    note, head, *frames, last = [line for line in printed(error, capsys).splitlines() if "^" not in line]
    assert re.fullmatch(r"tfcompat: \d frames of tfcompat and JAX folded; TFCOMPAT_TRACEBACK=full shows all", note)
    assert head == "Traceback (most recent call last):" and len(frames) == 4
    assert lines("\n".join(frames)) == ["5", "2"]
    assert last == "ValueError: Cannot feed value of shape (2, 5) for Tensor 'x:0', which has shape '(?, 3)'"
    assert error.__traceback__ is before


def test_a_process_without_standard_error_says_nothing(fails, monkeypatch, capfd):
    error = fails(FEED)
    monkeypatch.setattr(sys, "stderr", None)
    run.report(type(error), error, error.__traceback__)
    assert capfd.readouterr() == ("", "")


def test_full_tracebacks_are_those_of_python(fails, capsys, monkeypatch):
    error = fails(FEED)
    monkeypatch.setenv("TFCOMPAT_TRACEBACK", "full")
    assert printed(error, capsys) == "".join(traceback.format_exception(error))


def test_the_number_is_that_of_the_frames_that_are_missing(fails):
    error = fails(CALLED)
    chain = (error, error.__cause__)
    everything = [frame.filename for each in chain for frame in traceback.extract_tb(each.__traceback__)]
    with folded(error) as note:
        shown = [frame.filename for each in chain for frame in traceback.extract_tb(each.__traceback__)]
    assert [name.endswith("program.py") for name in shown] == [True, True]
    assert f" {len(everything) - len(shown)} frames " in note


def test_what_led_to_an_exception_is_folded_too(fails, capsys):
    text = printed(fails(CALLED), capsys)
    assert text.index("ValueError: mine\n") < text.index("was the direct cause")
    assert lines(text.partition("InvalidArgumentError: ")[0]) == ["2", "5"]


def test_frames_of_contextlib_between_those_of_tfcompat_are_folded(fails, capsys):
    assert "contextlib.py" in "".join(traceback.format_exception(error := fails(SCOPE)))
    assert "contextlib.py" not in printed(error, capsys)


def test_exceptions_of_the_program_are_untouched(fails, capsys):
    error = fails("import contextlib\nwith contextlib.suppress(KeyError), contextlib.ExitStack() as stack:\n    stack.close(1)\n")
    assert printed(error, capsys) == "".join(traceback.format_exception(error))


def test_an_exception_from_tfcompat_alone_is_shown_whole(capsys):
    with pytest.raises(TypeError) as caught:
        tf.Graph().get_operation_by_name(3)
    error = caught.value.with_traceback(caught.value.__traceback__.tb_next)
    assert printed(error, capsys) == "".join(traceback.format_exception(error))
