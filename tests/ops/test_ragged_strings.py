"""Functions on strings with ragged results; the values are those of TensorFlow 1.15.5."""

import pytest

import tfcompat as tf

UTF8 = ["a\u00e9\u6f22".encode(), b"x\xff", b""]


def evaluate(build):
    with tf.Graph().as_default(), tf.Session() as sess:
        found = sess.run(build())
    if isinstance(found, tf.ragged.RaggedTensorValue):
        return found.to_list()
    return found if isinstance(found, bytes) else found.tolist()


def rows():
    return tf.ragged.constant([["a", "b"], ["c"], []])


CASES = {
    "split": (lambda: tf.strings.split(["a b c", "d", "", " e  f"], result_type="RaggedTensor"), [[b"a", b"b", b"c"], [b"d"], [], [b"e", b"f"]]),
    "split_scalar": (lambda: tf.strings.split("x,y", ",", result_type="RaggedTensor"), [b"x", b"y"]),
    "split_matrix": (
        lambda: tf.strings.split([["a b", "c"], ["d", "e f"]], result_type="RaggedTensor"),
        [[[b"a", b"b"], [b"c"]], [[b"d"], [b"e", b"f"]]],
    ),
    "string_split": (lambda: tf.string_split(["a b", ""], result_type="RaggedTensor"), [[b"a", b"b"], []]),
    "bytes": (lambda: tf.strings.bytes_split([["ab", "c"], ["d", ""]]), [[[b"a", b"b"], [b"c"]], [[b"d"], []]]),
    "bytes_scalar": (lambda: tf.strings.bytes_split("ab"), [b"a", b"b"]),
    "ngrams": (lambda: tf.strings.ngrams(["a", "b", "c", "d"], 2), [b"a b", b"b c", b"c d"]),
    "ngrams_padded": (
        lambda: tf.strings.ngrams([["a", "b"], ["c", "d"]], [1, 2], pad_values="P"),
        [[b"a", b"b", b"P a", b"a b", b"b P"], [b"c", b"d", b"P c", b"c d", b"d P"]],
    ),
    "ngrams_short": (
        lambda: tf.strings.ngrams(tf.ragged.constant([["a", "b", "c"], ["d"]]), 3, " ", ("L", "R"), 1, True),
        [[b"L a b", b"a b c", b"b c R"], [b"L d R"]],
    ),
    "join_columns": (lambda: tf.strings.reduce_join(rows(), 0, separator="-"), [b"a-c", b"b"]),
    "join_rows": (lambda: tf.strings.reduce_join(rows(), -1, separator="-"), [b"a-b", b"c", b""]),
    "join_all": (lambda: tf.strings.reduce_join(rows(), separator="-"), b"abc"),
    "decode": (lambda: tf.strings.unicode_decode(UTF8, "UTF-8"), [[97, 233, 28450], [120, 65533], []]),
    "offsets": (lambda: tf.strings.unicode_decode_with_offsets(UTF8, "UTF-8")[1], [[0, 1, 3], [0, 1], []]),
    "characters": (lambda: tf.strings.unicode_split(UTF8[:1], "UTF-8"), [[b"a", "\u00e9".encode(), "\u6f22".encode()]]),
    "encode": (lambda: tf.strings.unicode_encode(tf.ragged.constant([[65], [66, 67]]), "UTF-8"), [b"A", b"BC"]),
    "encode_vector": (lambda: tf.strings.unicode_encode([65, 66], "UTF-16-BE"), b"\x00A\x00B"),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    build, expected = CASES[name]
    assert evaluate(build) == expected
