"""The op types of datasets that combine several elements into one (batches, padded and sparse batches, windows), and of their inverse, unbatch."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.source_ops import listed
from tfcompat._src.data.values import OUTPUTS, UNKNOWN, DatasetValue, Element, Next, Scope, dataset_of, dataset_op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.ops.flow.list_value import variant
from tfcompat._src.ops.queues.resource import invalid
from tfcompat._src.ops.sparse.serialize import parts_vector


def stacked(elements: list[Element]) -> Element:
    """Stacks elements component by component; InvalidArgumentError if the shapes of a component differ."""
    return tuple([_stacked_component(position, column) for position, column in enumerate(zip(*elements))])


def _stacked_component(position: int, column: tuple[Any, ...]) -> NDArray:
    first = column[0]
    shape = first.shape
    for number, value in enumerate(column):
        if value.shape != shape:
            raise invalid(
                f"Cannot batch tensors with different shapes in component {position}. First element had shape {shape_text(shape)} "
                f"and element {number} had shape {shape_text(value.shape)}."
            )
    # Scalars of NumPy's own dtypes are assigned as a list of Python numbers, which is faster than one array scalar at a time.
    batch = np.empty((len(column), *shape), first.dtype)
    if shape or first.dtype == object:
        for number, value in enumerate(column):
            batch[number] = value[()] if not shape else value
    else:
        batch[:] = [value.item() for value in column] if first.dtype.kind in "biuf" and first.dtype.itemsize <= 8 and first.dtype.isbuiltin == 1 else column
    return batch


def gathered(following: Next, count: int, drop_remainder: bool) -> list[Element]:
    """Returns the next `count` elements, or the fewer that are left; StopIteration if none are left, or fewer with `drop_remainder`."""
    elements: list[Element] = []
    try:
        for _ in range(count):
            elements.append(following())
    except StopIteration:
        if drop_remainder or not elements:
            raise
    return elements


def filled(following: Next, count: int, drop_remainder: bool) -> Element:
    """Returns the batch of the next `count` elements, all of which are taken where some fail too, as a fused map and batch does.

    Raises:
      errors.OpError: of the first element that failed or has not as many numbers as the first one.
      StopIteration: none are left, or fewer with `drop_remainder`.
    """
    elements: list[Element] = []
    failure: errors.OpError | None = None
    for _ in range(count):
        try:
            element = following()
            elements.append(_as_the_first(elements[0], element) if elements else element)
        except StopIteration:
            break
        except errors.OpError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    if not elements or drop_remainder and len(elements) < count:
        raise StopIteration
    return stacked(elements)


def _as_the_first(first: Element, element: Element) -> Element:
    """An element in the shapes of the first one of its batch."""
    if all(model.shape == value.shape for model, value in zip(first, element)):
        return element
    for model, value in zip(first, element):
        if model.size != value.size:
            raise invalid(
                "Cannot add tensor to the batch: number of elements does not match. Shapes are: "
                f"[tensor]: {shape_text(value.shape)}, [batch]: {shape_text(model.shape)}"
            )
    return tuple([value.reshape(model.shape) for model, value in zip(first, element)])


def batch_count(size: int, count: int, drop_remainder: bool) -> int:
    """Returns the number of batches of `count` that `size` elements make; INFINITE and UNKNOWN stay."""
    return size if size < 0 else size // count if drop_remainder else -(-size // count)


def _batch(context: HostContext, input_dataset: NDArray, batch_size: NDArray, drop_remainder: object = False) -> DatasetValue:
    source, count, drops = dataset_of(input_dataset), int(batch_size), bool(drop_remainder)
    if count <= 0:
        raise invalid("Batch size must be greater than zero.")
    return batched(source, count, drops)


def batched(source: DatasetValue, count: int, drops: bool) -> DatasetValue:
    """Returns the dataset of batches of `count` elements; `drops` says whether a smaller last batch is dropped."""

    def start(scope: Scope) -> Next:
        following = source.start(scope)
        return lambda: stacked(gathered(following, count, drops))

    return DatasetValue(start, batch_count(source.size, count, drops))


dataset_op("BatchDataset", "input_dataset: variant, batch_size: int64")(_batch)
dataset_op(
    "BatchDatasetV2", "input_dataset: variant, batch_size: int64, drop_remainder: bool", f"parallel_copy: bool = False, {OUTPUTS}"
)(_batch)


# ---- padding ----


def _padded_batch(
    context: HostContext, input_dataset: NDArray, batch_size: NDArray, padded_shapes: tuple[Any, ...], padding_values: tuple[Any, ...],
    drop_remainder: NDArray | bool = False,
) -> DatasetValue:  # fmt: skip
    source, count, drops = dataset_of(input_dataset), int(batch_size), bool(drop_remainder)
    if count <= 0:
        raise invalid("Batch size must be greater than zero.")
    # A shape is a vector with -1 for unknown dimensions; it is a constant of the dataset, the largest sizes are of each batch.
    if any(value.ndim for value in padding_values):
        raise invalid("All padding values must be scalars")
    shapes = [tuple(shape.tolist()) for shape in padded_shapes]

    def start(scope: Scope) -> Next:
        following = source.start(scope)

        def padded() -> Element:
            columns = zip(*gathered(following, count, drops))
            return tuple([_padded(*each) for each in zip(itertools.count(), columns, shapes, padding_values)])

        return padded

    return DatasetValue(start, batch_count(source.size, count, drops))


def _padded(position: int, column: tuple[Any, ...], wanted: tuple[Any, ...], filler: NDArray) -> NDArray:
    """Stacks one component of a batch, padded with `filler` to the shape `wanted`, where -1 is the largest size in the batch."""
    for value in column:
        if value.ndim != len(wanted):
            raise invalid(
                f"All elements in a batch must have the same rank as the padded shape for component{position}: expected rank "
                f"{len(wanted)} but got element with rank {value.ndim}"
            )
    # Static sizes must hold every element; unknown ones (-1) are as large as the largest.
    sizes = list(wanted)
    for axis, size in enumerate(wanted):
        most = max(value.shape[axis] for value in column)
        if size < 0:
            sizes[axis] = most
        elif most > size:
            raise invalid("Attempted to pad to a smaller size than the input element.")
    # The batch is filled with padding first; each element then overwrites its corner of a row.
    batch = np.empty((len(column), *sizes), column[0].dtype)
    batch[...] = filler[()]
    for number, value in enumerate(column):
        region: tuple[int | slice, ...] = (number, *map(slice, value.shape))
        batch[region] = value[()] if not value.ndim else value
    return batch


_PADDED = "input_dataset: variant, batch_size: int64, padded_shapes: N*int64, padding_values: Toutput_types"
_PADS = "Toutput_types: list(type) >= 1, output_shapes: list(shape) >= 1, N: int >= 1"
dataset_op("PaddedBatchDataset", _PADDED, _PADS)(_padded_batch)
dataset_op("PaddedBatchDatasetV2", _PADDED + ", drop_remainder: bool", f"parallel_copy: bool = False, {_PADS}")(_padded_batch)


def _dense_to_sparse(context: HostContext, input_dataset: NDArray, batch_size: NDArray, row_shape: NDArray) -> DatasetValue:
    source, count, row = dataset_of(input_dataset), int(batch_size), row_shape.tolist()
    if count <= 0:
        raise invalid("Batch size must be greater than zero.")

    def start(scope: Scope) -> Next:
        following = source.start(scope)
        return lambda: _sparse_batch([e[0] for e in gathered(following, count, False)], row)

    return DatasetValue(start, batch_count(source.size, count, False))


def _sparse_batch(rows: list[NDArray], row_shape: list[int]) -> Element:
    """Returns a batch of dense tensors as one SparseTensor, which holds all their values, zeros too."""
    # The dense shape is `row_shape`, with each unknown (-1) size replaced by the largest in the batch.
    sizes = list(row_shape)
    for value in rows:
        if value.ndim != len(row_shape):
            raise invalid(
                f"Input element had shape ({shape_text(value.shape)}) that is incompatible with the row shape ({shape_text(tuple(row_shape))})."
            )
        for axis, (size, wanted) in enumerate(zip(value.shape, row_shape)):
            if wanted >= 0 and size > wanted:
                raise errors.DataLossError(
                    None, None, f"Input element had shape {shape_text(value.shape)} that is larger than the row shape."
                )
            sizes[axis] = max(sizes[axis], size)
    # The indices of a row are all its positions, in row-major order, after the number of the row.
    positions = [np.argwhere(np.ones(value.shape, bool)) for value in rows]
    indices = np.concatenate([np.insert(p, 0, number, axis=1) for number, p in enumerate(positions)]).astype(np.int64)
    return (parts_vector((indices, np.concatenate([value.reshape(-1) for value in rows]), np.array([len(rows), *sizes], np.int64))),)


for _prefix in ("", "Experimental"):
    dataset_op(_prefix + "DenseToSparseBatchDataset", "input_dataset: variant, batch_size: int64, row_shape: int64")(_dense_to_sparse)


# ---- windows ----


@dataset_op("WindowDataset", "input_dataset: variant, size: int64, shift: int64, stride: int64, drop_remainder: bool")
def _window(context: HostContext, input_dataset: NDArray, size: NDArray, shift: NDArray, stride: NDArray, drop_remainder: NDArray) -> DatasetValue:
    source = dataset_of(input_dataset)
    for name, value in (("size", size), ("shift", shift), ("stride", stride)):
        if int(value) <= 0:
            raise invalid(f"Window {name} must be greater than zero.")
    length, step, apart, drops = int(size), int(shift), int(stride), bool(drop_remainder)

    def start(scope: Scope) -> Next:
        following = windows(source.start(scope), length, step, apart, drops)

        def window() -> Element:
            rows = following()
            return tuple([variant(listed(_element_of(column), len(column))) for column in zip(*rows)])

        return window

    # Without drop_remainder, each start of a window that has an element makes one.
    total = source.size
    if total >= 0:
        span = (length - 1) * apart + 1
        total = max(0, (total - span) // step + 1) if drops else -(-total // step)
    return DatasetValue(start, total)


def _element_of(column: tuple[Any, ...]) -> Any:
    return lambda i: (column[i],)


def windows(following: Next, length: int, step: int, apart: int, drops: bool) -> Any:
    """Returns a function that returns the next window, a list of elements; StopIteration at the end.

    Args:
      length: elements of a window. step: distance between the starts of consecutive windows. apart: stride within a window.
      drops: whether windows that reach beyond the end are dropped.
    """
    # The buffer holds the elements from the start of the next window on. If `step` is longer than a window, the rest is skipped.
    span = (length - 1) * apart + 1
    buffer: deque[Element] = deque()
    to_skip, is_over = 0, False

    def window() -> list[Element]:
        nonlocal to_skip, is_over
        while not is_over and (to_skip or len(buffer) < span):
            try:
                element = following()
            except StopIteration:
                is_over = True
                break
            if to_skip:
                to_skip -= 1
            else:
                buffer.append(element)
        # At the end of the input, the remaining elements make a smaller window.
        if not buffer or (drops and len(buffer) < span):
            raise StopIteration
        elements = list(itertools.islice(buffer, 0, span, apart))
        for _ in range(min(step, len(buffer))):
            buffer.popleft()
        to_skip = max(0, step - span)
        return elements

    return window


def _sliding_window(context: HostContext, input_dataset: NDArray, window_size: NDArray, window_shift: NDArray, window_stride: NDArray) -> DatasetValue:
    source = dataset_of(input_dataset)
    for name, value in (("size", window_size), ("shift", window_shift), ("stride", window_stride)):
        if int(value) <= 0:
            raise invalid(f"Window {name} must be greater than zero.")

    def start(scope: Scope) -> Next:
        following = windows(source.start(scope), int(window_size), int(window_shift), int(window_stride), True)
        return lambda: stacked(following())

    return DatasetValue(start)


for _prefix in ("", "Experimental"):
    dataset_op(
        _prefix + "SlidingWindowDataset", "input_dataset: variant, window_size: int64, window_shift: int64, window_stride: int64"
    )(_sliding_window)


def _unbatch(context: HostContext, input_dataset: NDArray) -> DatasetValue:
    source = dataset_of(input_dataset)

    def start(scope: Scope) -> Next:
        following = source.start(scope)
        rows: Iterator[Element] = iter(())

        # Batches are split one at a time; an empty batch is passed over.
        def row() -> Element:
            nonlocal rows
            while True:
                for element in rows:
                    return element
                batch = following()
                rows = _rows_of(batch)

        return row

    return DatasetValue(start, UNKNOWN if source.size else 0)


def _rows_of(batch: Element) -> Iterator[Element]:
    """Returns the slices of a batch; InvalidArgumentError if its components have no, or different, first dimensions."""
    for component in batch:
        if not component.ndim:
            raise invalid("Cannot unbatch an element with scalar components.")
        if len(component) != len(batch[0]):
            raise invalid("Input element must have the same batch size in each component.")
    return (tuple([component[i, ...] for component in batch]) for i in range(len(batch[0])))


for _prefix in ("", "Experimental"):
    dataset_op(_prefix + "UnbatchDataset", "input_dataset: variant")(_unbatch)
