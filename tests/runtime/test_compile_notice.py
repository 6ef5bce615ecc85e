"""On a terminal a process says once that compiling took long."""

import io
import itertools
import sys

import pytest

import tfcompat as tf
from tfcompat._src.base import jax_compat
from tfcompat._src.runtime.engines import compile_notice


class Terminal(io.StringIO):
    """Standard error that is a terminal, or says that it is none."""

    def __init__(self, is_one):
        super().__init__()
        self.isatty = lambda: is_one


@pytest.fixture
def stderr_of(compiles, monkeypatch):
    """Runs programs of one graph while each reading of the clock is `seconds` later than that before; what standard error shows."""

    def stderr_of(seconds, is_terminal=True):
        monkeypatch.setattr(compile_notice.Notice, "was_given", False)
        monkeypatch.setattr(compile_notice, "monotonic", itertools.count(0.0, seconds).__next__)
        monkeypatch.setattr(sys, "stderr", Terminal(is_terminal))
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [None])
            y = tf.add(x * x, 1.0, name="y")
            for n in (2, 3):
                session.run(y, {x: [1.0] * n})
        return sys.stderr.getvalue()

    return stderr_of


def test_what_takes_long_is_said_once(stderr_of, monkeypatch):
    text = "tfcompat: compiled 2 operations (for y) in 14 s; "
    assert stderr_of(14.0) == text + "not kept for the next run, as `tfcompat run` would do\n"
    monkeypatch.setattr(jax_compat, "keeps_programs", lambda: True)
    assert stderr_of(14.0) == text + "kept for the next run\n"


def test_nothing_is_said_of_a_short_wait(stderr_of):
    assert stderr_of(4.9) == ""


def test_nothing_is_said_where_there_is_no_terminal(stderr_of):
    assert stderr_of(14.0, is_terminal=False) == ""
