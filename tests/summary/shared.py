"""What the recorder does under TensorFlow 1.15 and the tests do under tfcompat; runs under Python 3.7 too."""

import json
import os

RECORDS = [b"first", b"", b"\x00\xff" * 40, b"last record"]
OPTIONS = [
    ("plain", {}),
    ("gzip", {"compression_type": "GZIP"}),
    ("zlib", {"compression_type": "ZLIB"}),
    ("zlib_level", {"compression_type": "ZLIB", "compression_level": 1}),
    ("gzip_stored", {"compression_type": "GZIP", "compression_level": 0}),
    ("raw_deflate", {"compression_type": "ZLIB", "window_bits": -15}),
    ("huffman", {"compression_type": "ZLIB", "compression_strategy": 2, "mem_level": 4}),
]
DAMAGED = [("plain", ""), ("gzip", "GZIP"), ("zlib", "ZLIB")]


def varint(number):
    """A number as protobuf writes it."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes(found) + bytes([number])


def outcome(tf, path, options):
    """How many records a file gives, and the error that then comes."""
    count = 0
    try:
        for _ in tf.python_io.tf_record_iterator(path, options):
            count += 1
    except tf.errors.OpError as error:
        return [count, type(error).__name__, error.message]
    return [count, "", ""]


def damaged(tf, data, compression, folder):
    """The outcomes for a file cut off at each length and with a bit of each byte flipped."""
    path = os.path.join(folder, "damaged")
    options = tf.python_io.TFRecordOptions(compression)
    found = {}
    for place in range(len(data)):
        for kind, changed in (
            ("cut", data[:place]),
            ("flipped", data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]),
        ):
            with open(path, "wb") as sink:
                sink.write(changed)
            found["%s %d" % (kind, place)] = outcome(tf, path, options)
    return found


def write_events(tf, folder):
    """Writes each kind of event with a FileWriter."""
    with tf.Graph().as_default() as graph:
        tf.constant([1, 2], name="numbers")
    writer = tf.summary.FileWriter(folder, graph, filename_suffix=".end")
    writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 1)
    metadata = tf.SummaryMetadata(plugin_data=tf.SummaryMetadata.PluginData(plugin_name="text", content=b"x"))
    for step in (2, 3):
        value = tf.Summary.Value(tag="loss", simple_value=step / 2.0, metadata=metadata)
        writer.add_summary(tf.Summary(value=[value]).SerializeToString(), step)
    writer.add_run_metadata(tf.RunMetadata(), "run", 4)
    writer.add_event(tf.Event(step=5, wall_time=1.5))
    writer.close()


def traces(timeline, step_stats):
    """The trace of a step, with and without arrows and memory, and the maxima of the allocators."""
    found = []
    for show_dataflow in (True, False):
        for show_memory in (True, False):
            analysis = timeline.Timeline(step_stats).analyze_step_stats(show_dataflow, show_memory)
            maxima = {
                name: [most.timestamp, most.num_bytes, sorted(most.tensors)]
                for name, most in analysis.allocator_maximums.items()
            }
            found.append([json.loads(analysis.chrome_trace.format_to_string()), maxima])
    return found


def profiles(tf, folder):
    """The text of profiles of a graph, by name."""
    builder = tf.profiler.ProfileOptionBuilder
    found = {}
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [8, 28, 28, 1], name="x")
        with tf.variable_scope("net"):
            h = tf.layers.conv2d(x, 6, 3, strides=2, activation=tf.nn.relu, name="c1")
            h = tf.layers.max_pooling2d(h, 2, 2)
            h = tf.layers.dense(tf.layers.flatten(h), 10, name="d") * tf.get_variable("scale", [])
            tf.get_variable("frozen", [3], trainable=False)
        tf.reduce_mean(tf.nn.softmax(tf.rsqrt(h) - tf.squared_difference(h, 1.0)), name="mean")
        kinds = {
            "params": builder.trainable_variables_parameter(),
            "flops": dict(builder.float_operation(), order_by="name"),
            "all": builder(builder.trainable_variables_parameter())
            .with_accounted_types([".*"])
            .select(["params", "float_ops", "op_types", "occurrence"])
            .build(),
            "shallow": builder(builder.float_operation()).with_max_depth(2).order_by("name").build(),
            "started": builder(builder.trainable_variables_parameter())
            .with_node_names(start_name_regexes=["net.*"], hide_name_regexes=[".*bias"])
            .account_displayed_op_only(False)
            .order_by("params")
            .build(),
            "variables": builder().with_accounted_types(["VariableV2"]).select(["params"]).with_min_parameters(7).build(),
        }
        path = os.path.join(folder, "profile")
        for name, options in sorted(kinds.items()):
            for view in ("scope", "op"):
                options["output"] = "file:outfile=" + path
                message = tf.profiler.profile(graph, cmd=view, options=options)
                with open(path) as source:
                    text = source.read().partition("Profile:\n")[2]
                found[name + " " + view] = [text, message.total_parameters, message.total_float_ops]
    return found
