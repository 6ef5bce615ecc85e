"""`tensorflow.python.autograph.pyct.testing.basic_definitions`: small functions to look at."""

from __future__ import absolute_import, division, print_function, with_statement  # noqa: UP010

from typing import Any


def simple_function(x: Any) -> Any:
    """Gives its argument."""
    return x  # a comment


def nested_functions(x: Any) -> Any:
    """Gives its argument through a function inside."""

    def inner_fn(y: Any) -> Any:
        return y

    return inner_fn(x)


def function_with_print() -> None:
    print("foo")


simple_lambda = lambda: None  # noqa: E731


class SimpleClass:
    """A class with two methods."""

    def simple_method(self) -> Any:
        return self

    def method_with_print(self) -> None:
        print("foo")


def function_with_multiline_call(x: int) -> range:
    """Gives a range of one number."""
    return range(
        x,
        x + 1,
    )
