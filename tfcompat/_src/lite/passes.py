"""Passes over a subgraph after lowering, as TOCO makes them: fewer operators that give the same.

Each pass takes a subgraph and changes it in place. `simplify` runs them until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.lite import model as lite
from tfcompat._src.lite.op_table import FUSES_ACTIVATION

_AFFINE = frozenset(("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"))
_BINARY = frozenset(("ADD", "SUB", "MUL", "DIV"))
_ACTIVATIONS = {"RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3}


def simplify(subgraph: lite.Subgraph, fuse_activations: bool = True) -> None:
    """Runs all passes until none finds anything."""
    identify(subgraph)
    steps: list[Callable[[View], bool]] = [
        drop_unused, merge_reshapes, drop_trivial_reshape, multiply_by_zero, drop_identity_arithmetic, flatten_into_fully_connected, dilate,
        fold_into_preceding, fold_into_following,
    ]  # fmt: skip
    if fuse_activations:
        steps.append(fuse_activation)
    while any([step(View(subgraph)) for step in steps]):
        pass


class View:
    """A subgraph with who makes and who takes each tensor, as of its making; passes keep it current for what they touch."""

    def __init__(self, subgraph: lite.Subgraph) -> None:
        self.subgraph = subgraph
        self.consumers = subgraph.consumers()
        self.producers = subgraph.producers()
        self.outputs = set(subgraph.outputs)

    def sole_producer(self, tensor: lite.Tensor | None) -> lite.Operator | None:
        """The operator that makes `tensor`, if one other operator alone takes it."""
        if tensor is None or tensor in self.outputs or len(self.consumers.get(tensor, ())) != 1:
            return None
        return self.producers.get(tensor)

    def sole_consumer(self, tensor: lite.Tensor) -> lite.Operator | None:
        """The only operator that takes `tensor`."""
        takers = self.consumers.get(tensor, [])
        return takers[0] if len(takers) == 1 and tensor not in self.outputs else None

    def remove(self, *operators: lite.Operator) -> None:
        gone = set(operators)
        self.subgraph.operators[:] = [o for o in self.subgraph.operators if o not in gone]

    def replace(self, old: lite.Tensor, new: lite.Tensor) -> None:
        """Lets all takers of `old` take `new`."""
        for operator in self.consumers.get(old, ()):
            operator.inputs = [new if t is old else t for t in operator.inputs]


def drop_unused(view: View) -> bool:
    """Removes operators of which nothing is needed."""
    kept = [o for o in view.subgraph.operators if any(t in view.outputs or t in view.consumers for t in o.outputs)]
    changed = len(kept) < len(view.subgraph.operators)
    view.subgraph.operators[:] = kept
    return changed


def merge_reshapes(view: View) -> bool:
    """A RESHAPE of a RESHAPE takes what the first one takes."""
    for operator in view.subgraph.operators:
        before = view.sole_producer(operator.inputs[0]) if operator.builtin == "RESHAPE" else None
        if before is not None and before.builtin == "RESHAPE" and operator.outputs[0].shape:
            operator.inputs[0] = before.inputs[0]
            view.remove(before)
            return True
    return False


def drop_trivial_reshape(view: View) -> bool:
    """Removes a RESHAPE to the shape that its input has."""
    for operator in view.subgraph.operators:
        if operator.builtin != "RESHAPE":
            continue
        source, target = operator.inputs[0], operator.outputs[0]
        if source is None or source.shape != target.shape or not source.shape or len(operator.inputs) < 2:
            continue
        if _forward(view, operator, source, target):
            return True
    return False


def _forward(view: View, operator: lite.Operator, source: lite.Tensor, target: lite.Tensor) -> bool:
    """Removes an operator that gives its input, under the name of its output where that can be."""
    maker = view.producers.get(source)
    if maker is not None and source not in view.outputs:
        maker.outputs = [target if t is source else t for t in maker.outputs]
        view.replace(source, target)
    elif target not in view.outputs:
        view.replace(target, source)
    else:
        return False
    view.remove(operator)
    return True


def drop_identity_arithmetic(view: View) -> bool:
    """Removes x + 0, x - 0, x * 1 and x / 1 where x has the shape of the result."""
    for operator in view.subgraph.operators:
        if operator.builtin not in _BINARY or operator.options.get("fused_activation_function"):
            continue
        source, operand = _operands(operator)
        if source is None or operand is None or source.shape != operator.outputs[0].shape:
            continue
        neutral = 0 if operator.builtin in ("ADD", "SUB") else 1
        if np.all(operand == neutral) and _forward(view, operator, source, operator.outputs[0]):
            return True
    return False


def multiply_by_zero(view: View) -> bool:
    """x * 0 is a constant, as TOCO has it."""
    for operator in view.subgraph.operators:
        target = operator.outputs[0]
        if operator.builtin != "MUL" or target in view.outputs or target.dtype != "FLOAT32":
            continue
        _, operand = _operands(operator)
        if operand is not None and not np.any(operand) and all(t is not None and t.shape for t in operator.inputs):
            target.data = np.zeros(target.shape, np.float32)
            view.remove(operator)
            return True
    return False


def _operands(operator: lite.Operator) -> tuple[lite.Tensor | None, NDArray | None]:
    """The tensor and the constant of a binary operator: the constant comes second, or first where the order does not matter."""
    left, right = operator.inputs
    if left is None or right is None:
        return None, None
    if right.data is not None and left.data is None:
        return left, right.data
    if left.data is not None and right.data is None and operator.builtin in ("ADD", "MUL"):
        return right, left.data
    return None, None


def flatten_into_fully_connected(view: View) -> bool:
    """A FULLY_CONNECTED takes the input of a RESHAPE to [n, size of weights] itself: it flattens anyway."""
    for operator in view.subgraph.operators:
        if operator.builtin != "FULLY_CONNECTED":
            continue
        before, weights = view.producers.get(_input(operator, 0)), _input(operator, 1)
        if before is None or before.builtin != "RESHAPE" or _input(before, 0).shape == () or len(_input(operator, 0).shape) != 2:
            continue
        if not weights.shape or int(np.prod(_input(before, 0).shape)) % weights.shape[1]:
            continue
        operator.inputs[0] = before.inputs[0]
        return True
    return False


def _input(operator: lite.Operator, position: int) -> lite.Tensor:
    found = operator.inputs[position]
    if found is None:
        raise ValueError(f"Operator {operator.builtin} lacks its input {position}.")
    return found


def dilate(view: View) -> bool:
    """SPACE_TO_BATCH_ND, a convolution and BATCH_TO_SPACE_ND are one convolution with dilation."""
    for operator in view.subgraph.operators:
        before = view.sole_producer(operator.inputs[0]) if operator.builtin in ("CONV_2D", "DEPTHWISE_CONV_2D") else None
        after = view.sole_consumer(operator.outputs[0]) if before is not None else None
        if before is None or after is None or before.builtin != "SPACE_TO_BATCH_ND" or after.builtin != "BATCH_TO_SPACE_ND":
            continue
        block, paddings = _input(before, 1).data, _input(before, 2).data
        if block is None or paddings is None or len(block) != 2 or operator.options["padding"] != lite.VALID:
            continue
        operator.options.update(dilation_h_factor=int(block[0]), dilation_w_factor=int(block[1]))
        operator.options["padding"] = lite.SAME if np.any(paddings) else lite.VALID
        operator.inputs[0] = before.inputs[0]
        operator.outputs = after.outputs
        view.remove(before, after)
        return True
    return False


def _per_unit(operand: NDArray, units: int) -> NDArray | None:
    """A constant as [units]; None where it is not one number for each unit, or one for all."""
    if operand.size == 1:
        return np.full(units, operand.reshape(()), operand.dtype)
    return operand.reshape(units) if operand.shape[-1] == units == operand.size else None


def _scaled(weights: NDArray, factors: NDArray, builtin: str) -> NDArray:
    """Weights with the outputs multiplied: the units stand last in depthwise ones, else first."""
    if builtin == "DEPTHWISE_CONV_2D":
        return weights * factors
    return weights * factors.reshape(-1, *[1] * (weights.ndim - 1))


def _set(operator: lite.Operator, position: int, data: NDArray) -> None:
    old = _input(operator, position)
    operator.inputs[position] = lite.Tensor(old.name, tuple(data.shape), old.dtype, data.astype(np.float32))


def fold_into_preceding(view: View) -> bool:
    """+, -, * and / with a constant go into the weights and the bias of the operator before them."""
    for operator in view.subgraph.operators:
        if operator.builtin not in _BINARY:
            continue
        source, operand = _operands(operator)
        affine = view.sole_producer(source)
        if affine is None or operand is None or affine.builtin not in _AFFINE or affine.options.get("fused_activation_function"):
            continue
        weights, bias = _input(affine, 1), _input(affine, 2)
        factors = _per_unit(operand, bias.shape[0])
        if factors is None or bias.data is None or operator.outputs[0].shape != affine.outputs[0].shape:
            continue
        if operator.builtin in ("MUL", "DIV"):
            if weights.data is None:
                continue
            factors = factors if operator.builtin == "MUL" else 1 / factors
            _set(affine, 1, _scaled(weights.data, factors, affine.builtin))
            _set(affine, 2, bias.data * factors)
        else:
            _set(affine, 2, bias.data + (factors if operator.builtin == "ADD" else -factors))
        affine.outputs = operator.outputs
        affine.options["fused_activation_function"] = operator.options.get("fused_activation_function", 0)
        view.remove(operator)
        return True
    return False


def fold_into_following(view: View) -> bool:
    """+, -, * and / with one number go into the weights and the bias of the operator behind them."""
    for operator in view.subgraph.operators:
        if operator.builtin not in _BINARY or operator.options.get("fused_activation_function"):
            continue
        source, operand = _operands(operator)
        affine = view.sole_consumer(operator.outputs[0])
        if source is None or operand is None or operand.size != 1 or affine is None or affine.builtin not in _AFFINE:
            continue
        weights, bias = _input(affine, 1), _input(affine, 2)
        if affine.inputs[0] is not operator.outputs[0] or weights.data is None or bias.data is None:
            continue
        number = np.float32(operand.reshape(()))
        if operator.builtin in ("MUL", "DIV"):
            _set(affine, 1, weights.data * (number if operator.builtin == "MUL" else 1 / number))
        elif affine.options.get("padding", lite.VALID) != lite.VALID:
            continue
        else:
            _set(affine, 2, bias.data + (number if operator.builtin == "ADD" else -number) * _weight_sums(affine, weights.data))
        affine.inputs[0] = source
        view.remove(operator)
        return True
    return False


def _weight_sums(affine: lite.Operator, weights: NDArray) -> NDArray:
    axes = (0, 1, 2) if affine.builtin == "DEPTHWISE_CONV_2D" else tuple(range(1, weights.ndim))
    return np.asarray(weights.sum(axis=axes))


def fuse_activation(view: View) -> bool:
    """A RELU, RELU6 or RELU_N1_TO_1 becomes an option of the only operator before it."""
    for operator in view.subgraph.operators:
        number = _ACTIVATIONS.get(operator.builtin)
        before = view.sole_producer(operator.inputs[0]) if number else None
        if before is None or before.builtin not in FUSES_ACTIVATION or before.options.get("fused_activation_function"):
            continue
        if operator.outputs[0].dtype != "FLOAT32":
            continue
        before.options["fused_activation_function"] = number
        before.outputs = operator.outputs
        view.remove(operator)
        return True
    return False


def identify(subgraph: lite.Subgraph) -> None:
    """Finds operators of TensorFlow Lite in what is written with several ops of TensorFlow."""
    steps = (identify_relu1, identify_l2_normalization, identify_hard_swish, identify_prelu)
    while any([step(View(subgraph)) for step in steps]):
        pass


def _chain(view: View, tensor: lite.Tensor | None, *builtins: str) -> list[lite.Operator]:
    """Operators that lead to `tensor`, last first, each the only one that uses the one before; [] where they are others."""
    found: list[lite.Operator] = []
    for builtin in builtins:
        operator = view.sole_producer(tensor)
        if operator is None or operator.builtin != builtin:
            return []
        found.append(operator)
        tensor = operator.inputs[0]
    return found


def _is_number(tensor: lite.Tensor | None, *numbers: float) -> bool:
    data = None if tensor is None else tensor.data
    return data is not None and data.size == 1 and any(abs(float(data.reshape(())) - n) < 1e-6 for n in numbers)


def identify_relu1(view: View) -> bool:
    """minimum(maximum(x, -1), 1) and maximum(minimum(x, 1), -1)."""
    for operator in view.subgraph.operators:
        before = view.sole_producer(operator.inputs[0]) if operator.builtin in ("MINIMUM", "MAXIMUM") else None
        if before is None or {before.builtin, operator.builtin} != {"MINIMUM", "MAXIMUM"}:
            continue
        bounds = {"MINIMUM": 1.0, "MAXIMUM": -1.0}
        if all(_is_number(o.inputs[1], bounds[o.builtin]) for o in (before, operator)):
            operator.builtin, operator.inputs = "RELU_N1_TO_1", [before.inputs[0]]
            view.remove(before)
            return True
    return False


def identify_l2_normalization(view: View) -> bool:
    """x * rsqrt(maximum(sum(square(x)), epsilon)) along the last dimension."""
    for operator in view.subgraph.operators:
        if operator.builtin != "MUL":
            continue
        for source, norm in (operator.inputs, operator.inputs[::-1]):
            chain = _chain(view, norm, "RSQRT", "MAXIMUM", "SUM", "SQUARE") or _chain(view, norm, "RSQRT", "SUM", "SQUARE")
            if not chain or chain[-1].inputs[0] is not source or source is None:
                continue
            total = chain[-2]
            axes = _input(total, 1).data
            if axes is None or [int(a) % len(source.shape) for a in axes.ravel()] != [len(source.shape) - 1]:
                continue
            if total.options.get("keep_dims"):
                operator.builtin, operator.inputs = "L2_NORMALIZATION", [source]
                view.remove(*chain)
                return True
    return False


def identify_hard_swish(view: View) -> bool:
    """x * relu6(x + 3) / 6."""
    for operator in view.subgraph.operators:
        if operator.builtin not in ("MUL", "DIV") or not _is_number(operator.inputs[1], 1 / 6 if operator.builtin == "MUL" else 6.0):
            continue
        product = view.sole_producer(operator.inputs[0])
        if product is None or product.builtin != "MUL":
            continue
        for source, gate in (product.inputs, product.inputs[::-1]):
            chain = _chain(view, gate, "RELU6", "ADD")
            if chain and chain[1].inputs[0] is source and _is_number(chain[1].inputs[1], 3.0):
                operator.builtin, operator.inputs, operator.options = "HARD_SWISH", [source], {}
                view.remove(product, *chain)
                return True
    return False


def identify_prelu(view: View) -> bool:
    """relu(x) + -alpha * relu(-x), as Keras writes it."""
    for operator in view.subgraph.operators:
        if operator.builtin != "ADD":
            continue
        positive = _chain(view, operator.inputs[0], "RELU")
        product = view.sole_producer(operator.inputs[1])
        if not positive or product is None or product.builtin != "MUL":
            continue
        source = positive[0].inputs[0]
        for alpha, other in (product.inputs, product.inputs[::-1]):
            negative = _chain(view, other, "RELU", "NEG")
            if negative and negative[1].inputs[0] is source and alpha is not None and alpha.data is not None:
                slopes = lite.Tensor(alpha.name + "_negated", alpha.shape, alpha.dtype, -alpha.data)
                operator.builtin, operator.inputs, operator.options = "PRELU", [source, slopes], {}
                view.remove(positive[0], product, *negative)
                return True
    return False
