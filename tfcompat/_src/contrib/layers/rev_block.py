"""tf.contrib.layers.rev_block: reversible residual layers, whose inputs are computed again from their outputs."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.gradients.custom_gradient import custom_gradient
from tfcompat._src.gradients.gradients import gradients
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.layers.scoped_layer import Layer
from tfcompat._src.ops.array.constant import stop_gradient
from tfcompat._src.ops.control.groups import tuple_
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.platform import logging
from tfcompat._src.variables.scope import get_variable_scope, variable_scope

LAYER_RE = re.compile(".*revlayer_([0-9]*)/([fg])/.*")


def safe_wraps(function: Callable) -> Callable:
    """`functools.wraps`, which does nothing for a `functools.partial`."""
    return (lambda wrapper: wrapper) if isinstance(function, functools.partial) else functools.wraps(function)


def _in_scope(function: Callable, scope: str) -> Callable:
    @safe_wraps(function)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        with variable_scope(scope, use_resource=True):
            return function(*args, **kwargs)

    return scoped


def _per_layer(functions: Any, num_layers: int, letter: str) -> list[Callable]:
    functions = functions if isinstance(functions, list) else [functions] * num_layers
    if len(functions) != num_layers:
        raise AssertionError(f"{letter} has {len(functions)} functions, one for each of {num_layers} layers is needed")
    return [_in_scope(function, f"revlayer_{i}/{letter}") for i, function in enumerate(functions)]


def _call(function: Callable, x: Tensor, side: list[Tensor]) -> Tensor:
    return function(x, side) if side else function(x)


def _sums(lists: list[list[Any]]) -> list[Any]:
    """The sums of gradients at the same place of several lists; None where none has one."""
    present = [[each for each in place if each is not None] for place in zip(*lists)]
    return [add_n(place) if place else None for place in present]


@export("contrib.layers.RevBlock", "contrib.slim.RevBlock")
class RevBlock(Layer):
    """Reversible residual layers `y1 = x1 + f(x2); y2 = x2 + g(y1)` in sequence (Gomez and others 2017).

    Args:
      f, g: functions of a float Tensor that keep its shape, or a list of one for each layer; they may make variables
        by `tf.get_variable`, and take the list of side inputs as second argument where there are any.
      num_layers: number of layers.
      f_side_input, g_side_input: lists of Tensors.
      use_efficient_backprop: whether the gradient computes the inputs of the layers from their outputs, so that no
        activation is kept.
      name: of the layer and of its variable scope.

    Raises:
      AssertionError: a list of functions has another length than `num_layers`.
    """

    def __init__(
        self, f: object, g: object, num_layers: int = 1, f_side_input: Any = None, g_side_input: Any = None,
        use_efficient_backprop: bool = True, name: str = "revblock", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name=name, **kwargs)
        self.f, self.g = _per_layer(f, num_layers, "f"), _per_layer(g, num_layers, "g")
        self.num_layers = num_layers
        self.f_side_input, self.g_side_input = f_side_input or [], g_side_input or []
        self._use_efficient_backprop = use_efficient_backprop

    def build(self, _: Any) -> None:
        logging.warn("RevBlock constructs its variables on first call, not on build.")
        self.built = True

    def call(self, inputs: Any, forward: bool = True) -> tuple[Tensor, Tensor]:
        scope = get_variable_scope()
        known = len(scope.global_variables())
        result = (self._outputs if forward else self._inputs)(*inputs)
        trained = scope.trainable_variables()
        for variable in scope.global_variables()[known:]:
            (self._trainable_weights if variable in trained else self._non_trainable_weights).append(variable)
        return result

    def forward(self, x1: object, x2: object) -> tuple[Tensor, Tensor]:
        """The outputs (y1, y2) of the last layer."""
        return self.apply([x1, x2])

    def backward(self, y1: object, y2: object) -> tuple[Tensor, Tensor]:
        """The inputs (x1, x2) of the first layer that give y1 and y2."""
        return self.apply([y1, y2], forward=False)

    def _inputs(self, y1: Tensor, y2: Tensor) -> tuple[Tensor, Tensor]:
        for f, g in zip(reversed(self.f), reversed(self.g)):
            x2 = y2 - _call(g, y1, self.g_side_input)
            y1, y2 = y1 - _call(f, x2, self.f_side_input), x2
        return y1, y2

    def _outputs(self, x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
        sides = [self.f_side_input, self.g_side_input]
        if not self._use_efficient_backprop:
            return self._residuals(x1, x2, *sides)

        @custom_gradient
        def with_gradient(x1: Tensor, x2: Tensor, *flat: Tensor) -> tuple[Any, Callable]:
            outputs = self._residuals(x1, x2, *nest.pack_sequence_as(sides, flat))

            def gradient(*grads: Tensor, **variables: Any) -> tuple[list[Any], list[Any]]:
                return self._gradient(outputs, grads, list(flat), variables["variables"])

            return outputs, gradient

        return with_gradient(x1, x2, *nest.flatten(sides))

    def _residuals(self, x1: Tensor, x2: Tensor, f_side: list[Tensor], g_side: list[Tensor]) -> tuple[Tensor, Tensor]:
        for f, g in zip(self.f, self.g):
            x1 = x1 + _call(f, x2, f_side)
            x2 = x2 + _call(g, x1, g_side)
            if self._use_efficient_backprop:
                x1, x2 = tuple_([x1, x2])
        return x1, x2

    def _gradient(self, ys: Any, grad_ys: Any, sides: list[Tensor], variables: list[Any]) -> tuple[list[Any], list[Any]]:
        """The gradients of x1, x2 and the side inputs, and those of the variables."""
        used: dict[tuple[int, str], list[Any]] = {(i, letter): [] for i in range(self.num_layers) for letter in "fg"}
        for variable in variables:
            found = LAYER_RE.match(variable.name)
            used[int(found[1]), found[2]].append(variable)
        of_variable: dict[str, Any] = {}
        f_sides, g_sides = [], []
        with variable_scope(self.scope_name, reuse=True):
            for i in reversed(range(self.num_layers)):
                f_used, g_used = used[i, "f"], used[i, "g"]
                ys, grad_ys, of_f, of_g = self._layer_gradient(i, ys, grad_ys, f_used, g_used)
                for each, (found, _) in ((f_used, of_f), (g_used, of_g)):
                    of_variable.update({variable.name: grad for variable, grad in zip(each, found)})
                f_sides.append(of_f[1])
                g_sides.append(of_g[1])
        of_side = {}
        for tensors, lists in ((self.g_side_input, g_sides), (self.f_side_input, f_sides)):
            of_side.update({id(tensor): grad for tensor, grad in zip(tensors, _sums(lists))})
        given = self.f_side_input + self.g_side_input
        return [*grad_ys, *(of_side[id(each)] for each in given)], [of_variable[each.name] for each in variables]

    def _layer_gradient(self, i: int, ys: Any, grads: Any, f_used: list[Any], g_used: list[Any]) -> Any:
        """((x1, x2), their gradients, those of f's variables and side inputs, and the same of g) of layer `i`."""
        y1, y2 = ys
        grad_y1, grad_y2 = grads
        y1_held = stop_gradient(y1)
        g_side = [stop_gradient(each) for each in self.g_side_input]
        g_value = _call(self.g[i], y1_held, g_side)
        x2 = y2 - g_value
        x2_held = stop_gradient(x2)
        f_side = [stop_gradient(each) for each in self.f_side_input]
        f_value = _call(self.f[i], x2_held, f_side)
        x1 = y1 - f_value
        through_g = gradients(g_value, y1_held, grad_y2)[0]
        grad_x1 = grad_y1 + through_g
        grad_x2 = gradients(f_value, x2_held, grad_y1)[0] + grad_y2 + gradients(f_value, x2_held, through_g)[0]
        of_g = gradients(g_value, g_used + g_side, grad_y2)
        of_f = [gradients(f_value, f_used + f_side, each) for each in (grad_y1, through_g)]
        of_f_used = _sums([each[: len(f_used)] for each in of_f])
        of_f_side = _sums([each[len(f_used) :] for each in of_f])
        found = (
            (x1, x2), (grad_x1, grad_x2), (of_f_used, of_f_side), (of_g[: len(g_used)], of_g[len(g_used) :]),
        )  # fmt: skip
        return nest.pack_sequence_as(found, tuple_(nest.flatten(found)))


@export("contrib.layers.rev_block", "contrib.slim.rev_block")
def rev_block(
    x1: object, x2: object, f: object, g: object, num_layers: int = 1, f_side_input: object = None, g_side_input: object = None,
    is_training: bool = True,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The outputs of a `RevBlock`, with its variables made in the current variable scope.

    Args:
      x1, x2: float Tensors of one shape.
      f, g, num_layers, f_side_input, g_side_input: as of `RevBlock`.
      is_training: whether the gradient computes the inputs of the layers from their outputs.
    """
    return RevBlock(
        f=f, g=g, num_layers=num_layers, f_side_input=f_side_input, g_side_input=g_side_input,
        use_efficient_backprop=is_training, _reuse=get_variable_scope().reuse,
    ).forward(x1, x2)  # fmt: skip
