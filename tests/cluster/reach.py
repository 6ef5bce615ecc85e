"""The op types that can name a file, an address, a process or Python, with a run of each; and why the strings of all others name none.

`python -m cluster.reach` in tests/ prints the table for people.
"""

import numpy as np

import tfcompat as tf
from tfcompat._src.cluster import server  # noqa: F401  (registers the op types of servers)
from tfcompat._src.graph import op_spec
from tfcompat._src.nodes import raw

TYPES = {"output_types": [tf.string], "output_shapes": [tf.TensorShape([])]}


def elements(dataset, kinds=(tf.string,)):
    """The operations that take one element of a dataset, in order."""
    about = {"output_types": list(kinds), "output_shapes": [tf.TensorShape(None)] * len(kinds)}
    iterator = raw.IteratorV2(shared_name="", container="", **about)
    return [raw.MakeIterator(dataset, iterator), raw.IteratorGetNext(iterator, **about)]


def one():
    """A dataset of one string."""
    return raw.TensorDataset([tf.constant("text")], output_shapes=[tf.TensorShape([])])


def read_by(reader, version, many):
    """Reads by a reader that takes the path from a queue."""

    def build(path):
        queue = getattr(raw, "FIFOQueue" + version)(component_types=[tf.string])
        fill = getattr(raw, "QueueEnqueue" + version)(queue, [tf.constant(path)])
        read = getattr(raw, f"ReaderRead{'UpTo' if many else ''}{version}")
        close = getattr(raw, "QueueClose" + version)(queue)
        return [fill, close, read(reader(), queue, *([np.int64(3)] if many else []))]

    return build


def table_of(version):
    def build(path):
        table = getattr(raw, "HashTable" + version)(key_dtype=tf.string, value_dtype=tf.int64)
        return [getattr(raw, "InitializeTableFromTextFile" + version)(table, path, key_index=-2, value_index=-1)]

    return build


def files(name, *others, kinds=(tf.string,), **attrs):
    """The dataset of an op type whose first argument is a list of files."""
    return lambda path: elements(getattr(raw, name)([path], *others, **attrs), kinds)


def saved(name):
    names = [["x"], [""]] if name != "Save" else [["x"]]
    return lambda path: [getattr(raw, name)(path, *names, [tf.constant(1.0)])]


_V1, _V2 = "", "V2"
_LENGTHS = [np.int64(n) for n in (0, 1, 0, 0)]
_CSV = ["", np.int64(100), False, ",", True, "", np.zeros(0, np.int64), [np.array([""], object)]]
_READERS = {
    "WholeFileReader": {}, "TextLineReader": {}, "TFRecordReader": {}, "FixedLengthRecordReader": {"record_bytes": 1},
}  # fmt: skip


def reader(name, version=_V1):
    return lambda: getattr(raw, name + version)(**_READERS.get(name, {}))


def debugged(name, url):
    return lambda path: [getattr(raw, name)(tf.constant([1.0]), tensor_name="x:0", debug_urls=[url + path])]


_DEBUG = ("DebugIdentity", "DebugNanCount", "DebugNumericSummary")

FILES = {
    **{name: debugged(name, "file://") for name in _DEBUG},
    "ReadFile": lambda path: [raw.ReadFile(path)],
    "WriteFile": lambda path: [raw.WriteFile(path, "text")],
    "MatchingFiles": lambda path: [raw.MatchingFiles(path + "*")],
    "RecordInput": lambda path: [raw.RecordInput(file_pattern=path + "*", batch_size=1)],
    "ImmutableConst": lambda path: [raw.ImmutableConst(dtype=tf.uint8, shape=[1], memory_region_name=path)],
    "PrintV2": lambda path: [raw.PrintV2("text", output_stream=f"file://{path}")],
    "FixedUnigramCandidateSampler": lambda path: [
        raw.FixedUnigramCandidateSampler(
            np.zeros((1, 1), np.int64), num_true=1, num_sampled=1, unique=False, range_max=1, vocab_file=path
        ).sampled_candidates
    ],
    "DecodeProtoV2": lambda path: [
        raw.DecodeProtoV2(
            ["x"], message_type="A", field_names=["b"], output_types=[tf.int64], descriptor_source=path
        ).sizes
    ],
    "EncodeProto": lambda path: [
        raw.EncodeProto([[1]], [tf.constant([[1]], tf.int64)], message_type="A", field_names=["b"], descriptor_source=path)
    ],
    "SaveV2": saved("SaveV2"), "SaveSlices": saved("SaveSlices"), "Save": saved("Save"),
    "RestoreV2": lambda path: [raw.RestoreV2(path, ["x"], [""], dtypes=[tf.float32])],
    "Restore": lambda path: [raw.Restore(path, "x", dt=tf.float32)],
    "RestoreSlice": lambda path: [raw.RestoreSlice(path, "x", "", dt=tf.float32)],
    "MergeV2Checkpoints": lambda path: [raw.MergeV2Checkpoints([path], path)],
    "GenerateVocabRemapping": lambda path: [
        raw.GenerateVocabRemapping(path, path, new_vocab_offset=0, num_new_vocab=1).remapping
    ],
    "LoadAndRemapMatrix": lambda path: [
        raw.LoadAndRemapMatrix(path, "x", np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(0, np.float32), num_rows=1, num_cols=1)
    ],
    "InitializeTableFromTextFile": table_of(_V1), "InitializeTableFromTextFileV2": table_of(_V2),
    "CreateSummaryFileWriter": lambda path: [raw.CreateSummaryFileWriter(raw.SummaryWriter(), path, 1, 1, "")],
    "SequenceFileDataset": files("SequenceFileDataset", kinds=(tf.string, tf.string), output_types=[tf.string, tf.string]),
    "TextLineDataset": files("TextLineDataset", "", np.int64(0)),
    "TFRecordDataset": files("TFRecordDataset", "", np.int64(0)),
    "FixedLengthRecordDataset": files("FixedLengthRecordDataset", *_LENGTHS),
    "FixedLengthRecordDatasetV2": files("FixedLengthRecordDatasetV2", *_LENGTHS, ""),
    "DatasetToTFRecord": lambda path: [raw.DatasetToTFRecord(one(), path, "")],
    "ExperimentalDatasetToTFRecord": lambda path: [raw.ExperimentalDatasetToTFRecord(one(), path, "")],
    "CacheDataset": lambda path: elements(raw.CacheDataset(one(), path, **TYPES)),
    "CacheDatasetV2": lambda path: elements(raw.CacheDatasetV2(one(), path, raw.AnonymousMemoryCache()[0], **TYPES)),
    "SnapshotDataset": lambda path: elements(raw.SnapshotDataset(one(), path, **TYPES)),
    **{f"{kind}{name}": (lambda path, name=kind + name: elements(getattr(raw, name)([path + "*"])))
       for kind in ("", "Experimental") for name in ("MatchingFilesDataset",)},
    **{f"{kind}SqlDataset": (lambda path, name=kind + "SqlDataset": elements(getattr(raw, name)("sqlite", path, "SELECT 'a'", **TYPES)))
       for kind in ("", "Experimental")},
    **{f"{kind}CSVDataset": files(kind + "CSVDataset", *_CSV, output_shapes=[tf.TensorShape([])]) for kind in ("", "Experimental")},
    **{f"{kind}LMDBDataset": files(kind + "LMDBDataset", kinds=(tf.string, tf.string), output_types=[tf.string] * 2, output_shapes=[tf.TensorShape([])] * 2)
       for kind in ("", "Experimental")},
    "ReaderRead": read_by(reader("WholeFileReader"), _V1, False), "ReaderReadUpTo": read_by(reader("TextLineReader"), _V1, True),
    "ReaderReadV2": read_by(reader("WholeFileReader", _V2), _V2, False), "ReaderReadUpToV2": read_by(reader("TextLineReader", _V2), _V2, True),
    **{name: read_by(reader(name), _V1, False) for name in _READERS},
    **{name + _V2: read_by(reader(name, _V2), _V2, False) for name in _READERS},
    "LMDBReader": read_by(raw.LMDBReader, _V1, False),
}  # fmt: skip
"""Runs of the op types that open the file at a path, by op type: lists of what is run in turn."""


def called(name):
    return lambda token: [getattr(raw, name)([], token=token, Tout=[tf.int64])]


PYTHON = {name: called(name) for name in ("PyFunc", "PyFuncStateless", "EagerPyFunc", "EagerPyFuncGradient")}
"""Runs of the op types that call a Python function, by its token."""

ADDRESSES = {name: debugged(name, "grpc://") for name in _DEBUG}
"""Runs of the op types that connect to an address."""

PROCESS = {"Abort": lambda _: [raw.Abort(error_msg="text", exit_without_error=True)]}
"""Runs of the op types that end the process."""

_TEXT = "text, or bytes of a picture, a sound or a message"
_TENSOR = "a name of a node, a tensor, a variable, a feature or a key"
_CHOICE = "one of a few words"
_RESOURCE = "a handle or name of a resource that the run's own session or server holds"
_CONFIG = "a message that configures trees, loops or functions in memory"
_DEVICE = "a device of the session, at addresses that the cluster's definition has"
REASONS = {
    **dict.fromkeys(("batching_queue", "container", "shared_name", "handle", "table_handle", "reader_handle", "string_handle", "list",
                     "stack_name", "tensor_array_name", "var_name", "display_name", "frame_name", "source"), _RESOURCE),
    **dict.fromkeys(("communication_hint", "compression_type", "dct_method", "dst_format", "src_format", "encoding", "executor_type",
                     "input_encoding", "interpolation", "kernel_type", "method", "noise", "row_partition_types", "set_operation",
                     "split_types", "splits", "optimizations", "optimization_configs", "transformations", "equation"), _CHOICE),
    **dict.fromkeys(("context_dense_keys", "context_sparse_keys", "dense_keys", "sparse_keys", "feature_list_dense_keys",
                     "feature_list_dense_missing_assumed_empty", "feature_list_sparse_keys", "keys", "names", "debug_name", "tag", "tags",
                     "counter_prefix", "stateful_whitelist", "tensor_name", "debug_ops_spec"), _TENSOR),
    **dict.fromkeys(("description", "fill", "left_pad", "right_pad", "message", "na_value", "field_delim", "pattern", "placeholder",
                     "rewrite", "separator", "sep", "template", "xmp_metadata", "basename", "bytes", "contents", "data", "delimiter", "event",
                     "input", "input_bytes", "input_data", "inputs", "json_examples", "labels", "records", "serialized", "serialized_sparse",
                     "serialized_summary_metadata", "string_tensor", "summary_metadata", "tensor", "state"), _TEXT),
    **dict.fromkeys(("config", "config_proto", "dense_config", "sparse_config", "learner_config", "params", "input_spec", "stats_config",
                     "stream_state", "summaries", "tree_config", "tree_ensemble_config", "tree_ensemble_serialized"), _CONFIG),
    **dict.fromkeys(("devices", "target", "send_device", "recv_device"), _DEVICE),
    "forward": "a node whose kernel is run, and asks for its files as in a node of its own",
}  # fmt: skip
"""Why strings of other op types name nothing outside of the process, by the name of the input or attribute."""


OF_INTEROP = {"token": "an object of Python that this process holds, which `interop/held.py` refuses to others"}
"""The same for op types that are registered when a program first uses flax or optax."""


def strings(spec):
    """The names of the inputs and attributes of an op type that take any string."""
    signature = spec.signature
    inputs = [arg.name for arg in signature.inputs if arg.dtype == tf.string]
    return inputs + [attr.name for attr in signature.attrs.values() if attr.kind in ("string", "list(string)") and attr.allowed is None]


def all_ops():
    """The records of all op types, those of late families included."""
    while op_spec.LATE_FAMILIES:
        op_spec.find("none of this name")
    return sorted(op_spec.registered(), key=lambda spec: spec.name)


if __name__ == "__main__":
    for title, ops in (("files", FILES), ("addresses", ADDRESSES), ("Python functions", PYTHON), ("the process", PROCESS)):
        print(f"{title}: refused ({len(ops)}): {', '.join(sorted(ops))}")
    print(f"of {len(all_ops())} op types; strings of the others, by name of the input or attribute:")
    for name, reason in sorted(REASONS.items()):
        print(f"  {name}: {reason}")
