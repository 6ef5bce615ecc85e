"""What Horovod does for Keras, be it tf.keras or the package `keras`: optimizers, values and models."""

from __future__ import annotations

from typing import Any

from tfcompat._src.graph.scopes import executing_eagerly, name_scope
from tfcompat._src.horovod import collectives, processes, reductions
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices


class _Reduced:
    """Goes before the class of an optimizer of Keras: gradients are those of all processes."""

    _name: str
    _how: tuple[Any, ...] = ("", "", None, False)

    def get_gradients(self, loss: object, params: object) -> list[Any]:
        """The gradients of a loss, reduced over all processes."""
        return self._over_all(super().get_gradients(loss, params))  # type: ignore[misc]

    def _over_all(self, gradients: list[Any]) -> list[Any]:
        if processes.size() == 1:
            return gradients
        device_dense, device_sparse, compression, sparse_as_dense = self._how
        with name_scope(f"{self._name}_Allreduce"):
            dense = [convert_to_tensor(g) if sparse_as_dense and isinstance(g, IndexedSlices) else g for g in gradients]
            return [None if g is None else reductions.allreduce(g, None, device_dense, device_sparse, compression) for g in dense]


def distributed(optimizer: object, name: str | None, *how: object) -> Any:
    """An optimizer of Keras with the settings of another one, and the class's name, whose gradients are those of all processes."""
    kind = type(optimizer)
    members = {"_name": name or f"Distributed{kind.__name__}", "_how": how}
    made = type(kind.__name__, (_Reduced, kind), members).from_config(optimizer.get_config())  # type: ignore[attr-defined]
    made._name = members["_name"]
    return made


def evaluated(backend: Any, value: Any) -> Any:
    """A tensor or operation in eager mode, else what the session of Keras gives for it."""
    return value if executing_eagerly() else backend.get_session().run(value)


class Functions:
    """The functions of `horovod.keras` for one Keras.

    Args:
      keras: its module. compression: the Compressor by default.
    """

    def __init__(self, keras: Any, compression: Any) -> None:
        self._keras, self._compression = keras, compression

    def DistributedOptimizer(
        self, optimizer: object, name: str | None = None, device_dense: str = "", device_sparse: str = "", compression: object = None,
        sparse_as_dense: bool = False,
    ) -> Any:  # fmt: skip
        """An optimizer of Keras that works with the gradients of all processes; arguments as of `horovod.tensorflow`'s."""
        return distributed(optimizer, name, device_dense, device_sparse, compression or self._compression, sparse_as_dense)

    def broadcast_global_variables(self, root_rank: int) -> Any:
        """Gives all global variables the values that they have in the process `root_rank`."""
        return evaluated(self._keras.backend, reductions.broadcast_global_variables(root_rank))

    def allreduce(self, value: Any, name: str | None = None, average: bool = True) -> Any:
        """The mean of the values of all processes, or their sum, as an array.

        Args:
          value: what becomes a tensor. name: of its node, by which processes meet. average: whether it is the mean.
        """
        found = reductions.allreduce(constant(value, name=name), average=average)
        return evaluated(self._keras.backend, found)

    def allgather(self, value: Any, name: str | None = None) -> Any:
        """The values of all processes, joined along the first dimension, as an array; arguments as for `allreduce`."""
        return evaluated(self._keras.backend, collectives.allgather(constant(value, name=name)))

    def broadcast(self, value: Any, root_rank: int, name: str | None = None) -> Any:
        """The value of the process `root_rank`, as an array; arguments as for `allreduce`."""
        return evaluated(self._keras.backend, collectives.broadcast(constant(value, name=name), root_rank))

    def load_model(
        self, filepath: Any, custom_optimizers: Any = None, custom_objects: dict[str, Any] | None = None, compression: Any = None
    ) -> Any:
        """A saved model, whose optimizer then works with the gradients of all processes.

        Args:
          filepath: of the model. custom_optimizers: classes of optimizers that Keras does not know.
          custom_objects: what else it does not know, by name. compression: a Compressor.
        """
        optimizers = self._keras.optimizers
        stock = [c for c in vars(optimizers).values() if isinstance(c, type) and issubclass(c, optimizers.Optimizer)]
        objects = {c.__name__.lower(): self._wrapping(c, compression) for c in stock}
        objects.update({c.__name__: self._wrapping(c, compression) for c in custom_optimizers or ()})
        objects.update(custom_objects or {})
        return self._keras.models.load_model(filepath, custom_objects=objects)

    def _wrapping(self, kind: Any, compression: Any) -> Any:
        return lambda **config: self.DistributedOptimizer(kind(**config), compression=compression)
