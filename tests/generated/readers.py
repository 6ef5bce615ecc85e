"""Reads one file of a kind by a TensorFlow: the real 1.15.5 (Python 3.7) or tfcompat. `stage[0]` says how far it came."""

import numpy as np
from google.protobuf import text_format

TIMEOUT = 10000


def _session(tf):
    return tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=TIMEOUT, inter_op_parallelism_threads=1))


def _content(path):
    with open(path, "rb") as source:
        return source.read()


def _fed(tf, operation):
    """A value for a placeholder: ones, of two rows where a size is unknown."""
    tensor = operation.outputs[0]
    sizes = [2 if n is None or n < 0 else min(n, 8) for n in (tensor.shape.as_list() if tensor.shape.ndims is not None else [])]
    dtype = tensor.dtype.as_numpy_dtype
    return np.full(sizes, b"1", object) if tensor.dtype == tf.string else np.ones(sizes, dtype)


def run_graph(tf, stage, graph, most=8):
    """Runs the operations that nothing takes, and fetches the tensors that have values."""
    operations = graph.get_operations()
    taken = set(t.op for op in operations for t in op.inputs) | set(c for op in operations for c in op.control_inputs)
    ends = [op for op in operations if op not in taken][-most:]
    fetches = [op.outputs[0] if op.outputs and op.outputs[0].dtype.base_dtype not in (tf.resource, tf.variant) else op for op in ends]
    feed = {}
    for op in operations:
        if op.type == "Placeholder" and op.outputs[0].dtype not in (tf.resource, tf.variant):
            feed[op.outputs[0]] = _fed(tf, op)
    stage[0] = "run"
    with _session(tf) as session:
        session.run(fetches, feed)


def graph_def(tf, folder, stage):
    definition = tf.GraphDef()
    stage[0] = "parse"
    definition.ParseFromString(_content(folder + "/graph.pb"))
    with tf.Graph().as_default() as graph:
        stage[0] = "import"
        tf.import_graph_def(definition, name="")
        run_graph(tf, stage, graph)


def graph_text(tf, folder, stage):
    stage[0] = "parse"
    definition = text_format.Parse(_content(folder + "/graph.pbtxt").decode(), tf.GraphDef())
    with tf.Graph().as_default() as graph:
        stage[0] = "import"
        tf.import_graph_def(definition, name="")
        run_graph(tf, stage, graph)


def meta_graph(tf, folder, stage):
    with tf.Graph().as_default() as graph:
        stage[0] = "import"
        tf.train.import_meta_graph(folder + "/m.meta")
        for key in graph.get_all_collection_keys():
            graph.get_collection(key)


def saved_model(tf, folder, stage):
    with tf.Graph().as_default(), _session(tf) as session:
        stage[0] = "import"
        loaded = tf.saved_model.loader.load(session, ["serve"], folder)
        stage[0] = "names"
        for signature in loaded.signature_def.values():
            for info in signature.outputs.values():
                session.graph.as_graph_element(info.name)


def _run(tf, stage, build):
    with tf.Graph().as_default(), _session(tf) as session:
        stage[0] = "build"
        built = build()
        stage[0] = "run"
        return session.run(built)


def image(tf, folder, stage):
    data = _content(folder + "/image")
    return _run(tf, stage, lambda: tf.image.decode_image(tf.placeholder_with_default(data, [])))


def jpeg(tf, folder, stage):
    data = _content(folder + "/image")
    return _run(tf, stage, lambda: [tf.image.decode_jpeg(tf.placeholder_with_default(data, [])), tf.image.extract_jpeg_shape(data)])


def bmp(tf, folder, stage):
    data = _content(folder + "/image")
    return _run(tf, stage, lambda: tf.image.decode_bmp(tf.placeholder_with_default(data, [])))


def wav(tf, folder, stage):
    data = _content(folder + "/sound")
    return _run(tf, stage, lambda: tf.audio.decode_wav(tf.placeholder_with_default(data, [])))


def csv(tf, folder, stage):
    lines = _content(folder + "/lines").split(b"\n")

    def build():
        defaults = [[1.5], [b"x"], tf.constant([3], tf.int64), tf.constant([], tf.int32)]
        return tf.io.decode_csv(np.array(lines, object), defaults)

    return _run(tf, stage, build)


def numbers(tf, folder, stage):
    words = np.array(_content(folder + "/lines").split(b"\n"), object)
    return _run(tf, stage, lambda: [tf.string_to_number(words, t) for t in (tf.float32, tf.int32, tf.int64)])


def json_example(tf, folder, stage):
    data = _content(folder + "/lines")
    return _run(tf, stage, lambda: tf.io.decode_json_example(data))


def example(tf, folder, stage):
    data = np.array([_content(folder + "/example")] * 2, object)
    features = {
        "f": tf.FixedLenFeature([2], tf.float32), "i": tf.FixedLenFeature([], tf.int64), "s": tf.VarLenFeature(tf.string),
        "d": tf.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
    }  # fmt: skip
    _run(tf, stage, lambda: tf.io.parse_single_example(data[0], features))
    return _run(tf, stage, lambda: tf.io.parse_example(data, features))


def sequence_example(tf, folder, stage):
    data = _content(folder + "/example")
    context = {"i": tf.FixedLenFeature([], tf.int64)}
    lists = {"f": tf.FixedLenSequenceFeature([2], tf.float32), "s": tf.VarLenFeature(tf.string)}
    return _run(tf, stage, lambda: tf.io.parse_single_sequence_example(data, context, lists))


def proto(tf, folder, stage):
    data = np.array([_content(folder + "/example")], object)
    names, kinds = ["name", "op", "input", "device"], [tf.string] * 4
    return _run(tf, stage, lambda: tf.io.decode_proto(data, "tensorflow.NodeDef", names, kinds))


def tensor(tf, folder, stage):
    data = _content(folder + "/tensor")
    return _run(tf, stage, lambda: tf.io.parse_tensor(tf.placeholder_with_default(data, []), tf.float32))


def decompressed(kind):
    def read(tf, folder, stage):
        data = np.array([_content(folder + "/data")], object)
        return _run(tf, stage, lambda: tf.io.decode_compressed(data, kind))

    return read


def raw(tf, folder, stage):
    data = np.array([_content(folder + "/data")], object)
    return _run(tf, stage, lambda: tf.io.decode_raw(data, tf.int32))


def record_file(kind):
    def read(tf, folder, stage):
        stage[0] = "read"
        return list(tf.io.tf_record_iterator(folder + "/data", kind))

    return read


def record_dataset(kind):
    def read(tf, folder, stage):
        with tf.Graph().as_default(), _session(tf) as session:
            stage[0] = "build"
            following = tf.data.TFRecordDataset(folder + "/data", kind).make_one_shot_iterator().get_next()
            stage[0] = "run"
            try:
                while True:
                    session.run(following)
            except tf.errors.OutOfRangeError:
                return None

    return read


def events(tf, folder, stage):
    stage[0] = "read"
    return list(tf.train.summary_iterator(folder + "/data"))


def checkpoint(tf, folder, stage):
    stage[0] = "open"
    reader = tf.train.NewCheckpointReader(folder + "/m")
    shapes = reader.get_variable_to_shape_map()
    kinds = reader.get_variable_to_dtype_map()
    stage[0] = "read"
    for name in sorted(shapes):
        reader.get_tensor(name)
    if not shapes:
        return
    stage[0] = "restore"
    name = sorted(shapes)[0]
    _run(tf, stage, lambda: tf.raw_ops.RestoreV2(prefix=folder + "/m", tensor_names=[name], shape_and_slices=[""], dtypes=[kinds[name]]))


def checkpoint_state(tf, folder, stage):
    stage[0] = "read"
    found = tf.train.get_checkpoint_state(folder)
    return found and found.model_checkpoint_path, tf.train.latest_checkpoint(folder)


def vocabulary(tf, folder, stage):
    def build():
        table = tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(folder + "/words", tf.string, 0, tf.int64, 1, delimiter=" "), -1
        )
        with tf.control_dependencies([tf.tables_initializer()]):
            return table.lookup(tf.constant([b"a", b"b"]))

    return _run(tf, stage, build)


def keras_model(tf, folder, stage):
    stage[0] = "read"
    tf.keras.backend.clear_session()
    tf.keras.models.load_model(folder + "/model.h5")


def pattern(tf, folder, stage):
    regex = _content(folder + "/pattern")
    text = np.array([b"ab12 cd", b"", b"aaa\xff"], object)
    return _run(tf, stage, lambda: [
        tf.strings.regex_full_match(text, tf.constant(regex)), tf.strings.regex_replace(text, tf.constant(regex), tf.constant(b"<\\0\\1>")),
    ])  # fmt: skip


READERS = {
    "graph": graph_def, "graph_text": graph_text, "meta_graph": meta_graph, "saved_model": saved_model, "image": image, "jpeg": jpeg, "bmp": bmp, "wav": wav,
    "csv": csv, "numbers": numbers, "json_example": json_example, "example": example, "sequence_example": sequence_example,
    "proto": proto, "tensor": tensor, "gzip": decompressed("GZIP"), "zlib": decompressed("ZLIB"), "raw": raw,
    "records": record_file(""), "records_gzip": record_file("GZIP"), "records_zlib": record_file("ZLIB"),
    "dataset": record_dataset(""), "dataset_gzip": record_dataset("GZIP"), "events": events, "checkpoint": checkpoint,
    "checkpoint_state": checkpoint_state, "vocabulary": vocabulary, "keras_model": keras_model, "pattern": pattern,
}  # fmt: skip


def warm(tf):
    """Loads what the first use loads, so that it does not count as memory of an input."""
    with tf.Graph().as_default(), _session(tf) as session:
        session.run(tf.ones([2]) + 1.0)
