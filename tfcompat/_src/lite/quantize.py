"""Quantization of converted models: float16 and int8 weights, int8 by ranges of sample data, uint8 by the FakeQuant ops of the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.lite import model as lite
from tfcompat._src.lite import reader, writer
from tfcompat._src.lite.interpreter import Interpreter
from tfcompat._src.lite.quantized_ops import HYBRID, PROPERTIES, WEIGHTS, Property

_LEAST_WEIGHTS = 1024
"""Weights of fewer elements stay as they are."""
_LIMITS = {"INT8": (-128, 127), "UINT8": (0, 255), "INT32": (-(2**31), 2**31 - 1)}

_BOUNDS = {0: (np.inf, -np.inf), 1: (0, np.inf), 2: (-1, 1), 3: (0, 6), 4: (np.inf, -np.inf), 5: (np.inf, -np.inf)}
"""Results of the activations of the schema; an empty range for none and for those that change what lies between."""


def parameters(scale: object, zero_point: object, minimum: float | None = None, maximum: float | None = None, dimension: int = 0) -> lite.Quantization:
    """Quantization of arrays of scales and zero points, or of one of each."""
    bounds = [None if b is None else np.array([b], np.float32) for b in (minimum, maximum)]
    return lite.Quantization(np.atleast_1d(np.asarray(scale, np.float32)), np.atleast_1d(np.asarray(zero_point, np.int64)), *bounds, dimension)


def for_range(minimum: float, maximum: float, dtype: str) -> lite.Quantization:
    """Quantization of a range, made to hold 0 exactly."""
    low, high = _LIMITS[dtype]
    lower, upper = min(float(minimum), 0.0), max(float(maximum), 0.0)
    scale = (upper - lower) / (high - low) or 1.0
    zero_point = int(np.clip(np.round(low - lower / scale), low, high))
    return parameters(scale, zero_point, minimum, maximum)


def symmetric(values: NDArray, axis: int | None = None) -> lite.Quantization:
    """Quantization to [-127, 127] around 0: one scale, or one for each entry of `axis`."""
    others = None if axis is None else tuple(i for i in range(values.ndim) if i != axis)
    largest = np.abs(values).max(axis=others).astype(np.float32)
    scale = np.where(largest > 0, largest / 127, 1).astype(np.float32)
    return parameters(scale, np.zeros(scale.shape, np.int64), dimension=axis or 0)


def integers(values: NDArray, quantization: lite.Quantization, dtype: str, low: int | None = None) -> NDArray:
    """The nearest integers of real numbers."""
    shape = [1] * values.ndim
    if len(quantization.scale) > 1:
        shape[quantization.dimension] = -1
    scale, zero_point = quantization.scale.astype(np.float64).reshape(shape), quantization.zero_point.reshape(shape)
    lowest, highest = _LIMITS[dtype]
    numbers = values.astype(np.float64) / (scale if values.ndim else scale.reshape(()))
    rounded = np.sign(numbers) * np.floor(np.abs(numbers) + 0.5)  # halves away from zero, as C++'s round
    return np.clip(rounded + (zero_point if values.ndim else zero_point.reshape(())), lowest if low is None else low, highest).astype(
        lite.NUMPY_TYPES[dtype]
    )


def _store(tensor: lite.Tensor, quantization: lite.Quantization, dtype: str, low: int | None = None) -> None:
    """Makes a constant of real numbers one of integers."""
    if tensor.data is None:
        raise ValueError(f"'{tensor.name}' is not a constant.")
    tensor.data = integers(tensor.data, quantization, dtype, low)
    tensor.dtype, tensor.quantization = dtype, quantization


def weights_to_float16(model: lite.Model) -> None:
    """Stores every float32 constant as float16, with a DEQUANTIZE before its first use."""
    for subgraph in model.subgraphs:
        made: dict[lite.Tensor, lite.Tensor] = {}
        operators: list[lite.Operator] = []
        for operator in subgraph.operators:
            for position, tensor in enumerate(operator.inputs):
                if tensor is None or tensor.data is None or tensor.dtype not in ("FLOAT32", "FLOAT16"):
                    continue
                if tensor not in made:
                    tensor.data, tensor.dtype = np.clip(tensor.data, -65504, 65504).astype(np.float16), "FLOAT16"
                    made[tensor] = lite.Tensor(tensor.name + "_dequantize", tensor.shape, "FLOAT32")
                    operators.append(lite.Operator("DEQUANTIZE", [tensor], [made[tensor]], version=2))
                operator.inputs[position] = made[tensor]
            operators.append(operator)
        subgraph.operators[:] = operators


def weights_to_int8(model: lite.Model) -> None:
    """Stores large weights as int8; a DEQUANTIZE stands before operators that do not take them."""
    for subgraph in model.subgraphs:
        consumers = subgraph.consumers()
        taken = dict.fromkeys(t for o in subgraph.operators for t in _weights(o) if t.data.size >= _LEAST_WEIGHTS)
        before: dict[lite.Operator, list[lite.Operator]] = {}
        for tensor in taken:
            _store(tensor, symmetric(tensor.data), "INT8")
            others = [o for o in consumers[tensor] if o.builtin not in HYBRID]
            if others:
                real = lite.Tensor(tensor.name + "_dequantize", tensor.shape, "FLOAT32")
                first = next(o for o in subgraph.operators if o in others)
                before.setdefault(first, []).append(lite.Operator("DEQUANTIZE", [tensor], [real], version=2))
                for operator in others:
                    operator.inputs = [real if t is tensor else t for t in operator.inputs]
        subgraph.operators[:] = [o for operator in subgraph.operators for o in (*before.get(operator, ()), operator)]
        for operator in subgraph.operators:
            operator.version = HYBRID.get(operator.builtin, operator.version)


def _weights(operator: lite.Operator) -> list[Any]:
    """The float constants of an operator that are weights."""
    positions = WEIGHTS.get(operator.builtin, ())
    found = [operator.inputs[i] for i in positions if i < len(operator.inputs)]
    return [t for t in found if t is not None and t.data is not None and t.dtype == "FLOAT32"]


def calibrated(content: bytes, samples: Callable[[], Iterable[Sequence[Any]]], input_type: object, output_type: object, allow_float: bool) -> bytes:
    """A float model as int8, by the ranges that its tensors have on samples.

    Args:
      content: the .tflite file. samples: gives lists of arrays, one for each input.
      input_type, output_type: float32, int8 or uint8. allow_float: leave operators as they are that have no int8 kernel.

    Raises:
      ValueError: there are no samples, a sample does not fit, or an operator has no int8 kernel.
    """
    ranges = _ranges(content, samples)
    model = reader.read(content)
    subgraph = model.subgraphs[0]
    _Int8(subgraph, ranges, allow_float).run()
    _set_ends(subgraph, *(lite.TYPE_OF[np.dtype(dtypes.as_dtype(t).as_numpy_dtype)] for t in (input_type, output_type)))
    return writer.write(model)


def _ranges(content: bytes, samples: Callable[[], Iterable[Sequence[Any]]]) -> dict[str, tuple[float, float]]:
    """The least and the greatest value of every float tensor, by its name."""
    interpreter = Interpreter(model_content=content)
    interpreter.allocate_tensors()
    wanted = interpreter.float_tensors()
    indices = [detail["index"] for detail in interpreter.get_input_details()]
    found: dict[str, tuple[float, float]] = {}
    for sample in samples():
        if len(sample) != len(indices):
            raise ValueError(f"A sample of the representative dataset has {len(sample)} arrays, and the model has {len(indices)} inputs.")
        for index, value in zip(indices, sample):
            interpreter.set_tensor(index, value)
        for tensor, value in zip(wanted, interpreter.values_of(wanted)):
            low, high = found.get(tensor.name, (np.inf, -np.inf))
            found[tensor.name] = min(low, float(np.min(value))), max(high, float(np.max(value)))
    if not found:
        raise ValueError("The representative dataset has no samples.")
    return found


class _Int8:
    """Changes the operators of a float subgraph, in their order, into int8 ones where there are such."""

    def __init__(self, subgraph: lite.Subgraph, ranges: dict[str, tuple[float, float]], allow_float: bool) -> None:
        self.subgraph = subgraph
        self.ranges = ranges
        self.allow_float = allow_float
        self.real: dict[lite.Tensor, lite.Tensor] = {}
        """Float copies of int8 tensors, for operators that stay float."""
        self.whole: dict[lite.Tensor, lite.Tensor] = {}
        """Int8 copies of float tensors that operators without an int8 kernel make."""
        self.operators: list[lite.Operator] = []

    def run(self) -> None:
        for tensor in self.subgraph.inputs:
            if tensor.dtype == "FLOAT32":
                self._set_range(tensor)
        for operator in self.subgraph.operators:
            known = PROPERTIES.get(operator.builtin)
            if known is None and not self.allow_float and any(t.dtype == "FLOAT32" for t in operator.outputs):
                raise ValueError(f"Quantization not yet supported for op: {operator.builtin}")
            if known is None:
                operator.inputs = [t if t is None else self._as_real(t) for t in operator.inputs]
            else:
                self._quantize(operator, known)
            self.operators.append(operator)
        self.subgraph.operators[:] = self.operators

    def _set_range(self, tensor: lite.Tensor) -> None:
        tensor.dtype, tensor.quantization = "INT8", for_range(*self.ranges[tensor.name], "INT8")

    def _as_real(self, tensor: lite.Tensor) -> lite.Tensor:
        if tensor.dtype != "INT8" or tensor.data is not None or tensor.quantization is None:
            return tensor
        if tensor not in self.real:
            self.real[tensor] = lite.Tensor(tensor.name + "_dequantized", tensor.shape, "FLOAT32")
            self.operators.append(lite.Operator("DEQUANTIZE", [tensor], [self.real[tensor]], version=2))
        return self.real[tensor]

    def _as_int8(self, tensor: lite.Tensor) -> lite.Tensor:
        if tensor.dtype != "FLOAT32":
            return tensor
        if tensor.data is not None:
            _store(tensor, symmetric(tensor.data), "INT8")
            return tensor
        if tensor not in self.whole:
            self.whole[tensor] = lite.Tensor(tensor.name + "_quantized", tensor.shape, "INT8", None, for_range(*self.ranges[tensor.name], "INT8"))
            self.operators.append(lite.Operator("QUANTIZE", [tensor], [self.whole[tensor]]))
        return self.whole[tensor]

    def _quantize(self, operator: lite.Operator, known: Property) -> None:
        if all(t is None or t.dtype != "FLOAT32" and t.quantization is None for t in (*operator.inputs, *operator.outputs)):
            return  # it has no real numbers
        positions = range(len(operator.inputs)) if known.inputs is None else known.inputs
        for position in positions:
            tensor = operator.inputs[position]
            if tensor is not None:
                operator.inputs[position] = self._as_int8(tensor)
        if known.weights is not None:
            self._weights_and_bias(operator, known)
        if known.output:
            self._outputs(operator, known, [operator.inputs[i] for i in positions])
        operator.version = known.version

    def _weights_and_bias(self, operator: lite.Operator, known: Property) -> None:
        source, weights = operator.inputs[0], operator.inputs[1]
        if source is None or weights is None or source.quantization is None:
            raise ValueError(f"{operator.builtin} lacks an input.")
        if weights.data is None:
            operator.inputs[1] = weights = self._as_int8(weights)
        elif weights.dtype == "FLOAT32":
            _store(weights, symmetric(weights.data, known.axis), "INT8", -127)
        bias = operator.inputs[2] if len(operator.inputs) > 2 else None
        if bias is not None and bias.dtype == "FLOAT32" and weights.quantization is not None:
            scale = source.quantization.scale[0] * weights.quantization.scale
            _store(bias, parameters(scale, np.zeros(scale.shape, np.int64)), "INT32")

    def _outputs(self, operator: lite.Operator, known: Property, sources: list[lite.Tensor | None]) -> None:
        for tensor in operator.outputs:
            if known.fixed is not None:
                tensor.dtype, tensor.quantization = "INT8", parameters(*known.fixed)
            elif known.same_scale and len(sources) == 1 and sources[0] is not None:
                tensor.dtype, tensor.quantization = "INT8", sources[0].quantization
            else:
                self._set_range(tensor)
        if known.same_scale and len(sources) > 1:
            self._rescale(operator)

    def _rescale(self, operator: lite.Operator) -> None:
        """Inputs of another scale than the output's go through a QUANTIZE."""
        wanted = operator.outputs[0].quantization
        for position, tensor in enumerate(operator.inputs):
            if tensor is None or tensor.quantization is None or wanted is None or tensor.dtype != "INT8":
                continue
            if tensor.quantization.scale[0] == wanted.scale[0] and tensor.quantization.zero_point[0] == wanted.zero_point[0]:
                continue
            scaled = lite.Tensor(f"{tensor.name}_requantized_{operator.outputs[0].name}", tensor.shape, "INT8", None, wanted)
            self.operators.append(lite.Operator("QUANTIZE", [tensor], [scaled]))
            operator.inputs[position] = scaled


def _set_ends(subgraph: lite.Subgraph, input_type: str, output_type: str) -> None:
    """Gives inputs and outputs of int8 the types that are asked for, by a QUANTIZE or DEQUANTIZE at the ends."""
    for position, tensor in enumerate(subgraph.inputs):
        if tensor.dtype == "INT8" and tensor.quantization is not None and input_type != "INT8":
            end = _end(tensor, input_type)
            subgraph.operators.insert(0, lite.Operator("QUANTIZE", [end], [tensor]))
            subgraph.inputs[position] = end
    for position, tensor in enumerate(subgraph.outputs):
        if tensor.dtype == "INT8" and tensor.quantization is not None and output_type != "INT8":
            end = _end(tensor, output_type)
            builtin, version = ("DEQUANTIZE", 2) if output_type == "FLOAT32" else ("QUANTIZE", 1)
            subgraph.operators.append(lite.Operator(builtin, [tensor], [end], version=version))
            subgraph.outputs[position] = end


def _end(tensor: lite.Tensor, dtype: str) -> lite.Tensor:
    """The tensor at an end of the model, which has the name; the int8 one gets another."""
    quantization = tensor.quantization
    shifted = None if dtype == "FLOAT32" or quantization is None else parameters(quantization.scale, quantization.zero_point + 128)
    end = lite.Tensor(tensor.name, tensor.shape, dtype, None, shifted)
    tensor.name += "_int8"
    return end


def uint8_inputs(model: lite.Model, stats: dict[str, tuple[float, float]]) -> None:
    """Float inputs of a float model come as uint8: a DEQUANTIZE stands behind each. stats: {input: (mean, standard deviation)}."""
    subgraph = model.subgraphs[0]
    for position, tensor in enumerate(subgraph.inputs):
        if tensor.dtype != "FLOAT32":
            continue
        given = lite.Tensor(tensor.name, tensor.shape, "UINT8", None, _of_stats(stats[tensor.name]))
        tensor.name += "_dequantized"
        subgraph.inputs[position] = given
        subgraph.operators.insert(0, lite.Operator("DEQUANTIZE", [given], [tensor]))


def _of_stats(stats: tuple[float, float]) -> lite.Quantization:
    """real = (integer - mean) / standard deviation."""
    mean, deviation = stats
    return parameters(1 / deviation, round(mean))


def to_uint8(model: lite.Model, stats: dict[str, tuple[float, float]], default_ranges: tuple[float, float] | None) -> None:
    """Real tensors become uint8 by the ranges of FAKE_QUANT operators, which go.

    Args:
      stats: {input: (mean, standard deviation)}. default_ranges: (min, max) of tensors without a range; None to refuse them.

    Raises:
      ValueError: a tensor has no range.
    """
    for subgraph in model.subgraphs:
        _Uint8(subgraph, stats, default_ranges).run()


class _Uint8:
    """Changes a float subgraph with FAKE_QUANT operators into a uint8 one."""

    def __init__(self, subgraph: lite.Subgraph, stats: dict[str, tuple[float, float]], default_ranges: tuple[float, float] | None) -> None:
        self.subgraph = subgraph
        self.stats = stats
        self.default_ranges = default_ranges
        self.known: dict[lite.Tensor, lite.Quantization] = {}

    def run(self) -> None:
        for tensor in self.subgraph.inputs:
            if tensor.dtype == "FLOAT32":
                self.known[tensor] = _of_stats(self.stats[tensor.name])
        self._take_ranges()
        self._spread()
        for operator in self.subgraph.operators:
            self._quantize(operator)
            self._drop_activation(operator)
        for tensor, quantization in self.known.items():
            tensor.dtype, tensor.quantization = "UINT8", quantization

    def _drop_activation(self, operator: lite.Operator) -> None:
        """An activation that the range of the output implies does nothing."""
        lower, upper = _BOUNDS[operator.options.get("fused_activation_function", 0)]
        known = self.known.get(operator.outputs[0])
        if known is None:
            return
        least, greatest = ((end - known.zero_point[0]) * known.scale[0] for end in _LIMITS["UINT8"])
        if least >= lower and greatest <= upper:
            operator.options["fused_activation_function"] = 0

    def _take_ranges(self) -> None:
        """Files the range of every FAKE_QUANT for what it takes, and removes it."""
        producers = self.subgraph.producers()
        consumers = self.subgraph.consumers()
        for operator in [o for o in self.subgraph.operators if o.builtin == "FAKE_QUANT"]:
            source, target = operator.inputs[0], operator.outputs[0]
            maker = producers.get(source) if source is not None else None
            if source is None or operator.options["num_bits"] != 8:
                raise ValueError(f"FAKE_QUANT '{target.name}' has {operator.options['num_bits']} bits: uint8 models need 8.")
            quantization = for_range(operator.options["min"], operator.options["max"], "UINT8")
            if maker is None:  # an input: its own statistics count
                kept = source
            else:
                maker.outputs = [target if t is source else t for t in maker.outputs]
                producers[target], kept = maker, target
                self.known[target] = quantization
            for taker in [o for t in (source, target) for o in consumers.get(t, ()) if o is not operator]:
                taker.inputs = [kept if t is source or t is target else t for t in taker.inputs]
                consumers.setdefault(kept, []).append(taker)
            self.subgraph.outputs = [kept if t is target else t for t in self.subgraph.outputs]
            self.subgraph.operators.remove(operator)

    def _spread(self) -> None:
        """Ranges of what has none: fixed ones, and along operators that keep the scale, in both directions."""
        operators = self.subgraph.operators
        for operator in [*operators, *reversed(operators)]:
            row = PROPERTIES.get(operator.builtin)
            target = operator.outputs[0]
            if row is None or target.dtype != "FLOAT32":
                continue
            if row.fixed is not None and target not in self.known:
                scale, zero_point = row.fixed
                self.known[target] = parameters(scale, zero_point + 128)
            if row.same_scale:
                ends = [target, *(t for t in operator.inputs if t is not None and t.dtype == "FLOAT32" and t.data is None)]
                found = next((self.known[t] for t in ends if t in self.known), None)
                for tensor in ends if found is not None else ():
                    self.known.setdefault(tensor, found)

    def _quantize(self, operator: lite.Operator) -> None:
        row = PROPERTIES.get(operator.builtin)
        reals = [t for t in (*operator.inputs, *operator.outputs) if t is not None and t.dtype == "FLOAT32"]
        for tensor in reals:
            if tensor.data is None:
                self._require(tensor, operator)
        if row is not None and row.weights is not None:
            self._weights_and_bias(operator)
        for tensor in operator.inputs:
            if tensor is not None and tensor.dtype == "FLOAT32" and tensor.data is not None:
                _store(tensor, _constant_range(tensor), "UINT8")

    def _require(self, tensor: lite.Tensor, operator: lite.Operator) -> None:
        if tensor in self.known:
            return
        if self.default_ranges is None:
            raise ValueError(
                f"Array {tensor.name}, which is an input to the {operator.builtin} operator producing the output array "
                f"{operator.outputs[0].name}, is lacking min/max data, which is necessary for quantization. If accuracy matters, either "
                "target a non-quantized output format, or run quantized training with your model from a floating point checkpoint to change "
                "the input graph to contain min/max information. If you don't care about accuracy, you can pass --default_ranges_min= and "
                "--default_ranges_max= for easy experimentation."
            )
        self.known[tensor] = for_range(*self.default_ranges, "UINT8")

    def _weights_and_bias(self, operator: lite.Operator) -> None:
        source, weights = operator.inputs[0], operator.inputs[1]
        bias = operator.inputs[2] if len(operator.inputs) > 2 else None
        if source is None or weights is None:
            raise ValueError(f"{operator.builtin} lacks an input.")
        if weights.data is not None and weights.dtype == "FLOAT32":
            _store(weights, _constant_range(weights), "UINT8")
        of_weights = self.known.get(weights) or weights.quantization
        if bias is not None and bias.dtype == "FLOAT32" and of_weights is not None:
            scale = self.known[source].scale[0] * of_weights.scale[0]
            _store(bias, parameters(scale, 0), "INT32")


def _constant_range(tensor: lite.Tensor) -> lite.Quantization:
    """The range that a FakeQuant op gave to a constant, else that of its elements."""
    given = tensor.quantization
    if given is not None and given.minimum is not None and given.maximum is not None:
        return for_range(given.minimum[0], given.maximum[0], "UINT8")
    if tensor.data is None:
        raise ValueError(f"'{tensor.name}' is not a constant.")
    return for_range(tensor.data.min(), tensor.data.max(), "UINT8")
