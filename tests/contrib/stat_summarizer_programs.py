"""tf.contrib.stat_summarizer: tables of made up statistics of runs."""

import importlib


def summarizer(tf):
    return importlib.import_module("tensorflow.contrib.stat_summarizer").NewStatSummarizer(b"")


def message(devices):
    stats = importlib.import_module("tensorflow.core.framework.step_stats_pb2").StepStats()
    for device, nodes in devices:
        added = stats.dev_stats.add(device=device)
        for name, label, start, end, memory in nodes:
            node = added.node_stats.add(node_name=name, timeline_label=label, all_start_micros=start, all_end_rel_micros=end)
            for size in memory:
                node.memory.add(total_bytes=size)
    return stats.SerializeToString()


CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
FIRST = [("a", "a = Const()", 1000, 13, []), ("b", "[CPU] b = MatMul(a, a)", 1020, 777, [4096, 16]), ("c", "c = MatMul(b)", 2000, 40, [8]), ("d", "d", 2100, 3, [1])]
SECOND = [("a", "a = Const()", 5000, 12, []), ("b", "[CPU] b = MatMul(a, a)", 5030, 701, [4099]), ("c", "c = MatMul(b)", 6000, 45, [8]), ("d", "d", 6200, 2, [1])]
LOOP = [("x%d" % (i // 2), "x%d = Op%d()" % (i // 2, i % 6 // 2), 10 * i, 5 + i * i, [3 * i * i]) for i in range(30)]
GPU = [
    ("/job:localhost/replica:0/task:0/device:GPU:0", [("k", "k = Conv2D(x)", 100, 9, [7])]),
    ("/device:GPU:0/stream:all", [("k:Conv2D", "", 120, 50, [5]), ("odd", "", 130, 1, [4])]),
    ("/device:GPU:0/stream:7", [("k:Conv2D", "", 120, 50, [])]),
    ("/device:GPU:0/memcpy", [("edge:MemcpyHtoD", "", 90, 4, [3]), ("k:Conv2D:MemcpyDtoH", "", 180, 6, [2])]),
    ("/host:CPU", [("h", "h = NoOp()", 80, 1000, [])]),
]


def table(*runs):
    def program(tf, folder):
        found = summarizer(tf)
        for run in runs:
            found.ProcessStepStatsStr(message(run))
        return found.GetOutputString().split("\n")

    return program


def not_a_graph(tf, folder):
    return importlib.import_module("tensorflow.contrib.stat_summarizer").NewStatSummarizer(3)


PROGRAMS = {
    "nothing": table(),
    "one_run": table([(CPU, FIRST)]),
    "three_runs": table([(CPU, FIRST)], [(CPU, SECOND)], [(CPU, FIRST)]),
    "a_node_more_than_once": table([(CPU, LOOP)]),
    "gpu": table(GPU),
    "not_a_graph": not_a_graph,
}
