"""Parsing: Example and SequenceExample messages, CSV, serialized tensors, compressed strings."""

import numpy as np

from cases.table import Table

TABLE = Table("parsing")
case, error_case = TABLE.case, TABLE.error_case


def varint(number):
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(found + bytearray([number]))


def field(number, data):
    """A length-delimited field of the wire format."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def ints(*values):
    return field(3, field(1, b"".join(map(varint, values))))


def floats(*values):
    return field(2, field(1, np.array(values, "<f4").tobytes()))


def texts(*values):
    return field(1, b"".join(field(1, v) for v in values))


def entries(features):
    return b"".join(field(1, field(1, k.encode()) + field(2, v)) for k, v in sorted(features.items()))


def example(**features):
    return field(1, entries(features))


def sequence(context, lists):
    steps = {k: b"".join(field(1, step) for step in v) for k, v in lists.items()}
    return field(1, entries(context)) + field(2, entries(steps))


EXAMPLES = [
    example(a=floats(1, 2, 3, 4), b=ints(1, -1, 300), c=texts(b"x"), d=ints(7), e=floats(0.5, 1.5)),
    example(a=floats(5, 6, 7, 8), b=ints(1 << 40, 0, 127), d=ints(), e=floats()),
    example(a=floats(9, 9, 9, 9), b=ints(128, 1, 2), c=texts(b"long text"), d=ints(4, 5, 6), e=floats(2.5), other=ints(3)),
]
UNPACKED = field(
    1,
    field(1, field(1, b"b") + field(2, field(3, b"\x08\x05\x08\x96\x01\x08\x07")))
    + field(1, field(1, b"a") + field(2, field(2, b"".join(b"\x0d" + np.array(v, "<f4").tobytes() for v in (1, 2, 3, 4))))),
)
REPEATED = example(b=ints(1, 2, 3)) + example(b=ints(4, 5, 6))


def features(tf):
    return {
        "a": tf.FixedLenFeature([2, 2], tf.float32),
        "b": tf.FixedLenFeature([3], tf.int64),
        "c": tf.FixedLenFeature([], tf.string, "none"),
        "d": tf.VarLenFeature(tf.int64),
        "e": tf.FixedLenSequenceFeature([], tf.float32, allow_missing=True, default_value=7.0),
        "f": tf.FixedLenFeature([2], tf.int64, [4, 5]),
    }


def of(name, build):
    case(name, build, grad=False)


of("example", lambda tf: tf.parse_example(tf.constant(EXAMPLES), features(tf)))
of("example_names", lambda tf: tf.io.parse_example(EXAMPLES, features(tf), name="p", example_names=["x", "y", "z"]))
of("single", lambda tf: tf.parse_single_example(tf.constant(EXAMPLES[2]), features(tf)))
of("single_named", lambda tf: tf.io.parse_single_example(EXAMPLES[0], features(tf), example_names="one"))
of(
    "unpacked",
    lambda tf: tf.parse_example([UNPACKED], {"b": tf.FixedLenFeature([3], tf.int64), "a": tf.VarLenFeature(tf.float32)}),
)
of("repeated", lambda tf: tf.parse_example([REPEATED, REPEATED[:10] * 0], {"b": tf.VarLenFeature(tf.int64)}))
of(
    "rows",
    lambda tf: tf.parse_example(
        EXAMPLES,
        {
            "b": tf.FixedLenSequenceFeature([3], tf.int64, allow_missing=True),
            "c": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True, default_value="-"),
        },
    ),
)
of(
    "sparse_feature",
    lambda tf: tf.parse_example(
        [example(i=ints(3, 1), v=floats(0.5, 1.5)), example(i=ints(), v=floats()), example(i=ints(2), v=floats(4))],
        {"s": tf.SparseFeature("i", "v", tf.float32, 5), "i": tf.VarLenFeature(tf.int64)},
    ),
)
SEQUENCES = [
    sequence(
        {"n": ints(4), "v": ints(0, 1)}, {"s": [ints(1, 2), ints(3, 4)], "p": [ints(), ints(5), ints(1, 2, 3)]}
    ),
    sequence({"n": ints(9)}, {"s": [ints(7, 8)], "p": [ints(6)]}),
]


def context(tf):
    return {"n": tf.FixedLenFeature([], tf.int64), "v": tf.VarLenFeature(tf.int64), "z": tf.FixedLenFeature([], tf.float32, 3.0)}


def lists(tf):
    return {
        "s": tf.FixedLenSequenceFeature([2], tf.int64),
        "p": tf.VarLenFeature(tf.int64),
        "m": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True),
    }


of("sequences", lambda tf: tf.io.parse_sequence_example(tf.constant(SEQUENCES), context(tf), lists(tf)))
of("sequence", lambda tf: tf.parse_single_sequence_example(tf.constant(SEQUENCES[0]), context(tf), lists(tf), name="one"))

of("csv", lambda tf: tf.decode_csv(['1,2.5,abc', '4,,"x,""y"""'], [[0], [1.5], ["d"]]))
of("csv_options", lambda tf: tf.io.decode_csv([["1;NA;3"], ["4;5;6"]], [[0], [7]], field_delim=";", na_value="NA", select_cols=[0, 1]))
of("csv_quotes_off", lambda tf: tf.decode_csv(['a"b,c'], [[""], [""]], use_quote_delim=False))
of("csv_lines", lambda tf: tf.decode_csv(['"a\nb",c'], [[""], [""]]))
of("csv_wide", lambda tf: tf.decode_csv(["99999999999,1e50,inf"], [tf.constant([0], tf.int64), tf.constant([0.0], tf.float64), [0.0]]))
VALUES = [np.float32([[1, 2]]), np.array([b"a", b"bb"]), np.int64(3), np.array([True]), np.zeros((0, 3))]
of("serialize", lambda tf: [tf.serialize_tensor(tf.constant(v)) for v in VALUES])
of("parse_tensor", lambda tf: [tf.parse_tensor(tf.serialize_tensor(tf.constant(v)), tf.constant(v).dtype) for v in VALUES])
of(
    "json",
    lambda tf: tf.parse_example(
        tf.decode_json_example(['{"features":{"feature":{"a":{"int64List":{"value":[1,"-2"]}}}}}']),
        {"a": tf.VarLenFeature(tf.int64)},
    ),
)
ZLIB = b"x\x9c\xcbH\xcd\xc9\xc9\x07\x00\x06,\x02\x15"
of("compressed", lambda tf: [tf.decode_compressed([ZLIB], "ZLIB"), tf.io.decode_compressed(["q"])])
of(
    "padded_raw",
    lambda tf: [
        tf.raw_ops.DecodePaddedRaw(input_bytes=["abcd"], fixed_length=4, out_type=tf.int16),
        tf.raw_ops.DecodePaddedRaw(input_bytes=["ab"], fixed_length=4, out_type=tf.uint8),
    ],
)

A = {"a": floats(1, 2, 3, 4)}
error_case("not_an_example", lambda tf: tf.parse_example(["\xff\xff"], features(tf)))
error_case("missing", lambda tf: tf.parse_example([example(**A)], features(tf), example_names=["first"]))
error_case("other_size", lambda tf: tf.parse_example([example(a=floats(1))], features(tf)))
error_case("other_dtype", lambda tf: tf.parse_example([example(a=ints(1))], features(tf)))
error_case("other_dtype_sparse", lambda tf: tf.parse_example([example(d=floats(1))], {"d": tf.VarLenFeature(tf.int64)}))
error_case(
    "not_whole_rows",
    lambda tf: tf.parse_example([example(a=floats(1, 2, 3))], {"a": tf.FixedLenSequenceFeature([2], tf.float32, True)}),
)
error_case("single_missing", lambda tf: tf.parse_single_example("", features(tf)))
error_case("single_size", lambda tf: tf.parse_single_example(example(a=floats(1)), features(tf)))
error_case("no_features", lambda tf: tf.parse_example(EXAMPLES, {}))
error_case("unknown_shape", lambda tf: tf.parse_example(EXAMPLES, {"a": tf.FixedLenFeature([None], tf.float32)}))
error_case("no_dtype", lambda tf: tf.parse_example(EXAMPLES, {"a": tf.VarLenFeature(None)}))
error_case("batch_rank", lambda tf: tf.parse_example([EXAMPLES], features(tf)))
error_case("sequence_missing", lambda tf: tf.parse_single_sequence_example(SEQUENCES[0], {"q": tf.FixedLenFeature([], tf.int64)}))
error_case(
    "sequence_list_missing",
    lambda tf: tf.parse_single_sequence_example(SEQUENCES[0], sequence_features={"q": tf.FixedLenSequenceFeature([], tf.int64)}),
)
error_case(
    "sequence_size",
    lambda tf: tf.io.parse_sequence_example(SEQUENCES, sequence_features={"s": tf.FixedLenSequenceFeature([3], tf.int64)}),
)
error_case(
    "sequence_dtype",
    lambda tf: tf.parse_single_sequence_example(SEQUENCES[0], sequence_features={"s": tf.FixedLenSequenceFeature([2], tf.float32)}),
)
error_case("csv_count", lambda tf: tf.decode_csv(["1,2"], [[0]]))
error_case("csv_number", lambda tf: tf.decode_csv(["1,x"], [[0], [0]]))
error_case("csv_missing", lambda tf: tf.decode_csv(["1,"], [[0], tf.constant([], tf.int32)]))
error_case("csv_quote", lambda tf: tf.decode_csv(['"a"b'], [[""]]))
error_case("csv_columns", lambda tf: tf.decode_csv(["1,2"], [[0], [0]], select_cols=[1, 0]))
error_case("tensor_dtype", lambda tf: tf.parse_tensor(tf.serialize_tensor([1.0]), tf.int32))
error_case("tensor_text", lambda tf: tf.parse_tensor("zzz", tf.int32))
error_case("json_text", lambda tf: tf.decode_json_example(["{"]))
error_case("compressed_text", lambda tf: tf.decode_compressed(["abc"], "ZLIB"))
error_case("padded_raw_length", lambda tf: tf.raw_ops.DecodePaddedRaw(input_bytes=["abc"], fixed_length=3, out_type=tf.int16))
