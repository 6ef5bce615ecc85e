"""Strings: hashes, regular expressions of RE2, Unicode, n-grams, segments, splitting, templates."""

import numpy as np

from cases.table import Table

TABLE = Table("strings_more")
case, error_case = TABLE.case, TABLE.error_case


def of(name, build):
    case(name, build, grad=False)


LENGTHS = list(range(0, 40)) + [63, 64, 65, 100, 128, 129, 200]
BYTES = [bytes(bytearray((i * 7 + j * 13) % 256 for j in range(i))) for i in LENGTHS]
of(
    "hash_buckets",
    lambda tf: [
        tf.strings.to_hash_bucket_fast(BYTES, 1 << 62, name="f"),
        tf.string_to_hash_bucket(BYTES, 1 << 62),
        tf.strings.to_hash_bucket_strong(BYTES, 1 << 62, [123, -5]),
        tf.string_to_hash_bucket_fast([["a"], ["b"]], 10),
    ],
)
of(
    "fingerprint",
    lambda tf: [
        tf.fingerprint(tf.constant(v))
        for v in (["abc", "", "hello"], [["a", "b"], ["", "cc"]], [[1, 2], [3, 4]], [[1.5], [2.5]])
    ],
)
PATTERNS = [
    ("abxd", "x*", "-"), ("abc\n", "c$", "X"), ("a.b", r"\Q.\E", "_"), ("aB1 _", "[[:alpha:]]+", "w"),
    ("abc", "(b)(c)?", r"[\1\2\0\\]"), ("abc", "b", r"\3"), ("ABab", "(?i)a", "x"), ("xaXbA", "x(?i)a|b", "_"),
    ("a\nb", "a.b", "x"), ("a\nb", "(?s)a.b", "x"), ("ab", "[^a]", "x"), ("a\nb", "(?m)^", ">"), ("a1", r"\d", "D"),
    (u"\u00e9\u03b1", r"\pL", "L"), (u"\u00e9a", ".", "x"), ("a]b", "[]]", "x"), ("a-b", r"[a\-]", "x"),
    ("aaa", "(?P<q>a)a", r"<\1>"), ("aab", "a+?", "x"), ("x{y", "x{", "_"),
]  # fmt: skip
of("replace", lambda tf: [tf.strings.regex_replace([t.encode("utf-8")], p, r) for t, p, r in PATTERNS])
of("replace_first", lambda tf: [tf.strings.regex_replace([t.encode("utf-8")], p, r, replace_global=False) for t, p, r in PATTERNS])
of("full_match", lambda tf: [tf.strings.regex_full_match(["abc", "abcd", "abc\n", ""], p) for p in ("abc", "a|abc", ".*", "", r"\w+\z")])
for _name, _pattern in (
    ("look_ahead", "(?=a)"), ("back_reference", r"(a)\1"), ("open_class", "["), ("two_stars", "a**"), ("large", "q{2000}"),
):  # fmt: skip
    error_case("pattern_" + _name, lambda tf, p=_pattern: tf.strings.regex_replace(["a"], p, ""))

UTF8 = [u"a\u00e9\u6f22\U0001f600".encode("utf-8"), b"\xff\xe9x", b"\xe6\xbcx\xf0\x9f\x98", b"", b"\xed\xa0\x80z", b"a\x00\x1f\n"]
for _errors in ("replace", "ignore"):
    for _controls in (False, True):

        def decoded(tf, errors=_errors, controls=_controls):
            options = {"errors": errors, "replace_control_characters": controls}
            return [
                tf.strings.unicode_transcode(UTF8, "UTF-8", "UTF-16-BE", **options),
                tf.raw_ops.UnicodeDecodeWithOffsets(input=UTF8, input_encoding="UTF-8", replacement_char=65, **options),
            ]

        of("unicode_%s_%s" % (_errors, "controls" if _controls else "all"), decoded)
of(
    "encodings",
    lambda tf: [
        tf.strings.unicode_transcode([text], source, "UTF-8")
        for text, source in (
            (u"a\u6f22\U0001f600".encode("utf-16-be"), "UTF-16-BE"), (b"\xd8\x00", "UTF-16-BE"), (b"\xd8\x00\x00a", "UTF-16-BE"),
            (u"a\u6f22".encode("utf-32-be"), "UTF-32-BE"), (b"\x00\x11\x00\x00", "UTF-32-BE"), (b"a\xe9", "latin1"),
            (b"\xff\xfea\x00", "UTF-16"), (b"\x00a", "UTF-16"), (b"\x93\xfa", "shift-jis"),
        )
    ],
)  # fmt: skip
CODES, ENDS = [65, 0x6F22, 0x110000, -1, 0x1F600], np.array([0, 2, 2, 5])
for _errors in ("replace", "ignore"):
    of(
        "encode_" + _errors,
        lambda tf, errors=_errors: [
            tf.raw_ops.UnicodeEncode(input_values=CODES, input_splits=tf.constant(ENDS), output_encoding=e, errors=errors)
            for e in ("UTF-8", "UTF-16-BE", "UTF-32-BE")
        ],
    )
case("scripts", lambda tf, x: tf.strings.unicode_script(x), x=np.arange(-1, 0x110001, 251, dtype=np.int32))
error_case("strict_text", lambda tf: tf.strings.unicode_transcode(UTF8, "UTF-8", "UTF-8", errors="strict"))
error_case("unknown_encoding", lambda tf: tf.strings.unicode_transcode(["a"], "nosuch", "UTF-8"))
error_case(
    "strict_codes",
    lambda tf: tf.raw_ops.UnicodeEncode(
        input_values=CODES, input_splits=tf.constant(ENDS), output_encoding="UTF-8", errors="strict"
    ),
)
error_case("replacement", lambda tf: tf.strings.unicode_transcode(["a"], "UTF-8", "UTF-8", replacement_char=0x110000))

CHARACTERS = [u"h\u00e9llo".encode("utf-8"), b"\xff\xc3\xa9x"]
of(
    "substr_characters",
    lambda tf: [tf.strings.substr(CHARACTERS, pos, length, unit="UTF8_CHAR") for pos, length in ((1, 2), (-2, 2), (0, 9), (1, -1))]
    + [tf.strings.length(CHARACTERS, unit="UTF8_CHAR"), tf.strings.substr(["abcd"], 1, -1)],
)
error_case("substr_each", lambda tf: tf.strings.substr(["abc", "d"], [1, 2], [1, 1]))
of(
    "templates",
    lambda tf: [
        tf.strings.format("x {} y {}", [tf.constant([1, 2, 3]), tf.constant("q")]), tf.strings.format("{}", tf.range(10)),
        tf.strings.format("%t%", tf.constant([["a", "b"], ["c", "d"]]), placeholder="%t%", summarize=-1, name="t"),
    ],
)  # fmt: skip
error_case("template_count", lambda tf: tf.strings.format("{} {}", tf.constant(1)))
of(
    "segments",
    lambda tf: [
        tf.strings.unsorted_segment_join([["a", "b"], ["c", "d"], ["e", "f"]], [1, 0, 1], 3, ":"),
        tf.strings.unsorted_segment_join([["a", "b"], ["c", "d"]], [[1, 0], [1, 1]], 2, name="s"),
    ],
)
error_case("segment_number", lambda tf: tf.strings.unsorted_segment_join(["a", "b"], [1, 5], 3))
of(
    "ngrams",
    lambda tf: [
        tf.raw_ops.StringNGrams(
            data=["a", "b", "c", "d"], data_splits=tf.constant([0, 3, 4], tf.int64), separator="|", ngram_widths=widths,
            left_pad="L", right_pad="R", pad_width=pads, preserve_short_sequences=short,
        )
        for pads, widths, short in ((0, [2], False), (-1, [2, 3], False), (1, [3], True), (0, [4], True))
    ],
)  # fmt: skip
error_case("ngram_width", lambda tf: tf.strings.ngrams(["a", "b"], 0))
SPLIT = ["a,b,,c", ",x", "  q  r "]
of("split_v2", lambda tf: [tf.raw_ops.StringSplitV2(input=SPLIT, sep=sep, maxsplit=n) for sep in (",", "", "  ") for n in (-1, 1)])
of("split_function", lambda tf: [tf.strings.split(SPLIT), tf.strings.split(SPLIT, ",", name="s"), tf.string_split(SPLIT, ",")])
of("base64_forms", lambda tf: [tf.decode_base64(["YQ", "YQ==", "YWI", "YWI="])])
for _name, _text in (("length", "Y"), ("padding", "YQ="), ("inside", "YQ==YQ==")):
    error_case("base64_" + _name, lambda tf, t=_text: tf.decode_base64([t]))
of(
    "as_string_special",
    lambda tf: [
        tf.as_string([1.5, float("nan"), float("inf"), -float("inf")]), tf.as_string([1e-10], shortest=True),
        tf.as_string(tf.constant([1, -7], tf.int8), width=6), tf.as_string([3.5], width=10, fill="-"),
        tf.as_string(tf.constant([3.0], tf.float64), precision=20),
    ],
)  # fmt: skip
of("to_number_forms", lambda tf: tf.string_to_number(["1e40", "-inf", " 5 ", "nan", "0x5", "+4.5", "1.", ".5"]))
error_case("to_number_word", lambda tf: tf.string_to_number(["infinity"]))
error_case("to_number_sign", lambda tf: tf.string_to_number(["+5"], tf.int32))
error_case("reduce_join_twice", lambda tf: tf.raw_ops.ReduceJoin(inputs=[["a"]], reduction_indices=[0, -2]))


def ragged(tf):
    return tf.ragged.constant([["ab", "c"], ["d e"], []])


def rows(tf, *values):
    """Ragged tensors as their flat values and splits."""
    return [[v.flat_values, v.nested_row_splits] if isinstance(v, tf.RaggedTensor) else v for v in values]


of("ragged_elements", lambda tf: rows(tf, tf.strings.length(ragged(tf)), tf.strings.regex_replace(ragged(tf), "[a-c]", "x")))
error_case("ngrams_of_scalar", lambda tf: tf.strings.ngrams("a", 2))
error_case("split_result_type", lambda tf: tf.string_split(["a"], result_type="dict"))
