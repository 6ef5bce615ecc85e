"""Malformed inputs made by hand, each with the name of what is wrong; files of the kinds that readers.READERS reads. For Python 3.7 too.

GraphDefs are written in protobuf's text form, and `readers.graph_text` imports and runs them.
"""

import struct
import zlib

from generated import mutations

F, I, S, B, R = "type: DT_FLOAT", "type: DT_INT32", "type: DT_STRING", "type: DT_BOOL", "type: DT_RESOURCE"  # noqa: E741
INT_MAX = 2**31 - 1

GRAPHS = {}
"""GraphDefs in text form, by name."""
FILES = {}
"""(kind, {file: bytes}) by name."""


def escaped(text):
    """A string of the text form."""
    data = text if isinstance(text, bytes) else text.encode()
    return '"' + "".join("\\%03o" % b for b in bytearray(data)) + '"'


def node(name, op, *inputs, **attrs):
    """The text of a node; attributes are texts of AttrValues."""
    parts = ["name: " + escaped(name), "op: " + escaped(op)] + ["input: " + escaped(i) for i in inputs]
    parts += ['attr { key: "%s" value { %s } }' % (key, value) for key, value in sorted(attrs.items())]
    return "node { " + " ".join(parts) + " }\n"


def tensor(dtype="DT_FLOAT", values="", shape=()):
    """The text of an AttrValue that is a tensor."""
    dims = " ".join("dim { size: %d }" % n for n in shape)
    return "tensor { dtype: %s tensor_shape { %s } %s }" % (dtype, dims, values)


def const(name, values="float_val: 1.0", dtype="DT_FLOAT", shape=(), stated=None):
    return node(name, "Const", dtype="type: " + (stated or dtype), value=tensor(dtype, values, shape))


def ints(name, *values):
    return const(name, " ".join("int_val: %d" % v for v in values), "DT_INT32", (len(values),))


def unary(name, source, op="Neg", T=F):
    return node(name, op, source, T=T)


X = const("x")
PREDICATE = const("p", "bool_val: true", "DT_BOOL")


def graph(name, *parts):
    assert name not in GRAPHS, name
    library = "".join(p for p in parts if p.startswith(("function {", "gradient {")))
    GRAPHS[name] = "".join(p for p in parts if not p.startswith(("function {", "gradient {"))) + ("library { %s }\n" % library if library else "")


def file(name, kind, data, path):
    assert name not in FILES, name
    FILES[name] = (kind, data if isinstance(data, dict) else {path: data})


# ---- names and inputs ----

_NAMES = {
    "space": "a b", "nul": "a\0b", "nothing": "", "leading_underscore": "_a", "colon": "a:0", "caret": "^a", "slash_first": "/a",
    "slash_last": "a/", "dot_first": ".a", "dash_first": "-a", "backslash": "a\\b", "greater": "a>b", "not_ascii": "\xe9", "newline": "a\n",
    "long": "a" * 100000, "digit_first": "0a", "two_slashes": "a//b",
}  # fmt: skip
for _key, _name in _NAMES.items():
    graph("name_" + _key, const(_name))
graph("name_twice", X, const("x"))
graph("name_twice_but_for_case", X, unary("X", "x"))

_INPUTS = {
    "three_parts": "x:0:0", "control_with_index": "^x:0", "negative": "x:-1", "beyond": "x:1", "far_beyond": "x:99999999999999999999",
    "index_of_letters": "x:y", "nothing": "", "caret_alone": "^", "two_carets": "^^x", "unknown": "y", "unknown_control": "^y",
    "space": "x ", "colon_last": "x:", "colon_first": ":0", "leading_zero": "x:00", "plus": "x:+0", "int_max": "x:2147483647",
    "int_max_1": "x:2147483648", "itself": "b", "control_of_itself": "^b", "underscore": "_x",
}  # fmt: skip
for _key, _source in _INPUTS.items():
    graph("input_" + _key, X, unary("b", _source))
graph("control_before_data", X, node("b", "Neg", "^x", "x", T=F))
graph("control_between_data", X, node("b", "Add", "x", "^x", "x", T=F))
graph("control_twice", X, node("b", "Neg", "x", "^x", "^x", T=F))
graph("too_many_inputs", X, node("b", "Neg", "x", "x", T=F))
graph("too_few_inputs", X, node("b", "Neg", T=F))
graph("inputs_of_a_node_without", X, node("b", "NoOp", "x"))
graph("input_of_another_dtype", X, unary("b", "x", T=I))
graph("input_that_is_no_ref", X, node("b", "Assign", "x", "x", T=F))
graph("no_op_type", X, node("b", "", "x"))
graph("unknown_op", X, node("b", "NoSuchOp", "x"))
graph("arg_in_a_graph", X, node("b", "_Arg", T=F, index="i: 0"), unary("c", "b"))
graph("retval_in_a_graph", X, node("b", "_Retval", "x", T=F, index="i: 0"))
graph("send_without_device", X, node("b", "_Send", "x", T=F, tensor_name='s: "t"', send_device='s: ""', send_device_incarnation="i: 0", recv_device='s: ""'))
graph("fed_name", X, 'node { name: "b" op: "Neg" input: "x" device: "not a device" attr { key: "T" value { type: DT_FLOAT } } }')
graph("device_of_nothing", X, 'node { name: "b" op: "Neg" input: "x" device: "/job:nowhere/task:99" attr { key: "T" value { type: DT_FLOAT } } }')
graph("colocated_with_nothing", X, node("b", "Neg", "x", T=F, _class='list { s: "loc:@nothing" }'))
graph("colocated_with_itself", X, node("b", "Neg", "x", T=F, _class='list { s: "loc:@b" }'))
graph("class_that_is_no_list", X, node("b", "Neg", "x", T=F, _class='s: "loc:@x"'))
graph("class_of_numbers", X, node("b", "Neg", "x", T=F, _class="list { i: 1 }"))

# ---- attributes ----

_ATTRS = {
    "missing": {}, "unknown": {"T": F, "what": "i: 1"}, "unknown_private": {"T": F, "_what": "i: 1"}, "empty": {"T": ""},
    "int_for_type": {"T": "i: 1"}, "string_for_type": {"T": 's: "DT_FLOAT"'}, "list_for_type": {"T": "list { type: DT_FLOAT }"},
    "invalid_type": {"T": "type: DT_INVALID"}, "type_out_of_range": {"T": "type: 99"}, "ref_type": {"T": "type: DT_FLOAT_REF"},
    "type_not_allowed": {"T": S}, "placeholder": {"T": 'placeholder: "T"'}, "function_for_type": {"T": 'func { name: "f" }'},
    "shape_for_type": {"T": "shape { }"}, "negative_type": {"T": "type: -1"},
}  # fmt: skip
for _key, _attrs in _ATTRS.items():
    graph("attr_" + _key, X, node("b", "Neg", "x", **_attrs))

_KINDS = {"i": "i: 1", "f": "f: 1", "s": 's: "x"', "b": "b: true", "type": F, "list": "list { i: 1 }", "shape": "shape { }", "func": 'func { name: "f" }'}
for _key, _value in _KINDS.items():
    graph("axis_is_" + _key, X, X.replace(escaped("x"), escaped("y")), node("b", "Pack", "x", "y", T=F, N="i: 2", axis=_value))
    graph("strides_are_" + _key, const("im", shape=(1, 4, 4, 1)), node("b", "MaxPool", "im", T=F, ksize=_value, strides="list { i: [1, 1, 1, 1] }", padding='s: "VALID"'))
    graph("shape_is_" + _key, node("b", "Placeholder", dtype=F, shape=_value))
    graph("keep_dims_is_" + _key, X, ints("axes"), node("b", "Sum", "x", "axes", T=F, Tidx=I, keep_dims=_value))
    graph("value_is_" + _key, node("b", "Const", dtype=F, value=_value))
    graph("output_shapes_are_" + _key, X, node("b", "Neg", "x", T=F, _output_shapes=_value))
    graph("dtypes_are_" + _key, X, node("b", "IdentityN", "x", T=_value))
    graph("padding_is_" + _key, const("im", shape=(1, 4, 4, 1)), node("b", "MaxPool", "im", T=F, ksize="list { i: [1, 1, 1, 1] }", strides="list { i: [1, 1, 1, 1] }", padding=_value))

for _key, _n in (("zero", 0), ("negative", -1), ("int_max", INT_MAX), ("beyond_int", 2**31), ("int64_max", 2**63 - 1), ("int64_min", -(2**63)), ("one_more", 3)):
    graph("n_" + _key, X, node("b", "AddN", "x", "x", T=F, N="i: %d" % _n))
    graph("pack_n_" + _key, X, node("b", "Pack", "x", "x", T=F, N="i: %d" % _n))
    graph("split_" + _key, const("v", shape=(4,)), const("axis", "int_val: 0", "DT_INT32"), node("b", "Split", "axis", "v", T=F, num_split="i: %d" % _n))
    graph("unpack_" + _key, const("v", shape=(4,)), node("b", "Unpack", "v", T=F, num="i: %d" % _n))
    graph("axis_" + _key, X, node("b", "Pack", "x", "x", T=F, N="i: 2", axis="i: %d" % _n))
    graph("window_" + _key, const("im", shape=(1, 4, 4, 1)), node("b", "MaxPool", "im", T=F, ksize="list { i: [1, %d, 1, 1] }" % _n, strides="list { i: [1, 1, 1, 1] }", padding='s: "VALID"'))
    graph("stride_" + _key, const("im", shape=(1, 4, 4, 1)), node("b", "MaxPool", "im", T=F, ksize="list { i: [1, 1, 1, 1] }", strides="list { i: [1, %d, 1, 1] }" % _n, padding='s: "VALID"'))
    graph("dilation_" + _key, const("im", shape=(1, 4, 4, 1)), const("k", shape=(1, 1, 1, 1)), node("b", "Conv2D", "im", "k", T=F, strides="list { i: [1, 1, 1, 1] }", padding='s: "VALID"', dilations="list { i: [1, %d, 1, 1] }" % _n))
    graph("block_" + _key, const("im", shape=(1, 4, 4, 4)), node("b", "DepthToSpace", "im", T=F, block_size="i: %d" % _n))
    if _n < 8 and _n > -2:
        graph("out_type_rank_" + _key, node("b", "Placeholder", dtype=F, shape="shape { dim { size: %d } }" % _n))
graph("type_list_too_long", X, node("b", "IdentityN", "x", T="list { type: [DT_FLOAT, DT_FLOAT] }"))
graph("type_list_too_short", X, node("b", "IdentityN", "x", "x", T="list { type: DT_FLOAT }"))
graph("type_list_empty", X, node("b", "IdentityN", T="list { }"))
graph("type_list_with_invalid", X, node("b", "IdentityN", "x", T="list { type: DT_INVALID }"))
graph("type_list_with_99", X, node("b", "IdentityN", "x", T="list { type: 99 }"))
graph("type_list_differs", X, node("b", "IdentityN", "x", T="list { type: DT_INT32 }"))
graph("list_of_two_kinds", X, node("b", "IdentityN", "x", T="list { type: DT_FLOAT i: 1 }"))
graph("padding_unknown", const("im", shape=(1, 4, 4, 1)), node("b", "MaxPool", "im", T=F, ksize="list { i: [1, 1, 1, 1] }", strides="list { i: [1, 1, 1, 1] }", padding='s: "WHAT"'))
graph("ksize_of_three", const("im", shape=(1, 4, 4, 1)), node("b", "MaxPool", "im", T=F, ksize="list { i: [1, 1, 1] }", strides="list { i: [1, 1, 1, 1] }", padding='s: "VALID"'))
graph("output_shapes_differ", X, node("b", "Neg", "x", T=F, _output_shapes="list { shape { dim { size: 3 } } }"))
graph("output_shapes_too_many", X, node("b", "Neg", "x", T=F, _output_shapes="list { shape { } shape { } }"))
graph("output_shapes_negative", X, node("b", "Neg", "x", T=F, _output_shapes="list { shape { dim { size: -7 } } }"))


def nested(depth):
    """An attribute of functions in functions."""
    return 'func { name: "f" attr { key: "g" value { ' * depth + "i: 1" + " } } }" * depth


for _depth in (5, 20):
    graph("attr_nested_%d" % _depth, X, node("b", "Neg", "x", T=F, _g=nested(_depth)))

# ---- tensors ----

_TENSORS = {
    "dtype_differs": const("b", "int_val: 1", "DT_INT32", stated="DT_FLOAT"), "no_values": const("b", ""), "no_values_of_two": const("b", "", shape=(2,)),
    "too_few": const("b", "float_val: 1 float_val: 2", shape=(5,)), "too_many": const("b", "float_val: [1, 2, 3]", shape=(2,)),
    "content_too_short": const("b", 'tensor_content: "abc"', shape=(2,)), "content_too_long": const("b", 'tensor_content: "abcdefghijkl"', shape=(2,)),
    "content_and_values": const("b", 'tensor_content: "abcdefgh" float_val: 1', shape=(2,)), "values_of_another_field": const("b", "int_val: 1"),
    "negative_size": const("b", shape=(-1,)), "size_minus_2": const("b", shape=(-2,)), "overflow": const("b", shape=(2**40, 2**40)),
    "huge": const("b", "", shape=(2**45,)), "huge_of_one": const("b", shape=(2**45,)), "huge_strings": const("b", 'string_val: "x"', "DT_STRING", (2**45,)),
    "zero_times_huge": const("b", shape=(0, 2**62)), "zero_times_overflow": const("b", shape=(2**40, 2**40, 0)),
    "unknown_rank": node("b", "Const", dtype=F, value="tensor { dtype: DT_FLOAT tensor_shape { unknown_rank: true } float_val: 1 }"),
    "rank_255": const("b", shape=(1,) * 255), "rank_254": const("b", shape=(1,) * 254), "rank_33": const("b", shape=(1,) * 33), "rank_65": const("b", shape=(1,) * 65),
    "strings_too_few": const("b", 'string_val: "a"', "DT_STRING", (3,)), "strings_none": const("b", "", "DT_STRING", (3,)),
    "strings_too_many": const("b", 'string_val: "a" string_val: "b"', "DT_STRING", (1,)), "string_content": const("b", 'tensor_content: "\\001a"', "DT_STRING", (1,)),
    "string_content_bad": const("b", 'tensor_content: "\\377"', "DT_STRING", (1,)), "half_too_many": const("b", "half_val: [1, 2]", "DT_HALF", (1,)),
    "half_too_large": const("b", "half_val: 100000", "DT_HALF"), "half_in_int_val": const("b", "int_val: 1", "DT_HALF"), "bfloat16_in_half": const("b", "half_val: 16256", "DT_BFLOAT16"),
    "bool_content": const("b", 'tensor_content: "\\002"', "DT_BOOL", (1,)), "uint8_negative": const("b", "int_val: -1", "DT_UINT8"), "int8_too_large": const("b", "int_val: 300", "DT_INT8"),
    "complex_odd": const("b", "scomplex_val: [1, 2, 3]", "DT_COMPLEX64", (2,)), "complex_half": const("b", "scomplex_val: 1", "DT_COMPLEX64"),
    "invalid_dtype": node("b", "Const", dtype="type: DT_INVALID", value=tensor("DT_INVALID")), "dtype_99": node("b", "Const", dtype="type: 99", value=tensor("99")),
    "ref_dtype": node("b", "Const", dtype="type: DT_FLOAT_REF", value=tensor("DT_FLOAT_REF")), "resource": node("b", "Const", dtype=R, value=tensor("DT_RESOURCE")),
    "variant_none": node("b", "Const", dtype="type: DT_VARIANT", value=tensor("DT_VARIANT")), "no_value": node("b", "Const", dtype=F), "no_dtype": node("b", "Const", value=tensor()),
    "quantized": const("b", "int_val: 1", "DT_QUINT8"), "uint32_in_int": const("b", "int_val: 1", "DT_UINT32"), "no_shape_many": node("b", "Const", dtype=F, value="tensor { dtype: DT_FLOAT float_val: [1, 2] }"),
}  # fmt: skip
for _key, _text in _TENSORS.items():
    graph("tensor_" + _key, _text)

# ---- sizes that overflow ----

BIG = const("big", "int_val: %d" % INT_MAX, "DT_INT32")
for _key, _sizes in {"overflow": (INT_MAX, INT_MAX, INT_MAX), "negative": (-1,), "huge": (INT_MAX, 4096), "minus_two": (-2, 3)}.items():
    graph("fill_" + _key, ints("s", *_sizes), X, node("b", "Fill", "s", "x", T=F, index_type=I))
    graph("reshape_" + _key, ints("s", *_sizes), X, node("b", "Reshape", "x", "s", T=F, Tshape=I))
    graph("broadcast_" + _key, ints("s", *_sizes), X, node("b", "BroadcastTo", "x", "s", T=F, Tidx=I))
    graph("random_" + _key, ints("s", *_sizes), node("b", "RandomUniform", "s", T=I, dtype=F))
    graph("tile_" + _key, ints("s", *_sizes), const("v", shape=(1,) * len(_sizes)), node("b", "Tile", "v", "s", T=F, Tmultiples=I))
    graph("scatter_" + _key, ints("s", *_sizes), const("i", "int_val: 0", "DT_INT32", (1, len(_sizes))), const("v", shape=(1,)), node("b", "ScatterNd", "i", "v", "s", T=F, Tindices=I))
    graph("slice_" + _key, ints("begin", *[INT_MAX] * len(_sizes)), ints("s", *_sizes), const("v", shape=(2,) * len(_sizes)), node("b", "Slice", "v", "begin", "s", T=F, Index=I))
    graph("image_" + _key, ints("s", *(_sizes * 2)[:2]), const("im", shape=(1, 2, 2, 1)), node("b", "ResizeBilinear", "im", "s", T=F))
    graph("unsorted_" + _key, const("v", shape=(1,)), ints("i", 0), const("n", "int_val: %d" % _sizes[0], "DT_INT32"), node("b", "UnsortedSegmentSum", "v", "i", "n", T=F, Tindices=I, Tnumsegments=I))
    graph("one_hot_" + _key, ints("i", 0, 1, 2), const("n", "int_val: %d" % _sizes[0], "DT_INT32"), X, node("b", "OneHot", "i", "n", "x", "x", T=F, TI=I))
for _key, _stride in {"int_max": INT_MAX, "int_min": -(2**31), "zero": 0}.items():
    graph("strided_slice_" + _key, const("v", shape=(4,)), ints("begin", -(2**31)), ints("end", INT_MAX), ints("s", _stride), node("b", "StridedSlice", "v", "begin", "end", "s", T=F, Index=I))
graph("range_overflow", const("lo", "int_val: %d" % -(2**31), "DT_INT32"), BIG, const("d", "int_val: 1", "DT_INT32"), node("b", "Range", "lo", "big", "d", Tidx=I))
graph("range_int64", const("lo", "int64_val: 0", "DT_INT64"), const("hi", "int64_val: %d" % (2**63 - 1), "DT_INT64"), const("d", "int64_val: 1", "DT_INT64"), node("b", "Range", "lo", "hi", "d", Tidx="type: DT_INT64"))
graph("linspace_int_max", X, BIG, node("b", "LinSpace", "x", "x", "big", T=F, Tidx=I))
graph("pad_int_max", const("v", shape=(2,)), const("w", "int_val: %d" % INT_MAX, "DT_INT32", (1, 2)), node("b", "Pad", "v", "w", T=F, Tpaddings=I))
graph("pad_negative", const("v", shape=(2,)), const("w", "int_val: -1", "DT_INT32", (1, 2)), node("b", "Pad", "v", "w", T=F, Tpaddings=I))
graph("eye_int_max", const("v", shape=(1,)), BIG, node("b", "MatrixDiagV3", "v", "big", "big", "big", "x", T=F), X)
graph("diag_huge", const("v", shape=(2**20,)), node("b", "Diag", "v", T=F))
graph("batch_to_space_int_max", const("im", shape=(4, 1, 1, 1)), const("c", "int_val: 0", "DT_INT32", (2, 2)), node("b", "BatchToSpace", "im", "c", T=F, Tidx=I, block_size="i: %d" % INT_MAX))
graph("array_int_max", BIG, node("a", "TensorArrayV3", "big", dtype=F))
graph("array_negative", const("n", "int_val: -1", "DT_INT32"), node("a", "TensorArrayV3", "n", dtype=F))
graph("list_int_max", BIG, ints("s"), node("b", "TensorListReserve", "s", "big", element_dtype=F, shape_type=I))

# ---- control flow ----


def enter(name, source, frame="f", **more):
    return node(name, "Enter", source, T=F, frame_name='s: "%s"' % frame, **more)


def loop(cond_input="m", next_input="sw:1", enter_frame="f", next_node=True, exit_node=True):
    """A loop over a float, with parts left out."""
    parts = [X, enter("e", "x", enter_frame), node("m", "Merge", "e", "n" if next_node else "e", T=F, N="i: 2")]
    parts += [const("ten", "float_val: 10.0"), enter("e10", "ten", "f", is_constant="b: true"), node("less", "Less", cond_input, "e10", T=F), node("c", "LoopCond", "less")]
    parts += [node("sw", "Switch", "m", "c", T=F), node("d", "AddV2", next_input, next_input, T=F)]
    parts += [node("n", "NextIteration", "d", T=F)] if next_node else []
    return "".join(parts + ([node("ex", "Exit", "sw", T=F)] if exit_node else []))


graph("loop_whole", loop())
graph("loop_without_exit", loop(exit_node=False))
graph("loop_frames_differ", loop(enter_frame="g"))
graph("loop_without_next_iteration", loop(next_node=False))
graph("loop_next_from_exit_side", loop(next_input="sw:0"))
graph("loop_next_from_merge", loop(next_input="m"))
graph("loop_condition_from_outside", loop(cond_input="x"))
graph("enter_alone", X, enter("e", "x"))
graph("enter_without_frame_name", X, enter("e", "x", ""))
graph("enter_fetched_by_outside", X, enter("e", "x"), node("b", "AddV2", "e", "x", T=F))
graph("enter_exit", X, enter("e", "x"), node("ex", "Exit", "e", T=F))
graph("exit_alone", X, node("ex", "Exit", "x", T=F))
graph("exit_of_exit", X, enter("e", "x"), node("ex", "Exit", "e", T=F), node("ex2", "Exit", "ex", T=F))
graph("next_iteration_alone", X, node("n", "NextIteration", "x", T=F))
graph("next_iteration_of_itself", node("n", "NextIteration", "n", T=F))
graph("next_iterations_of_each_other", node("n", "NextIteration", "k", T=F), node("k", "NextIteration", "n", T=F))
graph("next_iteration_without_merge", X, enter("e", "x"), node("d", "AddV2", "e", "n", T=F), node("n", "NextIteration", "d", T=F))
graph("loop_cond_alone", PREDICATE, node("c", "LoopCond", "p"))
graph("loop_forever_cond_missing", X, enter("e", "x"), node("m", "Merge", "e", "n", T=F, N="i: 2"), node("n", "NextIteration", "m", T=F), node("ex", "Exit", "m", T=F))
graph("two_frames_meet", X, enter("e", "x", "f"), enter("g", "x", "g"), node("b", "AddV2", "e", "g", T=F))
graph("merge_of_one", X, node("m", "Merge", "x", T=F, N="i: 1"))
graph("merge_of_none", X, node("m", "Merge", T=F, N="i: 0"))
graph("merge_of_two_alive", X, node("m", "Merge", "x", "x", T=F, N="i: 2"))
graph("merge_of_itself", X, node("m", "Merge", "x", "m", T=F, N="i: 2"))
graph("merge_first_closes", X, enter("e", "x"), node("m", "Merge", "n", "e", T=F, N="i: 2"), node("n", "NextIteration", "m", T=F))
graph("merge_only_next", X, node("m", "Merge", "n", "n", T=F, N="i: 2"), node("n", "NextIteration", "m", T=F))
graph("merge_beyond", X, node("m", "Merge", "x", "n:1", T=F, N="i: 2"), node("n", "NextIteration", "m", T=F))
graph("switch_of_nothing", PREDICATE, node("sw", "Switch", T=F))
graph("switch_without_predicate", X, node("sw", "Switch", "x", T=F))
graph("switch_predicate_of_floats", X, node("sw", "Switch", "x", "x", T=F))
graph("switch_predicate_vector", X, const("q", "bool_val: true", "DT_BOOL", (2,)), node("sw", "Switch", "x", "q", T=F), unary("a", "sw:1"))
graph("switch_without_merge", X, PREDICATE, node("sw", "Switch", "x", "p", T=F), unary("a", "sw"), unary("b", "sw:1"))
graph("switch_both_sides_meet", X, PREDICATE, node("sw", "Switch", "x", "p", T=F), node("b", "AddV2", "sw", "sw:1", T=F))
graph("cycle_of_two", unary("a", "b"), unary("b", "a"))
graph("cycle_of_one", unary("a", "a"))
graph("cycle_of_control", X, node("a", "Neg", "x", "^b", T=F), unary("b", "a"))
graph("cycle_through_merge", X, node("m", "Merge", "x", "b", T=F, N="i: 2"), unary("b", "m"))
graph("control_from_loop", loop(), node("b", "Neg", "x", "^n", T=F))
graph("data_from_loop", loop(), node("b", "Neg", "d", T=F))
graph("parallel_iterations_zero", X, enter("e", "x", parallel_iterations="i: 0"), node("ex", "Exit", "e", T=F))
graph("parallel_iterations_negative", X, enter("e", "x", parallel_iterations="i: -1"), node("ex", "Exit", "e", T=F))
graph("constant_enter_changes", X, enter("e", "x", is_constant="b: true"), node("m", "Merge", "e", "n", T=F, N="i: 2"), node("n", "NextIteration", "m", T=F), node("ex", "Exit", "m", T=F))

# ---- functions ----


def function(name, body, ret="y", inputs=("x",), outputs=("y",), more=""):
    """A function of floats, as an entry of the library."""
    args = " ".join('%s { name: "%s" type: DT_FLOAT }' % (kind, a) for kind, names in (("input_arg", inputs), ("output_arg", outputs)) for a in names)
    return 'function { signature { name: "%s" %s } %s ret { key: "y" value: "%s" } %s }\n' % (name, args, body.replace("node {", "node_def {"), ret, more)


def calls(op="f", *inputs, **attrs):
    return node("b", op, *(inputs or ("x",)), **attrs)


graph("function_of_itself", X, function("f", calls(), "b:y:0"), calls())
graph("functions_of_each_other", X, function("f", calls("g"), "b:y:0"), function("g", calls("f"), "b:y:0"), calls())
graph("function_unknown_inside", X, function("f", calls("NoSuch"), "b:y:0"), calls())
graph("function_ret_unknown", X, function("f", unary("b", "x"), "c:y:0"), calls())
graph("function_ret_beyond", X, function("f", unary("b", "x"), "b:y:3"), calls())
graph("function_ret_name_unknown", X, function("f", unary("b", "x"), "b:z:0"), calls())
graph("function_ret_missing", X, function("f", unary("b", "x"), "b:y:0").replace('key: "y"', 'key: "z"'), calls())
graph("function_ret_is_argument", X, function("f", "", "x"), calls())
graph("function_input_unknown", X, function("f", unary("b", "q"), "b:y:0"), calls())
graph("function_input_two_parts", X, function("f", unary("a", "x") + unary("b", "a:y"), "b:y:0"), calls())
graph("function_input_beyond", X, function("f", unary("a", "x") + unary("b", "a:y:5"), "b:y:0"), calls())
graph("function_argument_twice", X, function("f", unary("b", "x"), "b:y:0", inputs=("x", "x")), calls("f", "x", "x"))
graph("function_twice_same", X, function("f", unary("b", "x"), "b:y:0"), function("f", unary("b", "x"), "b:y:0"), calls())
graph("function_twice_differs", X, function("f", unary("b", "x"), "b:y:0"), function("f", unary("b", "x", "Abs"), "b:y:0"), calls())
graph("function_named_as_an_op", X, function("Neg", unary("b", "x", "Abs"), "b:y:0"), unary("b", "x"))
graph("function_without_name", X, function("", unary("b", "x"), "b:y:0"))
graph("function_called_with_two", X, function("f", unary("b", "x"), "b:y:0"), calls("f", "x", "x"))
graph("function_called_with_none", X, function("f", unary("b", "x"), "b:y:0"), node("b", "f"))
graph("function_called_with_ints", const("i", "int_val: 1", "DT_INT32"), function("f", unary("b", "x"), "b:y:0"), calls("f", "i"))
graph("function_cycle", X, function("f", unary("a", "b:y:0") + unary("b", "a:y:0"), "b:y:0"), calls())
graph("function_node_twice", X, function("f", unary("b", "x") + unary("b", "x"), "b:y:0"), calls())
graph("function_unused_bad", X, function("f", calls("NoSuch"), "b:y:0"))
graph("function_attr_missing", X, function("f", node("b", "Neg", "x"), "b:y:0"), calls())
graph("gradient_of_nothing", X, 'gradient { function_name: "f" gradient_func: "g" }')
graph("gradient_function_of_nothing", X, function("f", unary("b", "x"), "b:y:0"), 'gradient { function_name: "f" gradient_func: "g" }', calls())
graph("gradient_given_twice", X, function("f", unary("b", "x"), "b:y:0"), 'gradient { function_name: "f" gradient_func: "f" } gradient { function_name: "f" gradient_func: "g" }', calls())
graph("call_of_nothing", X, node("b", "PartitionedCall", "x", Tin="list { type: DT_FLOAT }", Tout="list { type: DT_FLOAT }", f='func { name: "f" }'))
graph("call_without_name", X, node("b", "PartitionedCall", "x", Tin="list { type: DT_FLOAT }", Tout="list { type: DT_FLOAT }", f="func { }"))
graph("call_with_other_types", X, function("f", unary("b", "x"), "b:y:0"), node("b", "PartitionedCall", "x", Tin="list { type: DT_FLOAT }", Tout="list { type: DT_INT32 }", f='func { name: "f" }'))
graph("call_with_more_outputs", X, function("f", unary("b", "x"), "b:y:0"), node("b", "PartitionedCall", "x", Tin="list { type: DT_FLOAT }", Tout="list { type: [DT_FLOAT, DT_FLOAT] }", f='func { name: "f" }'))
graph("call_of_itself", X, function("f", node("b", "PartitionedCall", "x", Tin="list { type: DT_FLOAT }", Tout="list { type: DT_FLOAT }", f='func { name: "f" }'), "b:output:0"), calls())
graph("if_of_nothing", X, PREDICATE, node("b", "If", "p", "x", Tcond=B, Tin="list { type: DT_FLOAT }", Tout="list { type: DT_FLOAT }", then_branch='func { name: "f" }', else_branch='func { name: "f" }'))
graph("while_of_nothing", X, node("b", "While", "x", T="list { type: DT_FLOAT }", cond='func { name: "f" }', body='func { name: "f" }'))
graph("symbolic_gradient_of_nothing", X, node("b", "SymbolicGradient", "x", "x", Tin="list { type: [DT_FLOAT, DT_FLOAT] }", Tout="list { type: DT_FLOAT }", f='func { name: "f" }'))
graph("map_of_nothing", X, node("v", "TensorDataset", "x", Toutput_types="list { type: DT_FLOAT }", output_shapes="list { shape { } }"), node("b", "MapDataset", "v", f='func { name: "f" }', Targuments="list { }", output_types="list { type: DT_FLOAT }", output_shapes="list { shape { } }"))

# ---- versions ----
graph("producer_too_old", X, "versions { producer: -1 }")
graph("producer_later", X, "versions { producer: 99999 }")
graph("consumer_too_new", X, "versions { producer: 134 min_consumer: 99999 }")
graph("consumer_negative", X, "versions { producer: 134 min_consumer: -1 }")
graph("consumer_bad", X, "versions { producer: 134 bad_consumers: 134 }")
graph("producer_below_consumer", X, "versions { producer: 1 min_consumer: 12 }")

# ---- checkpoints ----


def fields(*pairs):
    """A message of (number, value): ints are varints, bytes are themselves, ("crc", n) is fixed32."""
    found = []
    for number, value in pairs:
        if isinstance(value, tuple):
            found.append([number, mutations.FIXED32, struct.pack("<I", value[1])])
        elif isinstance(value, bytes):
            found.append([number, mutations.BYTES, value])
        else:
            found.append([number, mutations.VARINT, value & (2**64 - 1)])
    return mutations.serialize(found)


def shape_message(*sizes):
    return b"".join(fields((2, fields((1, n)))) for n in sizes)


DATA = struct.pack("<3f", 1.0, 2.0, 3.0)
DATA_CRC = struct.unpack("<I", mutations.masked_crc(DATA))[0]
HEADER = fields((1, 1), (3, fields((1, 1))))


def bundle(header=HEADER, data=DATA, entries=None, key=b"w", **changed):
    """The files of a checkpoint of one tensor of three floats, with other values for fields of its entry."""
    entry = dict(dtype=1, shape=shape_message(3), shard=0, offset=0, size=12, crc=("crc", DATA_CRC))
    entry.update(changed)
    numbers = {"dtype": 1, "shape": 2, "shard": 3, "offset": 4, "size": 5, "crc": 6, "slices": 7}
    message = fields(*[(numbers[k], v) for k, v in sorted(entry.items()) if v is not None])
    table = mutations.table(entries or [(b"", header), (key, message)])
    return {"m.index": table, "m.data-00000-of-00001": data}


def extent(start, length):
    return fields((1, fields((1, start), (2, length))))


_BUNDLES = {
    "whole": bundle(), "no_dtype": bundle(dtype=None), "dtype_99": bundle(dtype=99), "dtype_int32": bundle(dtype=3), "dtype_double": bundle(dtype=2),
    "dtype_string": bundle(dtype=7), "dtype_variant": bundle(dtype=21), "dtype_resource": bundle(dtype=20), "dtype_ref": bundle(dtype=101), "dtype_negative": bundle(dtype=-1),
    "shape_negative": bundle(shape=shape_message(-1)), "shape_minus_2": bundle(shape=shape_message(-2)), "shape_huge": bundle(shape=shape_message(2**45)),
    "shape_overflow": bundle(shape=shape_message(2**40, 2**40)), "shape_other": bundle(shape=shape_message(4)), "shape_none": bundle(shape=None),
    "shape_unknown_rank": bundle(shape=fields((3, 1))), "shape_rank_255": bundle(shape=shape_message(*[1] * 255)), "shape_rank_100": bundle(shape=shape_message(3, *[1] * 99)),
    "shape_of_bytes": bundle(shape=b"\xff"), "shard_beyond": bundle(shard=1), "shard_negative": bundle(shard=-1), "shard_huge": bundle(shard=INT_MAX),
    "offset_beyond": bundle(offset=1000), "offset_negative": bundle(offset=-4), "offset_huge": bundle(offset=2**62), "offset_inside": bundle(offset=4), "size_zero": bundle(size=None),
    "size_huge": bundle(size=2**62), "size_negative": bundle(size=-1), "size_other": bundle(size=8), "crc_other": bundle(crc=("crc", 1)), "crc_none": bundle(crc=None),
    "huge_and_size": bundle(shape=shape_message(2**33), size=2**35), "strings_huge": bundle(dtype=7, shape=shape_message(2**40)), "strings_size_huge": bundle(dtype=7, size=2**45),
    "strings_lengths_huge": bundle(dtype=7, shape=shape_message(1), data=b"\xff\xff\xff\xff\xff\xff\xff\xff\x7fabcd", size=13), "variant_huge": bundle(dtype=21, shape=shape_message(2**40)),
    "data_short": bundle(data=DATA[:7]), "data_none": bundle(data=b""), "key_not_utf8": bundle(key=b"\xff\xfe"), "key_nul": bundle(key=b"a\0b"),
    "entry_of_bytes": bundle(entries=[(b"", HEADER), (b"w", b"\xff\xff")]), "entry_empty": bundle(entries=[(b"", HEADER), (b"w", b"")]),
    "header_missing": bundle(entries=[(b"w", b"")]), "header_of_bytes": bundle(header=b"\xff\xff"), "header_empty": bundle(header=b""), "header_no_shards": bundle(header=fields((3, fields((1, 1))))),
    "header_shards_negative": bundle(header=fields((1, -1), (3, fields((1, 1))))), "header_shards_two": bundle(header=fields((1, 2), (3, fields((1, 1))))),
    "header_big_endian": bundle(header=fields((1, 1), (2, 1), (3, fields((1, 1))))), "header_endian_9": bundle(header=fields((1, 1), (2, 9), (3, fields((1, 1))))),
    "header_consumer": bundle(header=fields((1, 1), (3, fields((1, 1), (2, 99))))), "header_producer": bundle(header=fields((1, 1), (3, fields((1, -1))))),
    "header_bad_consumer": bundle(header=fields((1, 1), (3, fields((1, 1), (3, 1))))), "slices_missing": bundle(slices=extent(0, 2)), "slices_of_bytes": bundle(slices=b"\xff"),
    "slices_negative": bundle(slices=extent(-1, 2)), "slices_rank": bundle(slices=extent(0, 1) + extent(0, 1)), "slices_outside": bundle(slices=extent(2, 9)),
    "only_header": bundle(entries=[(b"", HEADER)]), "keys_twice": bundle(entries=[(b"", HEADER), (b"w", b""), (b"w", b"")]),
    "index_empty": {"m.index": b"", "m.data-00000-of-00001": DATA}, "index_short": {"m.index": b"x" * 47}, "index_magic_only": {"m.index": b"\0" * 40 + struct.pack("<Q", 0xDB4775248B80FB57)},
    "index_handles_huge": {"m.index": b"\xff" * 40 + struct.pack("<Q", 0xDB4775248B80FB57)}, "data_missing": {"m.index": bundle()["m.index"]},
    "index_is_text": {"m.index": b"hello " * 50}, "nothing": {"other": b""}, "v1_of_nothing": {"m": b""}, "v1_of_text": {"m": b"hello " * 50}, "v1_of_bundle": {"m": bundle()["m.index"]},
}  # fmt: skip
for _key, _files in _BUNDLES.items():
    file("checkpoint_" + _key, "checkpoint", _files, "")


def compressed_block(kind, body):
    """A table file whose one block has a kind of compression."""
    whole = body + mutations.table([(b"", HEADER)])[:0]
    data = whole + bytes(bytearray((kind,)))
    data += mutations.masked_crc(data)
    index = mutations._block([(b"z", mutations.varint(0) + mutations.varint(len(data) - 5))])
    handles = mutations.varint(len(data)) + mutations.varint(len(index) - 5)
    return data + index + (handles * 2).ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


_BLOCK = mutations._block([(b"", HEADER)])[:-5]
for _key, _kind, _body in (
    ("none", 0, _BLOCK), ("snappy", 1, mutations.varint(len(_BLOCK)) + bytes(bytearray(((len(_BLOCK) - 1) << 2,))) + _BLOCK), ("snappy_huge", 1, mutations.varint(2**31 - 1) + b"\0a"),
    ("snappy_beyond", 1, mutations.varint(2**40) + b"\0a"), ("snappy_empty", 1, b""), ("snappy_cut", 1, mutations.varint(100) + b"\xf0"), ("snappy_copy_before", 1, mutations.varint(8) + b"\x01\x09"),
    ("kind_2", 2, _BLOCK), ("kind_255", 255, _BLOCK), ("restarts_huge", 0, _BLOCK[:-4] + b"\xff" * 4), ("shared_beyond", 0, b"\x05\x01\x01ab" + struct.pack("<II", 0, 1)),
    ("lengths_huge", 0, b"\0\xff\xff\xff\xff\x0f\x01ab" + struct.pack("<II", 0, 1)), ("varint_long", 0, b"\xff" * 20 + struct.pack("<II", 0, 1)), ("of_nothing", 0, b""),
):  # fmt: skip
    file("block_" + _key, "checkpoint", {"m.index": compressed_block(_kind, _body), "m.data-00000-of-00001": DATA}, "")
    file("block_v1_" + _key, "checkpoint", {"m": compressed_block(_kind, _body)}, "")


def v1(tensor, **more):
    """A checkpoint of version 1 whose first record says this of its tensors."""
    return {"m": mutations.table([(b"", fields((1, fields((1, tensor), (2, fields((1, 1)))))))] + sorted(more.get("entries", [])))}


def saved_slice(name=b"w", sizes=(3,), dtype=1, extents=fields((1, b""))):
    return fields((1, name), (2, shape_message(*sizes)), (3, dtype), (4, extents))


V1_KEY = b"\0w\0\x01\x01\x01\x80\x7f"  # name "w", rank 1, start 0, length -1
V1_VALUES = fields((2, fields((1, b"w"), (2, fields((1, b""))), (3, fields((1, 1), (5, DATA))))))
_V1 = {
    "whole": (saved_slice(), V1_VALUES), "values_missing": (saved_slice(), None), "values_bytes": (saved_slice(), b"\xff\xff"), "values_short": (saved_slice(sizes=(5,)), V1_VALUES),
    "shape_negative": (saved_slice(sizes=(-1,)), V1_VALUES), "shape_huge": (saved_slice(sizes=(2**45,)), V1_VALUES), "shape_overflow": (saved_slice(sizes=(2**40, 2**40)), V1_VALUES),
    "dtype_99": (saved_slice(dtype=99), V1_VALUES), "dtype_string": (saved_slice(dtype=7), V1_VALUES), "dtype_int": (saved_slice(dtype=3), V1_VALUES), "dtype_none": (saved_slice(dtype=0), V1_VALUES),
    "slices_negative": (saved_slice(extents=extent(-1, 2)), V1_VALUES), "slices_outside": (saved_slice(extents=extent(2, 9)), V1_VALUES), "slices_rank": (saved_slice(extents=extent(0, 1) + extent(0, 1)), V1_VALUES),
    "name_not_utf8": (saved_slice(name=b"\xff"), V1_VALUES), "meta_bytes": (b"\xff", V1_VALUES),
}  # fmt: skip
for _key, (_tensor, _values) in _V1.items():
    file("v1_" + _key, "checkpoint", v1(_tensor, entries=[(V1_KEY, _values)] if _values else []), "")

_STATES = {
    "empty": b"", "not_utf8": b'model_checkpoint_path: "\xff"', "bytes": b"\xff\xfe\x00", "unknown_field": b'what: "x"', "cut_off": b'model_checkpoint_path: "x', "number": b"model_checkpoint_path: 1",
    "twice": b'model_checkpoint_path: "a"\nmodel_checkpoint_path: "b"', "no_path": b'all_model_checkpoint_paths: "a"', "missing_file": b'model_checkpoint_path: "a"', "nul": b'model_checkpoint_path: "a\\000b"',
    "letters_for_time": b'model_checkpoint_path: "a"\nlast_preserved_timestamp: "x"',
}  # fmt: skip
for _key, _data in _STATES.items():
    file("state_" + _key, "checkpoint_state", _data, "checkpoint")

# ---- records ----


def framed(length, data=b"", length_crc=None):
    head = struct.pack("<Q", length)
    return head + (mutations.masked_crc(head) if length_crc is None else length_crc) + data


def packed(data, window):
    stream = zlib.compressobj(9, zlib.DEFLATED, window)
    return stream.compress(data) + stream.flush()


_RECORDS = {
    "length_huge": framed(2**62, b"abc"), "length_max": framed(2**64 - 1, b"abc"), "length_wraps": framed(2**64 - 4, b"abcd" * 4), "length_gib": framed(2**31, b"abc"), "length_crc": framed(3, b"abc" + b"\0" * 4, b"\0" * 4),
    "data_crc": framed(3, b"abc" + b"\0" * 4), "cut_in_length": mutations.record(b"abc") + b"\x03\0\0", "cut_in_crc": mutations.record(b"abc") + framed(3)[:10],
    "cut_in_data": mutations.record(b"abc")[:13], "cut_in_data_crc": mutations.record(b"abc")[:-2], "empty": b"", "zeros": b"\0" * 64, "text": b"hello world, this is no record file",
    "more_after": mutations.record(b"abc") + b"x" * 40,
}  # fmt: skip
for _key, _data in _RECORDS.items():
    for _kind in ("records", "dataset"):
        file("%s_%s" % (_kind, _key), _kind, _data, "data")
    file("events_" + _key, "events", _data, "data")
    for _kind, _window in (("gzip", 31), ("zlib", 15)):
        file("records_%s_%s" % (_kind, _key), "records_" + _kind, packed(_data, _window), "data")
file("events_not_messages", "events", mutations.record(b"\xff\xff\xff"), "data")
_WHOLE = mutations.record(b"abc" * 50)
for _kind, _window in (("gzip", 31), ("zlib", 15)):
    _stream = packed(_WHOLE, _window)
    for _key, _data in {
        "cut": _stream[:-3], "cut_early": _stream[:12], "header_only": _stream[:2], "of_nothing": b"", "trailing": _stream + b"junk", "twice": _stream + _stream, "of_text": b"hello world",
        "checksum": _stream[:-6] + b"\0\0" + _stream[-4:], "bomb": packed(b"\0" * 2**26, _window), "bomb_of_bombs": packed(packed(b"\0" * 2**26, _window), _window), "wrong_kind": packed(_WHOLE, 46 - _window),
    }.items():  # fmt: skip
        file("%s_%s" % (_kind, _key), _kind, _data, "data")
        file("records_%s_stream_%s" % (_kind, _key), "records_" + _kind, _data, "data")

# ---- images and sound ----


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data) & 0xFFFFFFFF)


def png(width=1, height=1, depth=8, color=0, data=None, more=b"", compression=0, filtering=0, interlace=0):
    head = struct.pack(">IIBBBBB", width, height, depth, color, compression, filtering, interlace)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + more + chunk(b"IDAT", zlib.compress(b"\0\0") if data is None else data) + chunk(b"IEND", b"")


_PNGS = {
    "whole": png(), "wide": png(width=2**27), "tall": png(height=2**27), "wide_enough": png(width=2**27 - 1), "area": png(width=2**15, height=2**14), "area_below": png(width=2**15, height=2**14 - 1), "zero": png(width=0), "sign": png(width=2**31),
    "million": png(width=1000001), "below_million": png(width=1000000, height=536), "depth": png(depth=3), "color": png(color=5), "compression": png(compression=1), "filter": png(filtering=1),
    "interlace": png(interlace=2), "no_data": png(data=b""), "bad_data": png(data=b"abc"), "short_data": png(width=9, height=9), "bomb": png(data=zlib.compress(b"\0" * 2**26)), "no_palette": png(color=3), "palette_large": png(color=3, more=chunk(b"PLTE", b"\0" * 900)),
    "palette_odd": png(color=3, more=chunk(b"PLTE", b"\0" * 4)), "text_bomb": png(more=chunk(b"zTXt", b"a\0\0" + zlib.compress(b"\0" * 2**26))), "profile_bomb": png(more=chunk(b"iCCP", b"a\0\0" + zlib.compress(b"\0" * 2**26))), "signature": b"\x89PNG\r\n\x1a\n", "header_only": png()[:33],
    "chunk_huge": b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 2**31 - 1) + b"IHDR" + b"\0" * 20, "filter_type": png(data=zlib.compress(b"\x09\0")), "gray_16_large": png(width=2**14, height=2**14, depth=16, color=6),
}  # fmt: skip
for _key, _data in _PNGS.items():
    file("png_" + _key, "image", _data, "image")


def gif(width=1, height=1, frames=1, frame_width=None, frame_height=None, palette=True, code_size=2, blocks=b"\x02\x44\x01\0", left=0):
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80 if palette else 0, 0, 0) + (b"\0" * 6 if palette else b"")
    frame = b"\x2c" + struct.pack("<HHHHB", left, 0, width if frame_width is None else frame_width, height if frame_height is None else frame_height, 0) + bytes(bytearray((code_size,))) + blocks
    return head + frame * frames + b";"


_GIFS = {
    "whole": gif(), "large": gif(65535, 65535), "canvas_large": gif(65535, 65535, frame_width=1, frame_height=1), "frame_large": gif(1, 1, frame_width=65535, frame_height=65535), "zero": gif(0, 0), "no_palette": gif(palette=False),
    "code_size_0": gif(code_size=0), "code_size_9": gif(code_size=9), "code_size_12": gif(code_size=12), "no_blocks": gif(blocks=b"\0"), "no_frames": gif(frames=0), "many_frames": gif(2, 2, frames=3, blocks=b"\x03\x84\x51\x00\0"), "cut": gif()[:20], "header": gif()[:6], "left": gif(left=5),
}  # fmt: skip
for _key, _data in _GIFS.items():
    file("gif_" + _key, "image", _data, "image")


def bmp(width=1, height=1, bits=24, start=54, size=60):
    return (b"BM" + struct.pack("<IIIIiiHH", size, 0, start, 40, width, height, 1, bits)).ljust(size, b"\0")


_BMPS = {
    "whole": bmp(), "large": bmp(2**14, 2**14), "int_max": bmp(INT_MAX, 1), "area": bmp(2**16, 2**15), "wraps": bmp(2**16, 2**16), "negative": bmp(-1), "zero": bmp(0), "no_height": bmp(1, 0), "int_min_height": bmp(1, -(2**31)), "top_down": bmp(1, -1),
    "bits_0": bmp(bits=0), "bits_1": bmp(bits=1), "bits_16": bmp(bits=16), "bits_65535": bmp(bits=65535), "start_negative": bmp(start=2**32 - 1), "start_beyond": bmp(start=10**6), "start_int_max": bmp(start=INT_MAX), "short": bmp()[:31], "empty": b"",
}  # fmt: skip
for _key, _data in _BMPS.items():
    file("bmp_" + _key, "bmp", _data, "image")


def jpeg(width=8, height=8, components=1, scan=b"\0" * 4, more=b"", precision=8, sampling=0x11, marker=0xC0, end=b"\xff\xd9"):
    """A JPEG file whose tables are nearly empty: what counts is its frame header."""
    def segment(kind, data):
        return struct.pack(">BBH", 255, kind, len(data) + 2) + data

    parts = b"".join(struct.pack("BBB", i + 1, sampling, 0) for i in range(components))
    frame = segment(marker, struct.pack(">BHHB", precision, height, width, components) + parts)
    tables = segment(0xDB, b"\0" + b"\x01" * 64) + segment(0xC4, b"\0" + b"\x01" + b"\0" * 15 + b"\0") + segment(0xC4, b"\x10" + b"\x01" + b"\0" * 15 + b"\0")
    start = segment(0xDA, struct.pack("B", components) + b"".join(struct.pack("BB", i + 1, 0) for i in range(components)) + b"\0\x3f\0")
    return b"\xff\xd8" + more + tables + frame + start + scan + end


_JPEGS = {
    "whole": jpeg(), "large": jpeg(65500, 65500, 3), "largest": jpeg(65535, 65535), "wide": jpeg(65500, 8), "large_gray": jpeg(30000, 30000), "large_progressive": jpeg(30000, 30000, 3, marker=0xC2), "area_below": jpeg(23000, 23000), "area_above": jpeg(23200, 23200),
    "zero": jpeg(0, 8), "no_height": jpeg(8, 0), "two_components": jpeg(components=2), "five_components": jpeg(components=5), "precision_12": jpeg(precision=12), "sampling_0": jpeg(sampling=0), "sampling_5": jpeg(sampling=0x55), "arithmetic": jpeg(marker=0xC9), "lossless": jpeg(marker=0xC3),
    "cut": jpeg(end=b""), "only_start": b"\xff\xd8\xff", "no_scan": jpeg(scan=b""), "two_images": jpeg() + jpeg(), "segment_beyond": b"\xff\xd8\xff\xe0\xff\xff" + b"a" * 20, "segment_of_one": b"\xff\xd8\xff\xe0\0\1" + b"a" * 20,
}  # fmt: skip
for _key, _data in _JPEGS.items():
    file("jpeg_" + _key, "jpeg", _data, "image")


def wav(channels=1, rate=8000, bits=16, data=b"\0" * 8, data_size=None, form_size=16, form=1, byte_rate=None, block=None, riff=b"RIFF", more=b"", kind=b"data"):
    head = struct.pack("<HHIIHH", form, channels, rate, rate * channels * 2 if byte_rate is None else byte_rate, channels * 2 if block is None else block, bits)
    body = b"WAVEfmt " + struct.pack("<I", form_size) + head + more + kind + struct.pack("<I", len(data) if data_size is None else data_size) + data
    return riff + struct.pack("<I", len(body)) + body


_WAVS = {
    "whole": wav(), "size_huge": wav(data_size=2**32 - 1), "size_int_max": wav(data_size=INT_MAX), "size_more": wav(data_size=10), "size_less": wav(data_size=4), "size_odd": wav(data=b"\0" * 7), "channels_0": wav(channels=0), "channels_many": wav(channels=65535, block=2**16 - 2, byte_rate=0), "bits_8": wav(bits=8),
    "rate_0": wav(rate=0), "rate_huge": wav(rate=2**31, byte_rate=0), "float": wav(form=3), "form_size_18": wav(form_size=18, more=b"\0\0"), "form_size_huge": wav(form_size=2**31), "form_size_0": wav(form_size=0), "no_data": wav(kind=b"what"), "chunk_between": wav(more=b"LIST\x04\0\0\0abcd"),
    "chunk_huge": wav(more=b"LIST\xff\xff\xff\xffabcd"), "riff": wav(riff=b"RIFX"), "cut": wav()[:30], "empty": b"", "byte_rate": wav(byte_rate=1), "block": wav(block=9), "data_empty": wav(data=b""),
}  # fmt: skip
for _key, _data in _WAVS.items():
    file("wav_" + _key, "wav", _data, "sound")

# ---- text ----
_PATTERNS = {
    "lookahead": b"(?=a)", "lookbehind": b"(?<!a)b", "backreference": b"(a)\\1", "named_later": b"(?<n>a)", "named_twice": b"(?P<n>a)(?P<n>b)", "posix_unknown": b"[[:foo:]]", "class_open": b"[a", "group_open": b"(a", "group_close": b"a)", "twice": b"a**",
    "nothing_to_repeat": b"*a", "repeat_1001": b"a{1001}", "repeat_nested": b"((a{100}){100}){100}", "escape": b"\\8", "code_point": b"\\x{110000}", "not_utf8": b"\xff", "range": b"[z-a]", "trailing": b"a\\", "atomic": b"(?>a)", "comment": b"(?#a)", "possessive": b"a++",
    "unknown_class": b"\\p{Foo}", "deep": b"(" * 1500 + b")" * 1500, "many_groups": b"(a)" * 3000, "exponential": b"(a*)*b", "nul": b"a\0b", "conditional": b"(a)(?(1)b|c)", "flag": b"(?x)a", "z": b"a\\Z", "long": b"a" * 200000, "alternatives": b"|".join(b"a%d" % i for i in range(5000)),
}  # fmt: skip
for _key, _data in _PATTERNS.items():
    file("pattern_" + _key, "pattern", _data, "pattern")
_LINES = {
    "too_few": b"1.5,ab,3", "too_many": b"1,a,3,4,5", "quote_open": b'1,"a,3,4', "quote_inside": b'1,a"b,3,4', "quote_then": b'1,"a"b,3,4', "not_a_number": b"x,a,3,4", "beyond_int64": b"1,a,9223372036854775808,4", "beyond_int32": b"1,a,3,2147483648",
    "beyond_float": b"1e999,a,3,4", "required": b"1,a,3,", "nothing": b"", "spaces": b" 1 , a , 3 , 4 ", "nul": b"1\0,a,3,4", "newline": b'1,"a\rb",3,4', "carriage": b"1,a,3,4\r", "hex": b"0x10,a,3,4", "underscore": b"1_0,a,1_0,4", "nan": b"nan,a,3,4", "digits": b"1,a," + b"9" * 5000 + b",4",
}  # fmt: skip
for _key, _data in _LINES.items():
    file("csv_" + _key, "csv", _data, "lines")
for _key, _data in {"letters": b"x", "nothing": b"", "white_space": b"\t", "spaces": b" 1 ", "beyond": b"99999999999999999999", "underscore": b"1_000", "hex": b"0x1F", "exponent": b"1e5", "inf": b"inf", "plus": b"+1", "nul": b"1\0", "digits": b"1" * 5000}.items():
    file("number_" + _key, "numbers", _data, "lines")
_WORDS = {
    "empty": b"", "no_number": b"a x\n", "one_column": b"a\n", "three_columns": b"a 1 2\n", "twice": b"a 1\na 2\n", "twice_same": b"a 1\na 1\n", "beyond": b"a 99999999999999999999\n", "empty_line": b"a 1\n\nb 2\n", "no_newline": b"a 1", "carriage": b"a 1\r\nb 2\r\n", "bytes": b"\xff 1\n", "nul": b"a\0b 1\n",
}  # fmt: skip
for _key, _data in _WORDS.items():
    file("vocabulary_" + _key, "vocabulary", _data, "words")
_TENSOR_MESSAGES = {
    "huge": fields((1, 1), (2, shape_message(2**45))), "overflow": fields((1, 1), (2, shape_message(2**40, 2**40)), (5, DATA)), "negative": fields((1, 1), (2, shape_message(-1)), (5, DATA)), "large": fields((1, 1), (2, shape_message(2**31)), (5, DATA)), "rank_255": fields((1, 1), (2, shape_message(*[1] * 255)), (5, DATA)),
    "content_short": fields((1, 1), (2, shape_message(5)), (4, DATA)), "content_long": fields((1, 1), (2, shape_message(1)), (4, DATA)), "values_long": fields((1, 1), (2, shape_message(1)), (5, DATA)), "values_short": fields((1, 1), (2, shape_message(5)), (5, DATA)), "dtype": fields((1, 99), (5, DATA)), "dtype_0": fields((5, DATA)),
    "bytes": b"\xff\xff", "empty": b"", "unknown_rank": fields((1, 1), (2, fields((3, 1))), (5, DATA)), "ref": fields((1, 101), (2, b""), (5, DATA)), "zero_times": fields((1, 1), (2, shape_message(2**40, 2**40, 0))),
}  # fmt: skip
for _key, _data in _TENSOR_MESSAGES.items():
    file("tensor_" + _key, "tensor", _data, "tensor")
