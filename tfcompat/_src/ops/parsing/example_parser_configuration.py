"""`tensorflow.python.util.example_parser_configuration`: what a ParseExample operation parses, for programs in other languages."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor_proto import make_tensor_proto
from tfcompat._src.proto import messages


def extract_example_parser_configuration(parse_example_op: Operation, sess: Any) -> Any:
    """The features of a ParseExample operation, with their types, default values and the tensors that they become.

    Args:
      parse_example_op: the operation. sess: a session that can compute its keys and default values.

    Returns:
      an ExampleParserConfiguration message.
    """
    config = messages.ExampleParserConfiguration()
    sparse, dense = parse_example_op.get_attr("Nsparse"), parse_example_op.get_attr("Ndense")
    fetched = sess.run(list(parse_example_op.inputs[2:]))
    sparse_keys, dense_keys, defaults = fetched[:sparse], fetched[sparse : sparse + dense], fetched[sparse + dense :]
    names = [tensor.name for tensor in parse_example_op.outputs]
    dense_kinds = zip(parse_example_op.get_attr("Tdense"), parse_example_op.get_attr("dense_shapes"))
    for i, (key, default, (dtype, shape)) in enumerate(zip(dense_keys, defaults, dense_kinds)):
        fixed = config.feature_map[key].fixed_len_feature
        fixed.default_value.CopyFrom(make_tensor_proto(default))
        fixed.shape.CopyFrom(TensorShape(shape).as_proto())
        fixed.dtype, fixed.values_output_tensor_name = dtype.as_datatype_enum, names[3 * sparse + i]
    for i, (key, dtype) in enumerate(zip(sparse_keys, parse_example_op.get_attr("sparse_types"))):
        free = config.feature_map[key].var_len_feature
        free.dtype = dtype.as_datatype_enum
        free.indices_output_tensor_name, free.values_output_tensor_name, free.shapes_output_tensor_name = names[i : 3 * sparse : sparse]
    return config
