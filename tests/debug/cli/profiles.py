"""Screens of the profiler for times that stand here; with TensorFlow 1.15.5, `python profiles.py` writes them to recorded/profiles.json.

    PYTHONPATH= .../tf115/bin/python profiles.py
"""

import json
import os

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")
TIMES = {"gpu:0": [("a", 100, 0, 0, 5), ("b", 110, 2, 12, 20), ("b", 140, 1, 1500, 2500)], "cpu:0": [("c", 90, 3, 33, 40), ("d", 95, 0, 1, 1), ("_SOURCE", 0, 0, 0, 0)]}
"""Device -> executions: node, start, start and end of the operation, and end of the execution, in microseconds."""
COMMANDS = [
    ("list_profile", []),
    ("list_profile", ["-s", "exec_time", "-r", "--time_unit", "ms"]),
    ("list_profile", ["-s", "node", "-d", "gpu.*", "-n", "b"]),
    ("list_profile", ["-t", "Square|Exp", "-s", "op_type"]),
    ("list_profile", ["-e", ">30us", "-o", "[10us, 1s]"]),
    ("list_profile", ["-f", ".*profiled.py", "--min_lineno", "4", "--max_lineno", "5", "-s", "line"]),
    ("print_source", ["profiled.py"]),
    ("print_source", ["profiled.py", "--cost_type", "op_time", "-n", "b", "--time_unit", "s", "--init_line", "4"]),
    ("print_source", ["profiled.py", "-d", "tpu.*"]),
]


def screens(tf, analyzer_of):
    """The lines of each command, and the texts of links in them with what they run."""
    with open("profiled.py") as file, tf.Graph().as_default() as graph:
        exec(compile(file.read(), "profiled.py", "exec"), {})
    metadata = tf.RunMetadata()
    for device, executions in sorted(TIMES.items()):
        stats = metadata.step_stats.dev_stats.add(device=device)
        for node, start, begin, end, whole in executions:
            stats.node_stats.add(node_name=node, all_start_micros=start, op_start_rel_micros=begin, op_end_rel_micros=end, all_end_rel_micros=whole)
    analyzer = analyzer_of(graph, metadata)
    return [shown(getattr(analyzer, command)(arguments, screen_info={"cols": 90})) for command, arguments in COMMANDS]


def shown(text):
    links = []
    for row, segments in sorted(text.font_attr_segs.items()):
        for start, end, attributes in segments:
            for attribute in attributes if isinstance(attributes, list) else [attributes]:
                if hasattr(attribute, "content"):
                    links.append([text.lines[row][start:end], attribute.content])
    return [text.lines, links, sorted(text.annotations.items())]


if __name__ == "__main__":
    import tensorflow
    from tensorflow.python.debug.cli import profile_analyzer_cli

    os.chdir(RECORDED)
    found = screens(tensorflow, profile_analyzer_cli.ProfileAnalyzer)
    with open("profiles.json", "w") as file:
        json.dump(found, file, indent=0)
