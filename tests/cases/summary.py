"""Summaries: the serialized messages to the byte, the nodes, tags and collections; WAV files."""

import numpy as np

from cases.table import F16, F32, F64, I8, I32, I64, U8, Table

TABLE = Table("summary")
case, error_case = TABLE.case, TABLE.error_case


def plain(name, build, **inputs):
    case(name, build, grad=False, **inputs)


EDGES = np.array([0.0, 1e-12, -1e-12, 1.1e-12, 1e20, 1e300, -1e300, 1.5, 1.5, -2.0, 9e19])
for _name, _input in (("f32", F32), ("f64", F64), ("f16", F16), ("i8", I8), ("i32", I32), ("i64", I64), ("u8", U8)):
    plain("histogram_" + _name, lambda tf, x: tf.summary.histogram("h", x), x=_input(40, 3))
plain("histogram_edges", lambda tf, x: tf.summary.histogram("h", x[:5]), x=EDGES)
plain("histogram_limits", lambda tf, x: tf.summary.histogram("h", x[7:]), x=EDGES)
plain("histogram_empty", lambda tf, x: tf.summary.histogram("h", x), x=np.zeros((0, 2), np.float32))
plain("histogram_unnamed", lambda tf, x: tf.summary.histogram(None, x), x=F32(3))
error_case("histogram_nan", lambda tf, x: tf.summary.histogram("h", x), x=np.array([1, np.nan, np.inf]))
error_case("histogram_inf", lambda tf, x: tf.summary.histogram("h", x), x=np.array([-np.inf, np.nan], np.float32))

plain("scalar", lambda tf, x, y: [tf.summary.scalar("s", x), tf.summary.scalar("s", y)], x=F32(), y=I64())
plain("scalar_half", lambda tf, x: tf.summary.scalar("a b/c:d", x), x=F16())
plain("scalar_family", lambda tf, x: tf.summary.scalar("s", x, family="fam", collections=["mine", "update_ops"]), x=F64())
error_case("scalar_vector", lambda tf, x: tf.summary.scalar("s", x), x=F32(2))


def scoped(tf, x):
    with tf.name_scope("outer"):
        first = tf.summary.scalar("s", x)
        second = tf.summary.histogram("h", [x], family="fam")
    return [first, second, tf.summary.merge([first, second], name="m"), tf.summary.merge_all(), tf.summary.merge_all(scope="outer/s")]


plain("merge", scoped, x=F32())
error_case("merge_duplicate", lambda tf, x: tf.summary.merge([tf.summary.scalar("s", x)] * 2), x=F32())
error_case("merge_garbage", lambda tf: tf.summary.merge([tf.constant(b"\xff\xff")]))
error_case("merge_nothing", lambda tf: tf.summary.merge([]))

for _channels in (1, 3, 4):
    _kind = "image_%d" % _channels
    plain(_kind + "_signed", lambda tf, x: tf.summary.image("i", x), x=F32(4, 5, 6, _channels))
    plain(_kind + "_positive", lambda tf, x: tf.summary.image("i", x, max_outputs=1), x=F32(2, 5, 6, _channels, low=0.0))
    plain(_kind + "_bytes", lambda tf, x: tf.summary.image("i", x, max_outputs=2), x=U8(3, 5, 6, _channels, high=255))
plain("image_half", lambda tf, x: tf.summary.image("i", x), x=F16(1, 5, 6, 3))
plain("image_double", lambda tf, x: tf.summary.image("i", x), x=F64(1, 5, 6, 3))
plain("image_bad_pixels", lambda tf, x: tf.summary.image("i", tf.log(x)), x=F32(1, 5, 6, 4))
plain("image_dark", lambda tf, x: tf.summary.image("i", x * 1e-9), x=F32(1, 5, 6, 1))
error_case("image_channels", lambda tf, x: tf.summary.image("i", x), x=F32(1, 4, 4, 2))
error_case("image_empty", lambda tf, x: tf.summary.image("i", x), x=F32(1, 0, 4, 3))

plain("audio", lambda tf, x: tf.summary.audio("a", x, 44100.4), x=F32(2, 20, 2))
plain("audio_one", lambda tf, x: tf.summary.audio("a", x, 0.2, max_outputs=1, family="fam"), x=F32(2, 20))
error_case("audio_rate", lambda tf, x: tf.summary.audio("a", x, 0.0), x=F32(2, 20))
error_case("audio_rank", lambda tf, x: tf.summary.audio("a", x, 1.0), x=F32(20))
error_case("audio_empty", lambda tf, x: tf.summary.audio("a", x, 1.0), x=F32(1, 0))

plain("text", lambda tf, x: tf.summary.text("t", tf.as_string(x)), x=I32(2, 2))
error_case("text_of_numbers", lambda tf, x: tf.summary.text("t", x), x=I32(2))
plain(
    "tensor_summary",
    lambda tf, x: [
        tf.summary.tensor_summary("t", x, summary_description="words", display_name="shown", family="fam"),
        tf.summary.tensor_summary("t", tf.cast(x, tf.complex64)),
        tf.summary.tensor_summary("t", x > 0),
        tf.raw_ops.TensorSummary(tensor=x, name="old"),
    ],
    x=F32(2, 3),
)

SOUND = np.array([[0.5, 0.1], [-1, 1], [2, -3], [1e-5, 0.5 / 32768]], np.float32)
plain("encode_wav", lambda tf, x: tf.audio.encode_wav(x, 8000), x=SOUND)
plain(
    "decode_wav",
    lambda tf, x: [
        tf.audio.decode_wav(tf.audio.encode_wav(x, 8000)),
        tf.audio.decode_wav(tf.audio.encode_wav(x, 8000), 3, 6),
        tf.audio.decode_wav(tf.audio.encode_wav(x, 8000), desired_channels=1, desired_samples=2),
    ],
    x=SOUND,
)
for _place in (0, 8, 12, 16, 20, 22, 28, 32, 34, 36, 40):

    def _damaged(tf, x, place=_place):
        whole = tf.audio.encode_wav(x, 8000)
        parts = [tf.substr(whole, 0, place), tf.constant(b"\x41"), tf.substr(whole, place + 1, tf.strings.length(whole) - place - 1)]
        return tf.audio.decode_wav(tf.string_join(parts))

    error_case("decode_wav_damaged_%d" % _place, _damaged, x=SOUND)
error_case("decode_wav_short", lambda tf, x: tf.audio.decode_wav(tf.substr(tf.audio.encode_wav(x, 8), 0, 30)), x=SOUND)
error_case("encode_wav_empty", lambda tf, x: tf.audio.encode_wav(x, 1), x=F32(0, 2))
error_case("encode_wav_rate", lambda tf, x: tf.audio.encode_wav(x, -1), x=F32(1, 2))


def written_by_nodes(tf, x):
    s = tf.contrib.summary
    with s.create_file_writer("logs", name="writer").as_default(), s.always_record_summaries():
        made = [s.scalar("s", x, step=1), s.generic("g", x, step=1), s.histogram("h", [x], family="fam", step=1)]
        made += [s.image("i", [[[[x]]]], step=1), s.audio("a", [[x]], 8.0, 1, step=1)]
        made += [s.graph(tf.constant(""), step=0), s.import_event("", name="event"), s.flush()]
    with s.create_file_writer("more", max_queue=2, name="other").as_default():
        with s.record_summaries_every_n_global_steps(2, tf.train.create_global_step()):
            made.append(s.scalar("every", x))
    return made + s.all_summary_ops() + s.summary_writer_initializer_op()


case("written_by_nodes", written_by_nodes, grad=False, fetch=False, x=F32())
