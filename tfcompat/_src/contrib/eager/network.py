"""tf.contrib.eager.Network: what came before subclasses of tf.keras.Model."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.training import Model
from tfcompat._src.variables.scope import VariableScope, variable_scope


@export("contrib.eager.Network")
class Network(Model):
    """A model whose layers are named to it: subclasses define `call`."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name)
        self._scope: VariableScope | None = None
        self._given_name = name
        self._restorations: tuple[Callable, ...] = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the network in a variable scope of its name, so that names of its layers' variables begin with it.

        Raises:
          ValueError: the scope of the name that was given is another network's.
        """
        with self._in_scope(), contextlib.ExitStack() as restored:
            for restoring in self._restorations:
                restored.enter_context(restoring())
            return super().__call__(*args, **kwargs)

    @contextlib.contextmanager
    def _in_scope(self) -> Iterator[None]:
        with variable_scope(self._scope, default_name=self.name) as scope:
            if self._scope is None and self._given_name not in (None, scope.name.rpartition("/")[2]):
                raise ValueError(
                    f"A Network named '{self._given_name}' already exists (or a variable_scope was created with this name). "
                    "Names must be unique."
                )
            self._scope = scope
            yield

    @property
    def scope_name(self) -> str:
        """What names of the variables begin with: known from the first call, or from the first restoring.

        Raises:
          ValueError: the network was neither called nor restored.
        """
        if self._scope is None:
            raise ValueError(f"The network '{self.name}' has no variable scope yet: it gets one when it is first called or restored.")
        return self._scope.name

    def track_layer(self, layer: Any) -> Any:
        """Makes the variables of a layer the network's; gives the layer back."""
        setattr(self, f"layer_{len(self.layers)}", layer)
        return layer


@export("contrib.eager.Sequential")
class Sequential(Network):
    """A network that calls layers and functions one after another, each with the result of the one before.

    Args:
      layers_funcs: iterable of layers and of functions of one tensor, in the order of their calls.
      name: of the network, by default made from the class's name.

    Raises:
      TypeError: an element is neither a layer nor callable.
    """

    def __init__(self, layers_funcs: Iterable[Callable] | None = None, name: str | None = None) -> None:
        super().__init__(name=name)
        self._steps: tuple[Callable, ...] = ()
        for step in layers_funcs or ():
            self.add(step)

    def add(self, layer_func: Callable) -> None:
        """Appends a layer or a function; TypeError where it is neither."""
        if isinstance(layer_func, Layer):
            self.track_layer(layer_func)
        elif not callable(layer_func):
            raise TypeError(
                f"Sequential.add() takes only tf.layers.Layer objects or callables; not '{layer_func}' of type '{type(layer_func)}'."
            )
        self._steps = (*self._steps, layer_func)

    def call(self, inputs: Any, training: Any = None) -> Any:
        """Returns the last step's result; steps that have an argument `training` get it, unless it is None."""
        for step in self._steps:
            function = step.call if isinstance(step, Layer) else step
            takes_training = training is not None and "training" in inspect.signature(function).parameters
            inputs = step(inputs, training=training) if takes_training else step(inputs)
        return inputs
