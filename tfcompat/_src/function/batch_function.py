"""tf.nondifferentiable_batch_function: a function computes one batch for several concurrent runs; `data/call_batches.py` has the op."""

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
    """Returns a decorator that batches concurrent calls of a function along the first dimension.

    Arguments and results of the function are Tensors with one row per example.

    Args:
      num_batch_threads: number of batches that may be computed at the same time.
      max_batch_size: largest number of rows in a batch.
      batch_timeout_micros: how long a batch waits for more rows, in microseconds.
      allowed_batch_sizes: increasing numbers of rows, the last one `max_batch_size`; batches are padded to one of them.
      max_enqueued_batches: number of batches that may wait.
      autograph: as for `tf.function`.

    Raises:
      ValueError: by the decorated function, if an argument is not a Tensor.
      InvalidArgumentError: in a run, if one of these numbers is invalid, or a call has more rows than a batch may have.
      FailedPreconditionError: in a run, if a result has another number of rows than the batch. UnavailableError: too many batches wait.
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
    """`batch_function` by Batch and Unbatch nodes around the nodes of the decorated function; further arguments are as there.

    Args:
      grad_timeout_micros: how long gradients wait for those of the other runs in a batch, in microseconds.
      unbatch_timeout_micros: how long results wait to be fetched by their runs, in microseconds.
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
                # Each result is divided among the runs by an Unbatch node of its own.
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
