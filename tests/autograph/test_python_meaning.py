"""Converted functions mean what Python means: random programs run as Python, converted on numbers, and converted on tensors."""

import importlib.util
import random
import sys
import types

import pytest

import tfcompat as tf

VARIABLES = ("a", "b", "c")
INPUTS = ((0, 1, 2), (7, 3, 11), (20, 5, 1), (13, 13, 13))


class Writer:
    """Writes the source of a random function of three numbers.

    With `for_tensors` it holds what a graph can: no `return` in a loop, `with` or `try`, and no list of what was seen.
    """

    def __init__(self, seed, for_tensors):
        self._random, self._for_tensors = random.Random(seed), for_tensors
        self._counters, self._deepest = 0, 2 if for_tensors else 3
        self._lines = []

    def source(self):
        self._write(0, "def program(a, b, c, span, seen):")
        self._block(1, 0, in_loop=False, size=3 if self._for_tensors else 5)
        self._write(1, "return a, b, c")
        return "\n".join(self._lines) + "\n"

    def _write(self, depth, text):
        self._lines.append("    " * depth + text)

    def _pick(self, *choices):
        return self._random.choice(choices)

    def _name(self):
        return self._pick(*VARIABLES)

    def _number(self):
        return self._random.randrange(1, 9)

    def _condition(self):
        simple = f"({self._name()} + {self._number()} * {self._name()}) % {self._number() + 2} < {self._number()}"
        other = f"{self._name()} > {self._name()} + {self._number()}"
        return self._pick(simple, other, f"not {other}", f"({simple}) and {other}", f"({simple}) or not ({other})")

    def _value(self):
        plain = f"({self._name()} * {self._number()} + {self._name()} + {self._number()}) % 101"
        return self._pick(plain, plain, f"({plain}) if {self._condition()} else {self._name()}")

    def _block(self, depth, nesting, in_loop, size):
        for _ in range(self._random.randrange(1, size + 1)):
            self._statement(depth, nesting, in_loop)

    def _statement(self, depth, nesting, in_loop):
        kinds = ["assign"] * 3 + (["if"] * 3 + ["while", "for"] * 2 if nesting < self._deepest else [])
        kinds += ["jump"] * 2 if in_loop else []
        if not self._for_tensors:
            kinds += ["seen", "function"] + (["try", "with", "return"] if nesting < 3 else [])
        elif nesting == 0:
            kinds += ["leave"]
        getattr(self, "_" + self._pick(*kinds))(depth, nesting, in_loop)

    def _assign(self, depth, *_):
        self._write(depth, self._pick(f"{self._name()} = {self._value()}", f"{self._name()} += {self._number()}"))

    def _seen(self, depth, *_):
        self._write(depth, f"seen.append({self._name()})")

    def _jump(self, depth, *_):
        self._write(depth, f"if {self._condition()}:")
        self._write(depth + 1, self._pick("break", "continue"))

    def _return(self, depth, *_):
        self._write(depth, f"if {self._condition()}:")
        self._write(depth + 1, self._pick("return a, b, c", "return c, 0, a", "return"))

    def _leave(self, depth, nesting, _):
        self._write(depth, f"if {self._condition()}:")
        self._block(depth + 1, nesting + 2, False, 2)
        self._write(depth + 1, "return c, a, b")

    def _if(self, depth, nesting, in_loop):
        self._write(depth, f"if {self._condition()}:")
        self._block(depth + 1, nesting + 1, in_loop, 3)
        if self._pick(True, False):
            self._write(depth, f"elif {self._condition()}:")
            self._block(depth + 1, nesting + 1, in_loop, 2)
        if self._pick(True, False):
            self._write(depth, "else:")
            self._block(depth + 1, nesting + 1, in_loop, 3)

    def _while(self, depth, nesting, _):
        self._counters += 1
        counter = f"n{self._counters}"
        self._write(depth, f"{counter} = 0")
        self._write(depth, f"while {counter} < {self._pick('a', '4', '6')} % 7 and ({self._condition()}):")
        self._write(depth + 1, f"{counter} += 1")
        self._block(depth + 1, nesting + 1, True, 3)
        self._else(depth, nesting)

    def _for(self, depth, nesting, _):
        self._counters += 1
        item = f"i{self._counters}"
        self._write(depth, f"for {item} in span({self._name()} % 5):")
        self._write(depth + 1, f"{self._name()} += {item}")
        self._block(depth + 1, nesting + 1, True, 3)
        self._else(depth, nesting)

    def _else(self, depth, nesting):
        if self._pick(True, False, False):
            self._write(depth, "else:")
            self._block(depth + 1, nesting + 1, False, 2)

    def _try(self, depth, nesting, in_loop):
        self._write(depth, "try:")
        self._block(depth + 1, nesting + 1, in_loop, 2)
        self._write(depth + 1, f"{self._name()} = {self._number()} // ({self._name()} % 3)")
        self._write(depth, "except ZeroDivisionError as error:")
        self._write(depth + 1, "seen.append(str(error))")
        self._block(depth + 1, nesting + 1, in_loop, 2)
        if self._pick(True, False):
            self._write(depth, "else:")
            self._block(depth + 1, nesting + 1, in_loop, 2)
        if self._pick(True, False):
            self._write(depth, "finally:")
            self._write(depth + 1, f"seen.append({self._name()})")

    def _with(self, depth, nesting, in_loop):
        self._write(depth, f"with Seen(seen, {self._number()}) as b:")
        self._block(depth + 1, nesting + 1, in_loop, 2)

    def _function(self, depth, *_):
        self._counters += 1
        name = f"f{self._counters}"
        self._write(depth, f"def {name}(x):")
        self._write(depth + 1, "nonlocal c" if self._pick(True, False) else "c = x")
        self._write(depth + 1, f"if {self._condition()}:")
        self._write(depth + 2, f"c = (x + a) % {self._number() + 1}")
        self._write(depth + 2, "return c")
        self._write(depth + 1, "c = c + 1")
        self._write(depth + 1, "return a + c")
        self._write(depth, f"b = {name}({self._name()}) % 50")


class Seen:
    def __init__(self, seen, value):
        self._seen, self._value = seen, value

    def __enter__(self):
        self._seen.append(("enter", self._value))
        return self._value

    def __exit__(self, *unused):
        self._seen.append("exit")


def compiled(source, folder):
    """The function of a source, which stands in a file."""
    path = folder / "written.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("written", path)
    module = importlib.util.module_from_spec(spec)
    module.Seen = Seen
    spec.loader.exec_module(module)
    return module.program


@pytest.mark.parametrize("seed", range(60))
def test_on_numbers(seed, tmp_path):
    source = Writer(seed, for_tensors=False).source()
    program = compiled(source, tmp_path)
    converted = tf.autograph.to_graph(program)
    with tf.Graph().as_default():
        for numbers in INPUTS:
            want, have = [], []
            assert converted(*numbers, range, have) == program(*numbers, range, want), source
            assert have == want, source


@pytest.mark.parametrize("seed", [1001, 1003, 1005, 1007, 1008, 1011])
def test_on_tensors(seed, tmp_path):
    source = Writer(seed, for_tensors=True).source()
    program = compiled(source, tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        given = [tf.placeholder(tf.int32, []) for _ in VARIABLES]
        results = tf.function(program)(*given, tf.range, None)
        for numbers in INPUTS:
            found = session.run(results, dict(zip(given, numbers)))
            assert tuple(found) == program(*numbers, range, None), source


def _leaves(structure):
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in _leaves(structure[key])]
    return [structure]


def test_a_function_of_a_module_calls_itself():
    with tf.Graph().as_default(), tf.Session() as session:
        given = {"a": tf.constant(1), "b": {"c": tf.constant(2), "d": tf.constant(3)}}
        assert session.run(tf.function(lambda: _leaves(given))()) == [1, 2, 3]


def test_a_function_in_a_function_calls_itself():
    def power(x, n):
        if n == 0:
            return tf.constant(1)
        return x * power(x, n - 1)

    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.function(lambda x: power(x, 3))(tf.constant(2))) == 8


def test_a_wrapper_of_wrapt_runs(monkeypatch):
    """wrapt's wrappers pass for the function inside; 1.15.5 calls them as they are, with a warning."""

    class Wrapper:
        def __init__(self, function):
            self.function = function

        @property
        def __class__(self):
            return types.FunctionType

        def __getattr__(self, name):
            return getattr(self.function, name)

        def __call__(self, x):
            return self.function(x) + 1

    monkeypatch.setitem(sys.modules, "wrapt", types.SimpleNamespace(FunctionWrapper=Wrapper, BoundFunctionWrapper=Wrapper))
    wrapped = Wrapper(lambda x: x * 2)
    outer = tf.autograph.to_graph(lambda x: wrapped(x))
    assert outer(3) == 7
