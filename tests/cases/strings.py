"""Ops on strings: parts, joining, splitting, regular expressions, numbers, bytes."""

import numpy as np

from cases.table import Table

TABLE = Table("strings")
case, error_case = TABLE.case, TABLE.error_case

TEXT = np.array([" Hello wOrld ", "a,b,,c", "", u"\xfcn\xef"])


def of_text(name, build):
    case(name, lambda tf: build(tf, tf.constant(TEXT)), grad=False)


of_text("length", lambda tf, s: [tf.strings.length(s), tf.strings.length(s, unit="UTF8_CHAR", name="n")])
of_text("strip", lambda tf, s: tf.string_strip(s))
of_text("case", lambda tf, s: [tf.strings.upper(s), tf.strings.lower(s), tf.strings.lower(s, encoding="utf-8")])
of_text(
    "regex",
    lambda tf, s: [
        tf.regex_replace(s, "([a-z]+)", "<\\1\\0>"),
        tf.strings.regex_replace(s, "l", "L", replace_global=False),
        tf.strings.regex_replace(s, tf.constant("[aeo]"), ""),
        tf.strings.regex_full_match(s, "a.*c"),
        tf.strings.regex_full_match(s, tf.constant(".*d ?")),
    ],
)
of_text("join", lambda tf, s: tf.string_join([s, "x", s], "-", name="j"))
case(
    "reduce_join",
    lambda tf, x: [
        tf.reduce_join(tf.as_string(x), axis, keepdims=keep, separator="+")
        for axis in (None, 0, -1, [0, 1], [1, 0], [])
        for keep in (False, True)
    ],
    x=np.array([[1, 2, 3], [4, 5, 6]], np.int32),
    grad=False,
)
of_text("substr", lambda tf, s: tf.substr(s[:2], 1, 3))
of_text("substr_each", lambda tf, s: tf.strings.substr(s[:2], [2, -2], [2, 1], unit="UTF8_CHAR"))
of_text("split", lambda tf, s: [tf.string_split(s, ", "), tf.string_split(s, ",", skip_empty=False)])
of_text("split_default", lambda tf, s: [tf.string_split(s), tf.string_split(s[:2], "")])
of_text("base64", lambda tf, s: [tf.encode_base64(s), tf.encode_base64(s, pad=True), tf.decode_base64(tf.encode_base64(s))])
NUMBERS = np.array([1.5, -2.0, 1e10, np.inf, 1e-7], np.float32)
case("as_string", lambda tf, x: tf.as_string(x), x=NUMBERS, grad=False)
case(
    "as_string_forms",
    lambda tf, x: [
        tf.as_string(x, precision=2),
        tf.strings.as_string(x, scientific=True, precision=3),
        tf.as_string(x, shortest=True),
        tf.as_string(x, width=14, fill="0", name="w"),
    ],
    x=NUMBERS[:3],
    grad=False,
)
case("as_string_int", lambda tf, x: [tf.as_string(x, width=4, fill="0"), tf.as_string(x > 0)], x=np.array([1, -5]))
case("as_string_complex", lambda tf, x: tf.as_string(x, precision=1), x=np.array([1.25 - 2j]), grad=False)
case(
    "to_number",
    lambda tf: [tf.string_to_number(["1.5", " -2 ", "1e3", "inf"])]
    + [tf.strings.to_number(["7", "-8"], t) for t in (tf.int32, tf.int64, tf.float64)],
    grad=False,
)
case(
    "decode_raw",
    lambda tf: [
        tf.decode_raw(["abcd", "efgh"], tf.int16),
        tf.decode_raw(["abcd"], tf.int32, little_endian=False),
        tf.io.decode_raw("abc", tf.uint8),
    ],
    grad=False,
)

error_case("to_number_text", lambda tf: tf.string_to_number(["1.5", "one"]))
error_case("to_number_range", lambda tf: tf.string_to_number(["3000000000"], tf.int32))
error_case("decode_raw_length", lambda tf: tf.decode_raw(["abc"], tf.int16))
error_case("decode_raw_sizes", lambda tf: tf.decode_raw(["ab", "abcd"], tf.int16))
error_case("substr_position", lambda tf: tf.substr(["abc"], 5, 1))
error_case("regex_pattern", lambda tf: tf.regex_replace(["abc"], "(", ""))
error_case("base64_characters", lambda tf: tf.decode_base64(["a+/"]))
error_case("as_string_precision", lambda tf, x: tf.as_string(x, precision=2), x=np.array([1], np.int32))
error_case("as_string_fill", lambda tf, x: tf.as_string(x, width=5, fill="ab"), x=np.array([1], np.int32))
error_case("reduce_join_axis", lambda tf: tf.reduce_join(["a"], 1))
error_case("split_rank", lambda tf: tf.string_split([["a"]]))
error_case("join_shapes", lambda tf: tf.string_join([["a", "b"], ["a", "b", "c"]]))
