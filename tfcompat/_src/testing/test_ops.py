"""The op types of `tensorflow.python.framework.test_ops`, which TensorFlow keeps for its own tests; importing registers them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, Effects, NotDifferentiable
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.shape_inference import InferenceContext, scalar, unknown, with_rank
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.op_def_library import OpDefLibrary

_NO_GRADIENT = NotDifferentiable("an op type of tests", raises=True)

_WITHOUT_KERNEL = {
    "A": "() -> (out: float32)",
    "B": "() -> (out: float32)",
    "Foo1": "(a: float32, b: int32, c: int32) -> (d: float32, e: int32)",
    "Foo2": "(a: float32, b: string, c: string) -> (d: float32, e: int32)",
    "Foo3": "(a: float32, b: string, c: float32) -> (d: float32, e: int32)",
    "CopyOp": "(a: T, *, T: type) -> (b: T)",
    "None": "() -> ()",
    "IntOutput": "() -> (a: int32)",
    "Int64Output": "() -> (out: int64)",
    "RefOutput": "() -> (a: Ref(int32))",
    "FloatOutput": "() -> (a: float32)",
    "TwoFloatOutputs": "() -> (a: float32, b: float32)",
    "FiveFloatOutputs": "() -> (a: float32, b: float32, c: float32, d: float32, e: float32)",
    "RefOutputFloatOutput": "() -> (a: Ref(float32), b: float32)",
    "RefInputFloatInput": "(a: Ref(float32), b: float32) -> ()",
    "IntInput": "(a: int32) -> ()",
    "IntInputIntOutput": "(a: int32) -> (b: int32)",
    "FloatInput": "(a: float32) -> ()",
    "TwoIntOutputs": "() -> (a: int32, b: int32)",
    "IntOutputFloatOutput": "() -> (a: int32, b: float32)",
    "FloatOutputStringOutput": "() -> (a: float32, b: string)",
    "TwoIntInputs": "(a: int32, b: int32) -> ()",
    "TwoFloatInputs": "(a: float32, b: float32) -> ()",
    "IntInputFloatInput": "(a: int32, b: float32) -> ()",
    "RefInputIntInput": "(a: Ref(int32), b: int32) -> ()",
    "TwoFloatInputsFloatOutput": "(a: float32, b: float32) -> (c: float32)",
    "TwoFloatInputsIntOutput": "(a: float32, b: float32) -> (c: int32)",
    "RefInputFloatInputIntOutput": "(a: Ref(float32), b: float32) -> (c: int32)",
    "ListInput": "(a: N*T, *, N: int >= 1, T: type) -> ()",
    "ListOutput": "(*, T: list(type) >= 1) -> (a: T)",
    "Unary": "(a: T, *, T: type) -> (b: T)",
    "OpWithDefaultAttr": "(*, default_float: float = 123.0) -> (a: int32)",
    "OpWithFutureDefaultAttr": "() -> ()",
    "IntAttr": "(*, foo: int = 1) -> (out: int64)",
    "StringListAttr": "(*, a: list(string), b: string) -> ()",
    "FuncAttr": "(*, f: func) -> ()",
    "FuncListAttr": "(*, f: list(func)) -> ()",
    "Simple": "(a: int32) -> (out: float32)",
    "OutT": "(*, T: type) -> (a: T)",
    "ReservedInput": "(input: int32) -> ()",
    "Polymorphic": "(a: T, *, T: type) -> (out: T)",
    "PolymorphicOut": "(*, T: type) -> (out: T)",
    "PolymorphicDefaultOut": "(*, T: type = string) -> (out: T)",
    "Binary": "(a: T, b: T, *, T: type) -> (out: T)",
    "Restrict": "(a: T, *, T: {string, bool}) -> (out: T)",
    "TypeList": "(a: T, *, T: list(type) >= 0) -> ()",
    "TypeListTwice": "(a: T, b: T, *, T: list(type) >= 0) -> ()",
    "OutTypeList": "(*, T: list(type) >= 0) -> (out: T)",
    "TypeListRestrict": "(a: T, *, T: list({string, bool}) >= 1) -> ()",
    "OutTypeListRestrict": "(*, t: list({string, bool}) >= 1) -> (out: t)",
    "Attr": "(*, a: int) -> ()",
    "AttrFloat": "(*, a: float) -> ()",
    "AttrBool": "(*, a: bool) -> ()",
    "AttrBoolList": "(*, a: list(bool)) -> ()",
    "AttrMin": "(*, a: int >= 5) -> ()",
    "AttrListMin": "(*, a: list(int) >= 2) -> ()",
    "AttrEnum": '(*, a: {"apples", "oranges"}) -> ()',
    "AttrEnumList": '(*, a: list({"apples", "oranges"})) -> ()',
    "AttrShape": "(*, a: shape) -> ()",
    "AttrShapeList": "(*, a: list(shape)) -> ()",
    "AttrPartialShape": "(*, a: shape) -> ()",
    "AttrPartialShapeList": "(*, a: list(shape)) -> ()",
    "AttrDefault": '(*, a: string = "banana") -> ()',
    "AttrListDefault": "(*, a: list(int) = [5, 15]) -> ()",
    "AttrEmptyListDefault": "(*, a: list(float) = []) -> ()",
    "ReservedAttr": "(*, range: int) -> ()",
    "AttrTypeDefault": "(a: T, *, T: type = int32) -> ()",
    "AttrListTypeDefault": "(a: N*T, b: N*T, *, T: type = int32, N: int >= 1) -> ()",
    "NIntsIn": "(a: N*int32, *, N: int >= 2) -> ()",
    "NPolymorphicIn": "(a: N*T, *, T: type, N: int >= 2) -> ()",
    "NPolymorphicRestrictIn": "(a: N*T, *, T: {string, bool}, N: int >= 2) -> ()",
    "NInTwice": "(a: N*int32, b: N*string, *, N: int >= 0) -> ()",
    "NInPolymorphicTwice": "(a: N*T, b: N*T, *, T: type, N: int >= 0) -> ()",
    "NInTwoTypeVariables": "(a: N*S, b: N*T, *, S: type, T: type, N: int >= 0) -> ()",
    "InPolymorphicTwice": "(a: N*T, b: M*T, *, T: type, N: int >= 0, M: int >= 0) -> ()",
    "NIntsOut": "(*, N: int >= 2) -> (a: N*int32)",
    "NIntsOutDefault": "(*, N: int >= 2 = 3) -> (a: N*int32)",
    "NPolymorphicOut": "(*, T: type, N: int >= 2) -> (a: N*T)",
    "NPolymorphicOutDefault": "(*, T: type = bool, N: int >= 2 = 2) -> (a: N*T)",
    "NPolymorphicRestrictOut": "(*, T: {string, bool}, N: int >= 2) -> (a: N*T)",
    "RefIn": "(a: Ref(T), *, T: type) -> ()",
    "TwoRefsIn": "(a: Ref(T), b: Ref(T), *, T: type) -> ()",
    "RefOut": "(*, T: type) -> (a: Ref(T))",
    "SimpleStruct": "(*, n_a: int >= 0) -> (a: n_a*int32)",
    "MixedStruct": "(*, n_a: int >= 0) -> (a: n_a*int32, b: float32)",
    "ComplexStruct": "(*, n_a: int >= 0, n_b: int >= 0, t_c: list(type) >= 0) -> (a: n_a*int32, b: n_b*int64, c: t_c)",
    "TestStringOutput": "(input: float32) -> (output1: float32, output2: string)",
    "RequiresOlderGraphVersion": "() -> (version: int32)",
}
"""Op types that a graph can hold but no session can run, with their signatures."""


def _refuses_to_run(op_type: str) -> Callable:
    def kernel(context: HostContext, *inputs: Any) -> Any:
        raise errors.InvalidArgumentError(
            None, None, f"No OpKernel was registered to support Op '{op_type}' used by {{{{node {context.op.name}}}}}"
        )

    return kernel


def _older_version_only(c: InferenceContext) -> list:
    if get_default_graph().graph_def_versions.producer != 133:
        raise ValueError("Wrong graph version for shape")
    return [()]


def _not_after_version_8(c: InferenceContext) -> list:
    version = get_default_graph().graph_def_versions.producer
    if version >= 8:
        raise NotImplementedError(
            f"Op Old is not available in GraphDef version {version}. It has been removed in version 8. For reasons."
        )
    return []


def _label(context: HostContext, *inputs: object) -> np.ndarray:
    label = context.op.attrs.get("_kernel", b"")
    if not label and context.op.type == "KernelLabelRequired":
        raise errors.InvalidArgumentError(
            None, None, "No OpKernel was registered to support Op 'KernelLabelRequired' without a label"
        )
    return np.array(b"My label is: " + (label or b"default"), object)


def _one_vector(c: InferenceContext) -> list:
    with_rank(c.inputs[0], 1)
    return [()]


def _key(context: HostContext) -> str:
    source = context.op.inputs[0].op
    return f"StubResource/{source.attrs['container'].decode()}/{source.attrs['shared_name'].decode() or source.name}"


def _create(context: HostContext, resource: object) -> None:
    key = _key(context)
    if key in context.run.resources:
        raise errors.AlreadyExistsError(None, None, f"Resource {key} already exists")
    context.run.resources[key] = object()


def _use(context: HostContext, resource: object) -> None:
    if _key(context) not in context.run.resources:
        raise errors.NotFoundError(None, None, f"Resource {_key(context)} does not exist.")


def _register(name: str, text: str, kernel: Callable, shape: Callable = unknown, effects: Effects = EXTERNAL) -> None:
    op_spec.op(
        name, text, shape=shape, gradient=_NO_GRADIENT, kernel=kernel, side=HOST, context=True, effects=effects, depth=2
    )


for _name, _text in _WITHOUT_KERNEL.items():
    _shape = _older_version_only if _name == "RequiresOlderGraphVersion" else unknown
    _register(_name, _text, _refuses_to_run(_name), _shape, op_spec.PURE)
_register("KernelLabel", "() -> (result: string)", _label, scalar)
_register("KernelLabelRequired", "(input: int32) -> (result: string)", _label, _one_vector)
_register(
    "GraphDefVersion", "() -> (version: int32)",
    lambda context: np.int32(context.op.graph.graph_def_versions.producer), scalar,
)  # fmt: skip
_register("Old", "() -> ()", lambda context: None, _not_after_version_8)
_register(
    "StubResourceHandleOp", '(*, container: string = "", shared_name: string = "") -> (resource: resource)',
    lambda context: np.array(context.op.name, object), scalar,
)  # fmt: skip
_register(
    "ResourceInitializedOp", "(resource: resource) -> (initialized: bool)",
    lambda context, resource: np.bool_(_key(context) in context.run.resources), scalar,
)  # fmt: skip
_register("ResourceCreateOp", "(resource: resource) -> ()", _create)
_register("ResourceUsingOp", "(resource: resource) -> ()", _use)
_register("TestAttr", "(*, T: {float32, float64}) -> (out: T)", lambda context: np.float32(1))
_register(
    "DevicePlacementOp", "() -> (device: string)", lambda context: np.array(context.op.device.encode(), object), scalar
)


def _snake(name: str) -> str:
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"([A-Z])([A-Z][a-z])", r"\1_\2", words).lower()


_op_def_lib = OpDefLibrary()
_OWN = [name for name in op_spec.registered_names() if op_spec.get(name).where.startswith(__file__)]
globals().update({_snake(name): raw.function(name) for name in _OWN})
