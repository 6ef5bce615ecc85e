"""Whole files of every kind that readers.READERS knows: what the mutations begin with."""

import gzip
import io
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import simplejpeg
from oracle import golden
from PIL import Image

import tfcompat as tf
from generated import mutations
from tfcompat._src.function.defun import Defun

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


@dataclass(frozen=True)
class Seed:
    """A whole input: its kind, its files by name, and for those that are damaged in which ways."""

    kind: str
    name: str
    files: dict[str, bytes]
    damages: dict[str, tuple[str, ...]]


def _one(kind, file, contents, *damages):
    return [Seed(kind, str(i), {file: data}, {file: damages}) for i, data in enumerate(contents)]


# ---- graphs ----


def _arithmetic():
    x = tf.placeholder(tf.float32, [None, 3], "x")
    w = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
    y = tf.nn.softmax(tf.matmul(x, w) + [1.0, 2.0])
    tf.concat([tf.reshape(y, [-1]), tf.strided_slice(y, [0, 0], [1, 2], [1, 1])[0]], 0)


def _convolution():
    x = tf.ones([1, 6, 6, 1])
    y = tf.nn.conv2d(x, tf.ones([3, 3, 1, 2]), [1, 1, 1, 1], "SAME")
    tf.reduce_mean(tf.nn.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), [1, 2])


def _loop():
    tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * 2.0), [0, tf.ones([2])])


def _branch():
    p = tf.placeholder(tf.bool, [], "p")
    tf.identity(tf.cond(p, lambda: tf.ones([2]), lambda: tf.zeros([2])))


def _variable():
    v = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32)
    u = tf.raw_ops.VarHandleOp(shape=[], dtype=tf.int32, shared_name="u")
    made = tf.assign(v, [1.0, 2.0]), tf.raw_ops.AssignVariableOp(resource=u, value=3)
    with tf.control_dependencies(made):
        tf.assign_add(v, [1.0, 1.0])
        tf.identity(tf.raw_ops.ReadVariableOp(resource=u, dtype=tf.int32))


def _function():
    @Defun(tf.float32, func_name="twice")
    def twice(x):
        return x * 2.0

    @Defun(tf.float32, func_name="more")
    def more(x):
        return twice(x) + 1.0

    tf.identity(more(tf.ones([2])))


def _strings():
    parts = tf.string_split(tf.constant([b"a b", b"c"]), " ")
    tf.strings.join([parts.values, tf.as_string(parts.indices[:, 0])], "-")


def _arrays():
    rows = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(tf.ones([3, 2]))
    tf.identity(rows.read(1))
    tf.identity(rows.stack())


def graph(build):
    """The GraphDef of what a function builds."""
    with tf.Graph().as_default() as made:
        build()
        return made.as_graph_def().SerializeToString(deterministic=True)


def _graphs():
    builders = (_arithmetic, _convolution, _loop, _branch, _variable, _function, _strings, _arrays)
    found = [graph(build) for build in builders]
    found += [golden.read(str(GOLDEN / f"loops/{name}.json.gz"))["graph"] for name in ("cases_nodes", "cases_functions")]
    return _one("graph", "graph.pb", found, "message", "message", "message", "bytes")


def _meta_graphs():
    with tf.Graph().as_default():
        tf.get_variable("v", initializer=tf.constant([1.0, 2.0]))
        tf.get_variable("u", initializer=tf.constant(3), use_resource=True)
        tf.add_to_collection("mine", tf.ones([], name="one"))
        tf.train.Saver()
        message = tf.train.export_meta_graph()
    text = str(message).encode()
    return _one("meta_graph", "m.meta", [message.SerializeToString(deterministic=True)], "message", "message", "bytes") + _one(
        "meta_graph", "m.meta", [text], "bytes"
    )


def _saved_models():
    found = []
    for name in ("classifier", "tables"):
        root = GOLDEN / "saved_model" / name
        files = {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}
        found.append(Seed("saved_model", name, files, {"saved_model.pb": ("message", "message", "bytes")}))
    return found


# ---- images and sound ----

PIXELS = np.random.RandomState(0).randint(0, 255, (9, 7, 3)).astype(np.uint8)


def _saved(kind, pixels=PIXELS, **options):
    target = io.BytesIO()
    Image.fromarray(pixels).save(target, kind, **options)
    return target.getvalue()


def jpegs():
    """Baseline and progressive, in colours and gray."""
    return [simplejpeg.encode_jpeg(PIXELS), _saved("JPEG", progressive=True), _saved("JPEG", PIXELS[:, :, 0])]


def pngs():
    """In colours, gray and with a palette."""
    return [_saved("PNG"), _saved("PNG", PIXELS[:, :, 0]), _saved("PNG", np.zeros((4, 4), bool))]


def gifs():
    """One frame, and two."""
    frames = [Image.fromarray(PIXELS[:, :, i]) for i in range(2)]
    target = io.BytesIO()
    frames[0].save(target, "GIF", save_all=True, append_images=frames[1:])
    return [_saved("GIF", PIXELS[:, :, 0]), target.getvalue()]


def wav(channels=2, samples=20):
    """A RIFF file of 16-bit samples."""
    body = np.arange(channels * samples, dtype="<i2").tobytes()
    form = struct.pack("<HHIIHH", 1, channels, 8000, 16000 * channels, 2 * channels, 16)
    return b"RIFF" + struct.pack("<I", 36 + len(body)) + b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(body)) + body


def _media():
    return [
        *_one("image", "image", pngs(), "png", "bytes"), *_one("image", "image", gifs() + jpegs()[:1], "bytes"),
        *_one("jpeg", "image", jpegs(), "bytes"), *_one("bmp", "image", [_saved("BMP"), _saved("BMP", PIXELS[:, :, 0])], "bytes"),
        *_one("wav", "sound", [wav(), wav(1, 5)], "bytes"),
    ]  # fmt: skip


# ---- records and messages ----


def example():
    """A serialized Example."""
    feature = tf.train.Feature
    return tf.train.Example(features=tf.train.Features(feature={
        "f": feature(float_list=tf.train.FloatList(value=[1.0, 2.0])), "i": feature(int64_list=tf.train.Int64List(value=[300])),
        "s": feature(bytes_list=tf.train.BytesList(value=[b"x", b"yz"])),
        "d": feature(float_list=tf.train.FloatList(value=[3.0, 4.0, 5.0])),
    })).SerializeToString(deterministic=True)  # fmt: skip


def _sequence_example():
    feature, features = tf.train.Feature, tf.train.FeatureList
    rows = [feature(float_list=tf.train.FloatList(value=[float(i), 1.0])) for i in range(3)]
    words = [feature(bytes_list=tf.train.BytesList(value=[b"w"] * i)) for i in range(3)]
    return tf.train.SequenceExample(
        context=tf.train.Features(feature={"i": feature(int64_list=tf.train.Int64List(value=[7]))}),
        feature_lists=tf.train.FeatureLists(feature_list={"f": features(feature=rows), "s": features(feature=words)}),
    ).SerializeToString(deterministic=True)


def _messages():
    node = tf.NodeDef(name="n", op="Add", input=["a", "b"], device="/cpu:0").SerializeToString()
    content = tf.make_tensor_proto(np.arange(6, dtype=np.float32).reshape(2, 3)).SerializeToString()
    listed = tf.make_tensor_proto(1.5, shape=[2, 2]).SerializeToString()
    json = b'{"features": {"feature": {"a": {"int64List": {"value": ["1", "2"]}}, "b": {"bytesList": {"value": ["YQ=="]}}}}}'
    return [
        *_one("example", "example", [example()], "message", "bytes"), *_one("proto", "example", [node], "message", "bytes"),
        *_one("sequence_example", "example", [_sequence_example()], "message", "bytes"),
        *_one("tensor", "tensor", [content, listed], "message", "bytes"), *_one("json_example", "lines", [json], "bytes"),
        *_one("csv", "lines", [b'1.5,ab,3,4\n2,"a ""b""",,5\n,,-9,1'], "bytes"), *_one("numbers", "lines", [b"1\n-20\n300"], "bytes"),
        *_one("raw", "data", [bytes(range(24))], "bytes"),
        *_one("pattern", "pattern", [rb"(\w+)\s*[a-z\d]{1,3}?", rb"(?i)^a|b$|(?:c)", rb"\pL[^\x{41}-Z]*\b"], "bytes"),
        *_one("vocabulary", "words", [b"a 1\nb 2\nc 3\n"], "bytes"),
    ]  # fmt: skip


def _record_files():
    plain = b"".join(mutations.record(d) for d in (b"one", example(), b""))
    event = tf.Event(wall_time=1.0, step=3, summary=tf.Summary(value=[tf.Summary.Value(tag="t", simple_value=2.0)]))
    logged = mutations.record(tf.Event(file_version="brain.Event:2").SerializeToString()) + mutations.record(event.SerializeToString())
    packed = {"gzip": gzip.compress(plain, mtime=0), "zlib": zlib.compress(plain)}
    found = [*_one("records", "data", [plain], "records", "bytes"), *_one("dataset", "data", [plain], "bytes")]
    for name, data in packed.items():
        found += _one(f"records_{name}", "data", [data], "bytes") + _one(name, "data", [data], "bytes")
    return [*found, *_one("dataset_gzip", "data", [packed["gzip"]], "bytes"), *_one("events", "data", [logged], "records", "bytes")]


def _checkpoints():
    root, found = GOLDEN / "checkpoint", []
    for name in ("v1", "v1_parts"):
        found.append(Seed("checkpoint", name, {"m": (root / name).read_bytes()}, {"m": ("table", "table", "bytes")}))
    for name in ("v2", "v2_parts", "objects-1"):
        files = {p.name.replace(name, "m", 1): p.read_bytes() for p in sorted(root.glob(name + ".*"))}
        ways = {"m.index": ("table", "table", "table", "bytes")} | {f: ("bytes",) for f in files if ".data" in f}
        found.append(Seed("checkpoint", name, files, ways))
    state = b'model_checkpoint_path: "m-2"\nall_model_checkpoint_paths: "m-1"\nall_model_checkpoint_paths: "m-2"\n'
    return [*found, *_one("checkpoint_state", "checkpoint", [state], "bytes")]


def all_seeds():
    """Every seed, in a fixed order."""
    model = (GOLDEN / "keras/model.h5").read_bytes()
    return [
        *_graphs(), *_meta_graphs(), *_saved_models(), *_media(), *_messages(), *_record_files(), *_checkpoints(),
        *_one("keras_model", "model.h5", [model], "bytes"),
    ]  # fmt: skip
