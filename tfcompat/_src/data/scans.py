"""The transformations take_while and scan; tf.data.experimental exports them, and AutoGraph's loops over datasets use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.data import structure
from tfcompat._src.data.dataset import check_state, relaxed
from tfcompat._src.data.iterator import flat_attrs
from tfcompat._src.data.structured_function import StructuredFunctionWrapper
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from tfcompat._src.data.dataset import DatasetV2


def taken_while(dataset: DatasetV2, predicate: Callable[..., Any]) -> DatasetV2:
    """Returns the elements before the first for which `predicate` is false; ValueError if it does not return a bool scalar."""
    function = StructuredFunctionWrapper(predicate, "tf.data.experimental.take_while()", dataset=dataset)
    if not function.output_structure.is_compatible_with(TensorSpec([], dtypes.bool)):
        raise ValueError("`predicate` must return a scalar boolean tensor.")
    return dataset._same(raw.TakeWhileDataset, function.captured_inputs, predicate=function.reference)


def scanned(dataset: DatasetV2, initial_state: object, scan_func: Callable[..., Any]) -> DatasetV2:
    """Returns the dataset of the outputs of `state, output = scan_func(state, element)`.

    Raises:
      TypeError: `scan_func` does not return a pair, or the classes or dtypes of its state differ from those of `initial_state`.
    """
    state = structure.as_element(initial_state)
    spec = structure.type_spec_from_value(state)
    # Fixed point of the state's shapes, as in Dataset.reduce.
    while True:
        function = StructuredFunctionWrapper(scan_func, "tf.data.experimental.scan()", input_structure=(spec, dataset.element_spec))
        results = function.output_structure
        if not isinstance(results, tuple) or len(results) != 2:
            raise TypeError("The scan function must return a pair comprising the new state and the output value.")
        check_state(spec, results[0], "scan_func")
        wider = relaxed(spec, results[0])
        if wider == spec:
            break
        spec = wider
    made = raw.ScanDataset(
        dataset._variant_tensor, structure.to_tensor_list(spec, state), function.captured_inputs, f=function.reference,
        preserve_cardinality=True, **flat_attrs(results[1]),
    )  # fmt: skip
    return dataset._made(made, results[1])
