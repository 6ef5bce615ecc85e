"""Every op type has a gradient or says why not, and each gradient is checked in float64 by differences."""

import functools
import importlib
import json
from pathlib import Path

from oracle import golden

from tfcompat._src.base import dtypes
from tfcompat._src.gradients.visits import _TRAINABLE
from tfcompat._src.graph import op_spec

TESTS = Path(__file__).resolve().parent.parent
CONTRIB = Path(op_spec.__file__).parent.parent / "contrib"
for path in CONTRIB.rglob("*.py"):
    importlib.import_module("tfcompat._src.contrib." + ".".join(path.relative_to(CONTRIB).with_suffix("").parts))
op_spec.find("no such op")
SPECS = {spec.name: spec for spec in op_spec.registered() if not spec.name.startswith("Horovod")}  # whose gradients tests/horovod_programs check
INTERNAL = {"KernelGradient", "StatelessCase", "LoopGradient", "LoopRecord", "LoopGradientGradient", "EagerPyFuncGradient"}
"""Op types that 1.15 does not have."""
OF_SERVERS = ("_StepTensorArray", "_RemoteTaskCall")
"""Beginnings of the op types that servers give to nodes of parts, whose gradients are made before."""
OF_DEBUGGER = ("DebugGradientIdentity", "DebugGradientRefIdentity")
"""1.15 registers their gradients when `tensorflow.python.debug` is imported, as the recorded program does not."""
REGISTRY = json.loads((TESTS / "golden/gradient_registry.json").read_text()) | dict.fromkeys(OF_DEBUGGER, True)
DIFFERENTIABLE = sorted(n for n, s in SPECS.items() if not isinstance(s.gradient, op_spec.NotDifferentiable))

SINGLE_PRECISION = "its real inputs are float32 at most; tests/cases compares its gradient with 1.15's"
NONE_IN_TENSORFLOW = "1.15 cannot differentiate it: there is nothing to compare with"
CONSTANT = "the derivative is 0 or 1 by definition, not the slope of the rounded value"
FUNCTIONS = "the gradient is that of the function's body: tests/framework and tests/runtime check it"
REFERENCES = "the gradient of a value behind a reference is that of the op without: tests/runtime trains with it"
RANDOM = "each value is drawn anew; tests/random compares the derivative with 1.15's"
DEVICES = "needs several devices: tests/distribute"
OF_FUNCTIONS = ("For", "While", "StatelessWhile", "PartitionedCall", "StatefulPartitionedCall", "RemoteCall")
"""1.15 gives these their gradient at each call, not in the registry."""
NOT_CHECKED = {
    **dict.fromkeys(
        ("BlockLSTM", "BlockLSTMV2", "GRUBlockCell", "LSTMBlockCell", "CropAndResize", "FakeQuantWithMinMaxArgs", "IRFFT", "IRFFT2D",
         "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel", "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3",
         "FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3", "LRN", "RFFT", "RFFT2D", "ScaleAndTranslate",
         "SparseMatMul", "BatchNormWithGlobalNormalization", "CudnnRNN", "CudnnRNNV2", "CudnnRNNV3", "MaxPool3D", "MaxPool3DGrad",
         "MaxPool3DGradGrad"), SINGLE_PRECISION),
    **dict.fromkeys(
        ("RefEnter", "RefExit", "RefIdentity", "RefMerge", "RefNextIteration", "RefSwitch", "ReadVariableOp", "ResourceGather",
         "ResourceGatherNd"), REFERENCES),
    **dict.fromkeys(
        ("Case", "StatelessCase", "For", "RemoteCall", "If", "StatelessIf", "While", "StatelessWhile", "PartitionedCall",
         "StatefulPartitionedCall", "KernelGradient", "LoopGradient"), FUNCTIONS),
    **dict.fromkeys(
        ("SparseSparseMaximum", "SparseSparseMinimum", "NextAfter", "RGBToHSV", "TopK",
         "PreventGradient", "SparseDenseCwiseAdd"), NONE_IN_TENSORFLOW),
    **dict.fromkeys(("QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3"), CONSTANT),
    **dict.fromkeys(("NcclBroadcast", "NcclReduce"), DEVICES),
    **dict.fromkeys(OF_DEBUGGER, "it hands the gradient on: tests/ops/test_gradients_debugger.py"),
    "EagerPyFunc": "the gradient is that of the operations that Python runs: tests/eager",
    "RandomGamma": RANDOM,
    **dict.fromkeys(("Batch", "Unbatch"), "runs in several threads meet there: tests/queues"),
    "XlaClusterOutput": "1.15 refuses gradients through it",
    "ImageProjectiveTransformV2": "as in 1.15 the gradient is the inverse transform, which is near the derivative only",
}  # fmt: skip
"""Differentiable op types without a float64 case, and why."""


@functools.cache
def checked_types():
    """The op types on a path from a float64 input that has a gradient, in a case that the slope is checked of."""
    found = set()
    for file in sorted((TESTS / "golden/cases").glob("*.json.gz")):
        family = file.name.removesuffix(".json.gz")
        cases = {c.id: c for c in importlib.import_module("cases." + family).TABLE.cases}
        for name, entry in golden.read(file).items():
            case = cases.get(name)
            if case is None or not case.grad or "nodes" not in entry:
                continue
            flowing = {key for key, kind, *_ in entry.get("gradients", []) if kind}
            reached = {f"{k}:0" for k, v in case.arrays.items() if v.dtype == "float64" and k in flowing}
            for node in entry["nodes"]:
                if reached.intersection(node["inputs"]):
                    found.add(node["op"])
                    reached.update(f"{node['name']}:{i}" for i in range(len(node["shapes"])))
    return found


def test_each_says_why_it_has_no_gradient():
    assert [name for name in sorted(set(SPECS) - set(DIFFERENTIABLE)) if len(SPECS[name].gradient.reason.split()) < 2] == []


def carries_gradients(name, args):
    """Whether one of the inputs or outputs can be of a type that has a gradient."""
    attrs = SPECS[name].signature.attrs
    for arg in args:
        type_attr = arg.type_attr or arg.type_list_attr
        allowed = {arg.dtype} if arg.dtype else attrs[type_attr].allowed or _TRAINABLE
        if not _TRAINABLE.isdisjoint(dtypes.as_dtype(t) for t in allowed):
            return True
    return False


def raises_as_in_tensorflow(name):
    """Whether the gradient of an op raises where TensorFlow registers none, and is None where TensorFlow registers that."""
    spec = SPECS[name]
    if name in (*OF_FUNCTIONS, *INTERNAL) or name.startswith(OF_SERVERS) or not all(carries_gradients(name, args) for args in (spec.signature.inputs, spec.signature.outputs)):
        return True
    has_none = isinstance(spec.gradient, op_spec.NotDifferentiable)
    raises = has_none and spec.gradient.raises
    return raises == (name not in REGISTRY) and (has_none or REGISTRY.get(name, True))


def test_raises_where_tensorflow_registers_no_gradient():
    assert [name for name in sorted(SPECS) if not raises_as_in_tensorflow(name)] == []


def test_gradients_are_checked_in_float64():
    assert sorted(set(DIFFERENTIABLE) - checked_types() - set(NOT_CHECKED)) == []


def test_what_is_checked_is_not_on_the_list():
    assert sorted(checked_types() & set(NOT_CHECKED)) == []


def test_list_names_differentiable_ops():
    assert set(NOT_CHECKED) <= set(DIFFERENTIABLE)
