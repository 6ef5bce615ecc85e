"""tf.nondifferentiable_batch_function: functions that compute for several runs at once; `data/call_batches.py` has the op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.function.def_function import function
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.tensor_spec import TensorSpec


@export("nondifferentiable_batch_function", "contrib.batching.batch_function")
def batch_function(
    num_batch_threads: int, max_batch_size: int, batch_timeout_micros: int, allowed_batch_sizes: Sequence[int] | None = None,
    max_enqueued_batches: int = 10, autograph: bool = True,
) -> Callable:  # fmt: skip
    """A decorator: what several runs ask a function for at the same time it computes as one batch.

    The arguments of the function are Tensors with rows as their first dimension, and so are its results.

    Args:
      num_batch_threads: how many batches may be computed at the same time.
      max_batch_size: the most rows of a batch.
      batch_timeout_micros: how long a batch waits for more rows, in microseconds.
      allowed_batch_sizes: increasing numbers of rows, the last one `max_batch_size`; batches are filled up to one of them.
      max_enqueued_batches: how many batches may wait.
      autograph: as for `tf.function`.

    Raises:
      ValueError: by the decorated function, an argument is no Tensor.
      InvalidArgumentError: in a run, a number is none that fits, or there are more rows than a batch may have.
      FailedPreconditionError: in a run, a result has not the rows of the batch. UnavailableError: too many batches wait.
    """

    def decorator(fn: Callable) -> Callable:
        def decorated(*args: Any) -> list[Tensor]:
            with name_scope("batch") as name:
                _check_tensors(args)
                specs = [TensorSpec(a.shape, a.dtype, str(i)) for i, a in enumerate(args)]
                computation = function(lambda *inner: fn(*inner), autograph=autograph).get_concrete_function(*specs)
                return raw.BatchFunction(
                    list(args), computation.captured_inputs, f=computation, num_batch_threads=num_batch_threads,
                    max_batch_size=max_batch_size, batch_timeout_micros=batch_timeout_micros,
                    allowed_batch_sizes=list(allowed_batch_sizes or ()), max_enqueued_batches=max_enqueued_batches,
                    shared_name=name, Tout=[o.dtype for o in computation.outputs],
                )  # fmt: skip

        return decorated

    return decorator


def batch_function_v1(
    num_batch_threads: int, max_batch_size: int, batch_timeout_micros: int, allowed_batch_sizes: Sequence[int] | None = None,
    grad_timeout_micros: int = 60 * 1000 * 1000, unbatch_timeout_micros: int = 60 * 1000 * 1000, max_enqueued_batches: int = 10,
) -> Callable:  # fmt: skip
    """As `batch_function`, by nodes that make batches and part them again around those of the decorated function.

    Args:
      grad_timeout_micros: how long gradients wait for those of the other runs in a batch.
      unbatch_timeout_micros: how long results wait for the runs that asked for them.
    """

    def decorator(fn: Callable) -> Callable:
        def decorated(*args: Any) -> Any:
            with name_scope("batch") as name:
                _check_tensors(args)
                batched, index, key = raw.Batch(
                    list(args), num_batch_threads=num_batch_threads, max_batch_size=max_batch_size,
                    batch_timeout_micros=batch_timeout_micros, max_enqueued_batches=max_enqueued_batches,
                    allowed_batch_sizes=list(allowed_batch_sizes or ()), grad_timeout_micros=grad_timeout_micros, shared_name=name,
                )  # fmt: skip
                outputs = fn(*batched)
                several = [outputs] if isinstance(outputs, Tensor) else outputs
                with name_scope("unbatch") as inner:
                    parts = [
                        raw.Unbatch(each, index, key, timeout_micros=unbatch_timeout_micros, shared_name=f"{inner}/{each.name}")
                        for each in several
                    ]
                return parts[0] if isinstance(outputs, Tensor) else parts

        return decorated

    return decorator


def _check_tensors(args: Sequence[Any]) -> None:
    for a in args:
        if not isinstance(a, Tensor):
            raise ValueError(f"All arguments to functions decorated with `batch_function`  are supposed to be Tensors; found {a!r}")
