"""TensorFlow's protobuf messages and enums as attributes: `messages.NodeDef`, `messages.serving.PredictRequest`.

A name is looked up in package `tensorflow` first, then as a package of its own (`messages.google.protobuf.Any`).
"""

from __future__ import annotations

from tfcompat._src.proto import pool

PUBLIC = {
    "AttrValue": "tensorflow.AttrValue",
    "ConfigProto": "tensorflow.ConfigProto",
    "Event": "tensorflow.Event",
    "GPUOptions": "tensorflow.GPUOptions",
    "GraphDef": "tensorflow.GraphDef",
    "GraphOptions": "tensorflow.GraphOptions",
    "HistogramProto": "tensorflow.HistogramProto",
    "LogMessage": "tensorflow.LogMessage",
    "MetaGraphDef": "tensorflow.MetaGraphDef",
    "NameAttrList": "tensorflow.NameAttrList",
    "NodeDef": "tensorflow.NodeDef",
    "OptimizerOptions": "tensorflow.OptimizerOptions",
    "RunMetadata": "tensorflow.RunMetadata",
    "RunOptions": "tensorflow.RunOptions",
    "SessionLog": "tensorflow.SessionLog",
    "Summary": "tensorflow.Summary",
    "SummaryMetadata": "tensorflow.SummaryMetadata",
    "TensorInfo": "tensorflow.TensorInfo",
    "contrib.checkpoint.CheckpointableObjectGraph": "tensorflow.TrackableObjectGraph",
    "contrib.learn.monitors.SessionLog": "tensorflow.SessionLog",
    "contrib.learn.monitors.Summary": "tensorflow.Summary",
    "contrib.tensorboard.plugins.projector.EmbeddingInfo": "tensorflow.EmbeddingInfo",
    "contrib.tensorboard.plugins.projector.ProjectorConfig": "tensorflow.ProjectorConfig",
    "contrib.tensorboard.plugins.projector.SpriteMetadata": "tensorflow.SpriteMetadata",
    "contrib.tpu.profiler.Device": "tensorflow.profiler.Device",
    "contrib.tpu.profiler.Resource": "tensorflow.profiler.Resource",
    "contrib.tpu.profiler.Trace": "tensorflow.profiler.Trace",
    "contrib.tpu.profiler.TraceEvent": "tensorflow.profiler.TraceEvent",
    "profiler.AdviceProto": "tensorflow.tfprof.AdviceProto",
    "profiler.GraphNodeProto": "tensorflow.tfprof.GraphNodeProto",
    "profiler.MultiGraphNodeProto": "tensorflow.tfprof.MultiGraphNodeProto",
    "profiler.OpLogProto": "tensorflow.tfprof.OpLogProto",
    "summary.Event": "tensorflow.Event",
    "summary.SessionLog": "tensorflow.SessionLog",
    "summary.Summary": "tensorflow.Summary",
    "summary.SummaryDescription": "tensorflow.SummaryDescription",
    "summary.TaggedRunMetadata": "tensorflow.TaggedRunMetadata",
    "train.BytesList": "tensorflow.BytesList",
    "train.ClusterDef": "tensorflow.ClusterDef",
    "train.Example": "tensorflow.Example",
    "train.Feature": "tensorflow.Feature",
    "train.FeatureList": "tensorflow.FeatureList",
    "train.FeatureLists": "tensorflow.FeatureLists",
    "train.Features": "tensorflow.Features",
    "train.FloatList": "tensorflow.FloatList",
    "train.Int64List": "tensorflow.Int64List",
    "train.JobDef": "tensorflow.JobDef",
    "train.SaverDef": "tensorflow.SaverDef",
    "train.SequenceExample": "tensorflow.SequenceExample",
    "train.ServerDef": "tensorflow.ServerDef",
}


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for full_name in (f"tensorflow.{name}", name):
        try:
            found = pool.lookup(full_name)
        except KeyError:
            continue
        globals()[name] = found
        return found
    raise AttributeError(f"No protobuf message, enum or package is named {name!r}.")
