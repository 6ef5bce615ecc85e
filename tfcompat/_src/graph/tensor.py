"""tf.Tensor: a symbolic handle to one output of an operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import autograph_status, dtypes, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.default_stack import SESSIONS
from tfcompat._src.base.dtypes import DTypeLike
from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.base.tensor_shape import Sizes, TensorShape

if TYPE_CHECKING:
    from tfcompat._src.graph.graph import Graph
    from tfcompat._src.graph.operation import Operation


def _not_in_graph_execution(task: str) -> Exception:
    """Returns 1.15's error for a Python construct that needs a tensor's value; it says whether AutoGraph could have converted it."""
    return errors.OperatorNotAllowedInGraphError(f"{task} is {autograph_status.advice()}")


def shape_text(sizes: Sizes) -> str:
    """Formats a shape as 1.15's error messages do: `[2,?]`, or `<unknown>` for an unknown rank."""
    return "<unknown>" if sizes is None else "[" + ",".join("?" if s is None else str(s) for s in sizes) + "]"


@export("Tensor")
class Tensor:
    """A symbolic handle to output `value_index` of `op`; its value exists only during a Session.run.

    Args:
      op: the Operation that computes it.
      value_index: index of the output of `op`.
      dtype: its DType (a `_ref` dtype for the output of a reference variable).
    """

    OVERLOADABLE_OPERATORS: set[str] = set()
    variable: Callable[[], Any] | None = None
    """Set on the handle of a variable object: returns the object, or None after it is gone."""
    __array_priority__ = 100
    _known_shape: TensorShape | None = None

    def __init__(self, op: Operation, value_index: int, dtype: DTypeLike | None) -> None:
        if not getattr(op, "is_node", False):
            raise TypeError(f"op needs to be an Operation: {op}")
        self._op = op
        self._value_index = value_index
        self._dtype = dtypes.as_dtype(dtype)
        self._sizes: Sizes = None
        self._handle_data: tuple[Any, ...] | None = None

    @property
    def op(self) -> Operation:
        return self._op

    @property
    def _id(self) -> tuple[int, int]:
        """A unique key that sorts the tensors of a graph by creation."""
        return self._op._id, self._value_index

    @property
    def value_index(self) -> int:
        return self._value_index

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    @property
    def graph(self) -> Graph:
        return self._op._graph

    @property
    def name(self) -> str:
        return f"{self._op._name}:{self._value_index}"

    @property
    def device(self) -> str:
        return self._op.device

    @property
    def shape(self) -> TensorShape:
        return self.get_shape()

    def get_shape(self) -> TensorShape:
        """Returns the static shape; the same object until more of it becomes known."""
        # The tuple of sizes is replaced as a whole when more becomes known, so comparing its identity is enough.
        known = self._known_shape
        if known is None or known.sizes is not self._sizes:
            known = self._known_shape = TensorShape.of(self._sizes)
        return known

    _shape_val = shape
    _shape = shape

    def _shape_as_list(self) -> list[int | None] | None:
        return None if self._sizes is None else list(self._sizes)

    def _shape_tuple(self) -> Sizes:
        return self._sizes

    @property
    def ndim(self) -> int | None:
        return None if self._sizes is None else len(self._sizes)

    # ---- static shape, consumers, value ----

    def set_shape(self, shape: object) -> None:
        """Merges `shape` into the static shape; raises ValueError if the two are incompatible."""
        new = shape if isinstance(shape, TensorShape) else TensorShape(shape)
        if new.sizes is None:
            return
        if self._sizes is None:
            self._sizes = new.sizes
            return
        if len(new.sizes) != len(self._sizes):
            raise ValueError(
                f"Shapes must be equal rank, but are {len(self._sizes)} and {len(new.sizes)}"
            )
        # The texts are those of 1.15's C++ code, which merges shapes there.
        for i, (old, size) in enumerate(zip(self._sizes, new.sizes)):
            if old is not None and size is not None and old != size:
                raise ValueError(
                    f"Dimension {i} in both shapes must be equal, but are {old} and {size}. "
                    f"Shapes are {shape_text(self._sizes)} and {shape_text(new.sizes)}."
                )
        self._sizes = tuple(o if o is not None else s for o, s in zip(self._sizes, new.sizes))

    def consumers(self) -> list[Operation]:
        """Returns the operations that take this tensor as an input."""
        return self._op._graph._consumers(self)

    def eval(self, feed_dict: dict[Any, Any] | None = None, session: SessionLike | None = None) -> Any:
        """Runs this tensor in `session`, or in the default session.

        Raises:
          ValueError: there is no session, or it runs another graph.
        """
        return eval_in_session(self, feed_dict, self.graph, session)

    def experimental_ref(self) -> TensorReference:
        """Returns a reference to this tensor that compares and hashes by identity."""
        return TensorReference(self)

    def _as_node_def_input(self) -> str:
        return self._op._name if self._value_index == 0 else f"{self._op._name}:{self._value_index}"

    def _as_tf_output(self) -> tuple[Any, ...]:
        return (self._op._name, self._value_index)

    @staticmethod
    def _override_operator(operator: str, func: Callable[..., Any]) -> None:
        setattr(Tensor, operator, func)

    # ---- Python operators that need a value ----

    def __iter__(self) -> Iterator[Any]:
        yield from self._iterated()

    def _iterated(self) -> list[Any]:
        raise _not_in_graph_execution("iterating over `tf.Tensor`")

    def __bool__(self) -> bool:
        raise _not_in_graph_execution("using a `tf.Tensor` as a Python `bool`")

    __nonzero__ = __bool__

    if TYPE_CHECKING:  # the modules of ops/ install the operators with _override_operator

        def __getitem__(self, key: object) -> Tensor: ...

        def __neg__(self) -> Tensor: ...

        def __add__(self, other: object) -> Tensor: ...

        def __radd__(self, other: object) -> Tensor: ...

        def __sub__(self, other: object) -> Tensor: ...

        def __rsub__(self, other: object) -> Tensor: ...

        def __mul__(self, other: object) -> Tensor: ...

        def __rmul__(self, other: object) -> Tensor: ...

        def __truediv__(self, other: object) -> Tensor: ...

        def __rtruediv__(self, other: object) -> Tensor: ...

        def __floordiv__(self, other: object) -> Tensor: ...

        def __rfloordiv__(self, other: object) -> Tensor: ...

    def __len__(self) -> int:
        raise TypeError(
            f"len is not well defined for symbolic Tensors. ({self.name}) "
            "Please call `x.shape` rather than `len(x)` for shape information."
        )

    def __array__(self, *unused_args: Any, **unused_kwargs: Any) -> NDArray:
        raise NotImplementedError(f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array.")

    def __copy__(self) -> Tensor:
        copied = Tensor(self._op, self._value_index, self._dtype)
        copied._sizes, copied._handle_data = self._sizes, self._handle_data
        return copied

    def __str__(self) -> str:
        shape = "" if self._sizes is None else f", shape={self.shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name}{device})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self._dtype.name}>"


class TensorReference:
    """A tensor that compares and hashes by identity."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def deref(self) -> Tensor:
        return self._tensor

    def __hash__(self) -> int:
        return id(self._tensor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorReference) and self._tensor is other._tensor


def session_for(what: str, graph: Graph, session: SessionLike | None) -> SessionLike:
    """Returns the given or the default session; raises ValueError if there is none or if it runs another graph than `graph`."""
    # The texts are 1.15's; they differ for an explicit and for the default session.
    chosen = session or SESSIONS.top()
    if chosen is None:
        raise ValueError(
            f"Cannot {what}: No default session is registered. Use `with sess.as_default()` or pass an explicit session."
        )
    if chosen.graph is not graph:
        owner = "session's" if session else "default session's"
        hint = "" if session else " Pass an explicit session."
        raise ValueError(f"Cannot {what}: the graph of the node is different from the {owner} graph.{hint}")
    return chosen


def eval_in_session(tensor: object, feed_dict: dict[Any, Any] | None, graph: Graph, session: SessionLike | None) -> Any:
    """Returns the value of `tensor` (of `graph`) in the given or the default session; raises as `session_for`."""
    return session_for("evaluate tensor using `eval()`", graph, session).run(tensor, feed_dict)
