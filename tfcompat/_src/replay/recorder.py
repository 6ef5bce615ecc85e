"""Records the runs of a TensorFlow 1 program: python tf1_record.py [OPTIONS] train.py [ARGS...]

This file needs Python 2.7 or 3.5 and later, NumPy, and the program's own TensorFlow (1.4 to 1.15, or 2.x with compat.v1). It changes no node, name,
seed or random number of the program. The record is a folder:

  record.json             which program, TensorFlow and Python; the settings
  index.jsonl             one JSON object a line, in the order of events: a graph, a run, the end. A program that is killed leaves no "end"
  graphs/S-V.pb           the GraphDef of session S's graph at version V, with its function library
  graphs/S-V.json         the line of the program that made each node, and the collections by name
  runs/NNNNNN.npz         the arrays of one run. Nothing is pickled
"""

from __future__ import absolute_import, division, print_function

import argparse
import io
import json
import os
import platform
import re
import runpy
import sys
import threading
import time

import numpy as np

FORMAT = "tfcompat record"
VERSION = 1
SAMPLE = 1024
"""How many elements are kept of an array beyond the limit."""

VARIABLES = ("VariableV2", "Variable", "VarHandleOp")
OUTSIDE = re.compile(
    r"IteratorGetNext(Sync)?|PyFunc|PyFuncStateless|EagerPyFunc|Queue(Dequeue|Size|IsClosed).*|Reader(Read|ReadUpTo|Num\w+|SerializeState)(V2)?"
    r"|(Ordered)?Map(Unstage|Peek|Size|UnstageNoKey|IncompleteSize)|Unstage|Stage(Peek|Size)|RecordInput|Barrier(TakeMany|ReadySize|IncompleteSize)"
    r"|ReadFile|MatchingFiles|Restore(V2|Slice)?|Timestamp|.*Accumulator(TakeGradient|NumAccumulated)|TakeManySparseFromTensorsMap"
    r"|LoadAndRemapMatrix|GenerateVocabRemapping"
)
"""Op types whose outputs come from outside of a run: data, Python functions, files, clocks."""
RANDOM = re.compile(
    r"Random(Uniform|UniformInt|StandardNormal|Gamma|Poisson|PoissonV2|Shuffle|Crop)|TruncatedNormal|ParameterizedTruncatedNormal|Multinomial"
    r"|.*CandidateSampler|SampleDistortedBoundingBox(V2)?"
)
"""Op types that draw from a stream of their own."""
WRITER = re.compile(
    r"(Assign|Destroy)\w*|(Resource)?(Sparse)?Apply\w+|ResourceScatter\w+|Scatter(Update|Add|Sub|Mul|Div|Min|Max|Nd(Update|Add|Sub))"
    r"|ResourceStridedSliceAssign|StridedSliceAssign|(Resource)?CountUpTo|BatchNorm\w*Assign|Stateful\w+|RngSkip"
)
CALL = re.compile(r"(Stateful)?PartitionedCall|SymbolicGradient|(Stateless)?(While|If|Case)|RemoteCall|For")
MERGES, EXITS, BACK = ("Merge", "RefMerge"), ("Exit", "RefExit"), ("NextIteration", "RefNextIteration")
ALIAS = ("Identity", "RefIdentity", "Reshape", "Squeeze", "ExpandDims", "StopGradient", "Snapshot", "PreventGradient", "Switch", "RefSwitch", "Enter", "RefEnter")
"""Op types whose output may share its input's memory."""


def parser():
    options = argparse.ArgumentParser(prog="tf1_record.py", description="Records the runs of a TensorFlow 1 program for tfcompat replay.")
    options.add_argument("--out", required=True, metavar="DIR", help="folder of the record, which is made")
    options.add_argument("--runs", type=int, default=20, metavar="N", help="record the first N runs with the same fetches and feeds (20)")
    options.add_argument("--every", type=int, default=0, metavar="M", help="and every M-th run after them (0: none)")
    options.add_argument("--tensors", default="", metavar="NAMES", help="also record these tensors where a run computes them: loss:0,grads*")
    options.add_argument("--all-tensors", action="store_true", help="also record all tensors that can be fetched")
    options.add_argument("--max-elements", type=int, default=1 << 24, metavar="N", help="keep a sample and a summary of larger tensors (2**24)")
    options.add_argument("--max-megabytes", type=int, default=2048, metavar="N", help="record no more runs beyond this size (2048)")
    options.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    options.add_argument("program", help="the program")
    options.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    return options


# ---- values ----


class Arrays(object):
    """The arrays of one run, and the JSON objects that describe them."""

    def __init__(self, file, max_elements):
        self.file, self.max_elements, self.arrays = file, max_elements, {}

    def add(self, value, dtype, is_own=False):
        """Keeps a value; returns its description. `dtype`: the name of its TensorFlow type. `is_own`: nobody else has the array."""
        if dtype in ("resource", "variant"):
            return {"dtype": dtype, "unrecorded": "has no value outside of a session"}
        if dtype == "string" and not hasattr(value, "shape") and not isinstance(value, (list, tuple)):
            array = np.empty((), object)  # asarray would take zeros off the end of bytes
            array[()] = value
        else:
            array = np.asarray(value)
        if dtype == "string" or array.dtype.kind in "OSU":
            return self._add_strings(array)
        return self._add_numbers(array, dtype, is_own)

    def _key(self):
        return "a%d" % len(self.arrays)

    def _add_strings(self, array):
        words = [w if isinstance(w, bytes) else ("%s" % (w,)).encode("utf-8") for w in array.ravel().tolist()]
        said = {"dtype": "string", "shape": list(array.shape), "in": self.file, "key": self._key()}
        if len(words) > self.max_elements:
            said["unrecorded"] = "%d strings" % len(words)
            return said
        self.arrays[said["key"]] = np.frombuffer(b"".join(words), np.uint8)
        said["lengths"] = self._key()
        self.arrays[said["lengths"]] = np.array([len(w) for w in words], np.int64)
        return said

    def _add_numbers(self, array, dtype, is_own):
        if array.dtype.fields:  # quantized types have one field
            array = array.view(array.dtype[0])
        said = {"dtype": dtype, "shape": list(array.shape), "in": self.file, "key": self._key()}
        kept = array.view(np.uint16) if dtype == "bfloat16" and array.dtype.itemsize == 2 else array
        if array.size > self.max_elements:
            places = np.linspace(0, array.size - 1, SAMPLE).astype(np.int64)
            kept = np.ascontiguousarray(kept).ravel()[places]
            said["places"] = "spread over the %d elements" % array.size
            said["summary"] = summary(array)
        # A copy where the program may write into the array, as it feeds or gets it.
        self.arrays[said["key"]] = np.array(kept, order="C", copy=True) if not is_own else np.ascontiguousarray(kept).reshape(kept.shape)
        return said


def summary(array):
    """Sum, norm, extremes and count of NaNs of an array of numbers."""
    if array.dtype.kind not in "fiub":
        return {}
    wide = array.astype(np.float64).ravel()
    finite = wide[np.isfinite(wide)]
    if not finite.size:
        return {"nan": int(np.isnan(wide).sum())}
    found = {"sum": finite.sum(), "norm": np.sqrt((finite * finite).sum()), "min": finite.min(), "max": finite.max()}
    found = dict((name, float(number)) for name, number in found.items())
    found["nan"] = int(np.isnan(wide).sum())
    return found


# ---- what a run holds ----


def is_whole(pattern, text):
    """Whether a pattern matches a whole text; Python 2 has no fullmatch."""
    return re.match("(?:%s)$" % pattern.pattern, text) is not None


def dtype_name(tensor):
    return tensor.dtype.base_dtype.name


def is_ref(tensor):
    return tensor.dtype.name.endswith("_ref")


class Anatomy(object):
    """The operations that a run executes, and the tensors to record with it.

    Attributes:
      names: of all operations. variables: the operations of variables. written: those that the run may write. sources, random, between: tensors to fetch.
      hidden: names of sources and random operations whose outputs cannot be fetched, as they are in a branch or a loop.
    """

    def __init__(self, feeds, fetches, targets, wants):
        fed = set(tensor.name for tensor in feeds)
        ops = self._closure(fed, fetches, targets)
        self.names = set(op.name for op in ops)
        self.sources, self.random, self.between, self.hidden = [], [], [], []
        self.variables = [op for op in ops if op.type in VARIABLES]
        self.written = self._written(ops)
        guards, depth = self._places(ops, fed)
        aliases = set()
        for op in ops:
            if op.type in VARIABLES or (op.type in ALIAS and (is_ref(op.inputs[0]) or op.inputs[0].name in aliases)):
                aliases.update(tensor.name for tensor in op.outputs)
                continue
            source, random = is_whole(OUTSIDE, op.type), is_whole(RANDOM, op.type)
            outside = getattr(op, "_control_flow_context", None) is None or op.type in MERGES + EXITS
            can = outside and not guards[op.name] and not depth[op.name] and op.type not in ("Switch", "RefSwitch")
            for tensor in op.outputs:
                if tensor.name in fed:
                    continue
                whole = can and dtype_name(tensor) not in ("resource", "variant")
                if (source or random) and not whole:
                    self.hidden.append(op.name)
                elif source:
                    self.sources.append(tensor)
                elif random:
                    self.random.append(tensor)
                elif whole and wants(tensor.name):
                    self.between.append(tensor)

    @staticmethod
    def _closure(fed, fetches, targets):
        """The operations that the run executes, each after its inputs; edges that close a loop are not counted."""
        order, state = [], {}
        rest = [t.op for t in reversed(fetches) if t.name not in fed] + list(reversed(targets))
        while rest:
            op = rest[-1]
            if op.name not in state:
                state[op.name] = "open"
                for before in [t.op for t in op.inputs if t.name not in fed] + list(op.control_inputs):
                    if before.name not in state and not (op.type in MERGES and before.type in BACK):
                        rest.append(before)
                continue
            rest.pop()
            if state[op.name] == "open":
                state[op.name] = "done"
                order.append(op)
                if op.type in MERGES:  # its loop follows
                    rest[:0] = [t.op for t in op.inputs if t.op.type in BACK and t.op.name not in state]
        return order

    @staticmethod
    def _places(ops, fed):
        """By name: the predicates under which each operation runs, and how many loops it is in."""
        guards, depth = {}, {}
        for op in ops:
            sides = [guards[t.op.name] | side_of(t) for t in op.inputs if t.name not in fed and t.op.name in guards]
            waited = [c.name for c in op.control_inputs if c.name in guards]
            if op.type in MERGES:
                guard = set.intersection(*sides) if sides else set()
            else:
                guard = set().union(*(sides + [guards[name] for name in waited]))
            level = max([depth[t.op.name] for t in op.inputs if t.name not in fed and t.op.name in depth] + [depth[name] for name in waited] or [0])
            guards[op.name] = guard
            depth[op.name] = level + 1 if op.type in ("Enter", "RefEnter") else max(level - 1, 0) if op.type in EXITS else level
        return guards, depth

    def _written(self, ops):
        named = set(op.name for op in self.variables)
        found = set()
        for op in ops:
            if not (is_whole(WRITER, op.type) or is_whole(CALL, op.type)):
                continue
            direct = set(t.op.name for t in op.inputs) & named
            if not direct and any(is_ref(t) or dtype_name(t) == "resource" for t in op.inputs):
                return named
            found |= direct
        return found


def side_of(tensor):
    """The predicate and its value under which an output of a Switch is alive, as a set; for other tensors an empty set."""
    return set([(tensor.op.inputs[1].name, tensor.value_index)]) if tensor.op.type in ("Switch", "RefSwitch") else set()


def reading_tensor(op):
    """The tensor that a variable is read by without a new node, or None."""
    if op.type != "VarHandleOp":
        return op.outputs[0]
    readers = [c for c in op.outputs[0].consumers() if c.type == "ReadVariableOp" and not c.control_inputs]
    named = [c for c in readers if c.name == op.name + "/Read/ReadVariableOp"]
    return (named or readers or [None])[0] and (named or readers)[0].outputs[0]


def user_line(op):
    """FILE:LINE of the innermost frame of an operation's stack outside of TensorFlow."""
    frames = getattr(op, "_traceback", None) or []
    for frame in reversed(list(frames)):
        name = frame.filename if hasattr(frame, "filename") else frame[0]
        line = frame.lineno if hasattr(frame, "lineno") else frame[1]
        folder = name.replace(os.sep, "/")
        if not re.search(r"/(tensorflow|tensorflow_core|tensorflow_estimator|keras|tfcompat/_src)/", folder) and name != __file__ and not re.search(r"runpy", folder):
            return "%s:%s" % (name, line)
    return ""


# ---- recording ----


class OfSession(object):
    """The counters of one session: runs so far, runs by fetches and feeds, the last known values of variables."""

    def __init__(self, number):
        self.number, self.runs, self.seen, self.anatomies, self.known, self.graphs = number, 0, {}, {}, {}, set()
        self.active, self.lock = {}, threading.Lock()


class Recorder(object):
    """Writes a record.

    Args:
      settings: the parsed options. failed: the class of errors of runs. about: further entries of record.json.
    """

    def __init__(self, settings, about):
        self.settings = settings
        self.failed = ()  # type: tuple
        self.lock, self.runs, self.sessions, self.bytes, self.skipped = threading.Lock(), 0, 0, 0, {}
        patterns = [re.compile(re.escape(p).replace(r"\*", ".*") + r"(:\d+)?$") for p in settings.tensors.split(",") if p]
        self.wants = lambda name: settings.all_tensors or any(p.match(name) for p in patterns)
        self.folder = settings.out
        for part in ("graphs", "runs"):
            os.makedirs(os.path.join(self.folder, part))
        header = {"format": FORMAT, "version": VERSION, "python": platform.python_version(), "numpy": np.__version__, "platform": platform.platform()}
        header.update(program=[settings.program] + settings.arguments, runs=settings.runs, every=settings.every, tensors=settings.tensors)
        header.update(all_tensors=settings.all_tensors, max_elements=settings.max_elements, max_megabytes=settings.max_megabytes, **about)
        self._write("record.json", json.dumps(header, indent=1, sort_keys=True).encode("utf-8"))
        self.index = io.open(os.path.join(self.folder, "index.jsonl"), "ab")

    def _write(self, name, content):
        """Writes a file so that it is whole or not there."""
        path = os.path.join(self.folder, name)
        with io.open(path + ".part", "wb") as file:
            file.write(content)
        os.rename(path + ".part", path)
        self.bytes += len(content)

    def _write_arrays(self, arrays):
        path = os.path.join(self.folder, arrays.file)
        with io.open(path + ".part", "wb") as file:
            np.savez(file, **arrays.arrays)
            self.bytes += file.tell()
        os.rename(path + ".part", path)

    def _note(self, **entry):
        text = json.dumps(entry, sort_keys=True).encode("utf-8") + b"\n"
        with self.lock:
            self.index.write(text)
            self.index.flush()

    def skip(self, reason):
        """Counts a run that is not recorded."""
        with self.lock:
            self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def of(self, session):
        """The counters of a session, made at its first run."""
        with self.lock:
            found = session.__dict__.get("_recorded")
            if found is None:
                found = session._recorded = OfSession(self.sessions)
                self.sessions += 1
            return found

    def wanted(self, session, feeds, fetches, targets):
        """Counts a run; returns (its number in the session, whether to record it, the key of its fetches and feeds)."""
        own = self.of(session)
        key = (tuple(t.name for t in feeds), tuple(t.name for t in fetches), tuple(op.name for op in targets))
        with own.lock:
            number, own.runs = own.runs, own.runs + 1
            seen = own.seen.get(key, 0)
            own.seen[key] = seen + 1
        chosen = seen < self.settings.runs or (self.settings.every and (seen + 1) % self.settings.every == 0)
        if chosen and self.bytes > self.settings.max_megabytes << 20:
            self.skip("beyond --max-megabytes")
            chosen = False
        return number, bool(chosen), key

    def run(self, session, graph, feeds, fetches, targets, call, read):
        """Makes a run, and records it if it is among those to record.

        Args:
          feeds: (tensor, value) pairs. fetches: tensors. targets: operations.
          call: a function of further tensors to fetch, which makes the run and returns the values of `fetches` and of these.
          read: a function of tensors, which fetches them in a run of their own.
        """
        feeds = list(feeds)
        own = self.of(session)
        number, chosen, key = self.wanted(session, [t for t, _ in feeds], fetches, targets)
        anatomy = own.anatomies.get(key)
        if not chosen:
            with own.lock:
                if anatomy is None or anatomy[1].written:
                    own.known = {}
                    for other in own.active.values():
                        other["overlaps"] = True
            return call([])
        if anatomy is None or anatomy[0] != graph.version:
            anatomy = own.anatomies[key] = (graph.version, Anatomy([t for t, _ in feeds], fetches, targets, self.wants))
        anatomy = anatomy[1]
        return self._record(own, graph, number, anatomy, feeds, fetches, targets, call, read)

    def _record(self, own, graph, number, anatomy, feeds, fetches, targets, call, read):
        with self.lock:
            order, self.runs = self.runs, self.runs + 1
        file = "runs/%06d.npz" % order
        arrays = Arrays(file, self.settings.max_elements)
        entry = {"what": "run", "order": order, "session": own.number, "of_session": number, "graph": self._graph(own, graph), "overlaps": False}
        entry.update(thread=threading.current_thread().name, targets=[op.name for op in targets], hidden=anatomy.hidden)
        entry["feeds"] = dict((t.name, arrays.add(value, dtype_name(t))) for t, value in feeds)
        with own.lock:
            known = dict(own.known)
            if anatomy.written:
                for other in own.active.values():
                    other["overlaps"] = entry["overlaps"] = True
                own.active[order] = entry
        unknown = [op for op in anatomy.variables if op.name not in known]
        known.update(self._values(unknown, read, arrays))
        entry["before"] = dict((op.name, known[op.name]) for op in anatomy.variables)
        extra = anatomy.sources + anatomy.random + anatomy.between
        names = set(t.name for t in fetches)
        extra = [t for t in extra if t.name not in names]
        start = time.time()
        error = values = None
        try:
            values = call(extra)
        except self.failed as e:
            error = e
            entry["error"] = {"class": type(e).__name__, "message": "%s" % (e.message,), "op": e.op.name if getattr(e, "op", None) is not None else None}
            entry["error"]["type"] = e.op.type if getattr(e, "op", None) is not None else None
            raise
        finally:
            entry["seconds"] = time.time() - start
            with own.lock:
                own.active.pop(order, None)
            if values is not None or error is not None:
                self._finish(own, order, anatomy, fetches, extra, values, entry, arrays, read)
        return values[: len(fetches)]

    def _finish(self, own, order, anatomy, fetches, extra, values, entry, arrays, read):
        """Files the results of a run and the values of the variables after it."""
        values = values or []
        entry["fetches"] = dict((t.name, arrays.add(value, dtype_name(t))) for t, value in zip(fetches, values))
        entry["wanted"] = [t.name for t in fetches]
        kinds = dict((t.name, kind) for kind in ("sources", "random", "between") for t in getattr(anatomy, kind))
        everything = list(zip(list(fetches) + extra, values))
        for kind in ("sources", "random", "between"):
            entry[kind] = dict((t.name, arrays.add(v, dtype_name(t))) for t, v in everything if kinds.get(t.name) == kind)
        written = [op for op in anatomy.variables if op.name in anatomy.written]
        entry["after"] = self._values(written, read, arrays)
        known = dict(entry["before"])
        known.update(entry["after"])
        with own.lock:
            own.known.update(known)
            if entry["overlaps"]:
                own.known = {}
        self._write_arrays(arrays)
        self._note(**entry)

    def _values(self, variables, read, arrays):
        """Descriptions of variables' values by name; None for one without a value."""
        found = {}
        readable = []
        for op in variables:
            tensor = reading_tensor(op)
            if tensor is None:
                found[op.name] = {"dtype": "unknown", "unrecorded": "no node of the graph reads it"}
            else:
                readable.append((op.name, tensor))
        tensors = [tensor for _, tensor in readable]
        try:
            values = read(tensors) if tensors else []
        except self.failed:
            values = [self._one(tensor, read) for tensor in tensors]
        for (name, tensor), value in zip(readable, values):
            found[name] = None if value is None else arrays.add(value, dtype_name(tensor), is_own=True)
        return found

    def _one(self, tensor, read):
        try:
            return read([tensor])[0]
        except self.failed:
            return None

    def _graph(self, own, graph):
        """The name of a session's graph at its version, which is written where it is new."""
        name = "%d-%d" % (own.number, graph.version)
        with own.lock:
            if name in own.graphs:
                return name
            own.graphs.add(name)
        self._write("graphs/%s.pb" % name, graph.as_graph_def().SerializeToString())
        collections = dict(("%s" % (k,), ["%s" % (getattr(each, "name", each),) for each in graph.get_collection(k)]) for k in graph.get_all_collection_keys())
        lines = dict((op.name, user_line(op)) for op in graph.get_operations())
        about = {"lines": lines, "collections": collections, "seed": graph.seed}
        self._write("graphs/%s.json" % name, json.dumps(about, sort_keys=True).encode("utf-8"))
        self._note(what="graph", graph=name, session=own.number, operations=len(lines))
        return name

    def close(self):
        """Notes the end, and says on stderr what the record holds."""
        self._note(what="end", runs=self.runs, sessions=self.sessions, skipped=self.skipped)
        self.index.close()
        said = "recorded %d runs of %d sessions in %s (%.1f MB)" % (self.runs, self.sessions, self.folder, self.bytes / 1e6)
        said += "; first %d runs of the same fetches" % self.settings.runs + (" and every %d-th" % self.settings.every if self.settings.every else "")
        said += "; of tensors of more than %d elements a sample" % self.settings.max_elements
        for reason, count in sorted(self.skipped.items()):
            said += "; not recorded: %d %s" % (count, reason)
        sys.stderr.write(said + "\n")


# ---- TensorFlow ----


def hook(recorder, module, errors):
    """Has the sessions of TensorFlow's `tensorflow.python.client.session` record their runs."""
    base = module.BaseSession
    do_run, make, options_callable = base._do_run, base.make_callable, getattr(base, "_make_callable_from_options", None)
    recorder.failed = (errors.OpError,)

    def recorded_do_run(self, handle, target_list, fetch_list, feed_dict, options, run_metadata):
        if handle is not None:
            recorder.skip("partial runs")
            return do_run(self, handle, target_list, fetch_list, feed_dict, options, run_metadata)

        def call(extra):
            return do_run(self, None, target_list, list(fetch_list) + extra, feed_dict, options, run_metadata)

        return recorder.run(self, self.graph, feed_dict.items(), list(fetch_list), list(target_list), call, reader(self))

    def reader(session):
        return lambda tensors: do_run(session, None, [], tensors, {}, None, None)

    def recorded_make(self, fetches, feed_list=None, accept_options=False):
        made = make(self, fetches, feed_list, accept_options)
        if feed_list is not None:  # it calls run
            return made
        return lambda *args, **kwargs: self.run(fetches, None, *args, **kwargs)

    def recorded_options_callable(self, options):
        made = {(): options_callable(self, options)}
        moved = dict((c.to_tensor, c.from_tensor) for c in options.tensor_connection)

        def tensor(name):
            return self.graph.get_tensor_by_name(name if ":" in name else name + ":0")

        feeds, fetches = [tensor(name) for name in options.feed], [tensor(name) for name in options.fetch]
        targets = [self.graph.get_operation_by_name(name) for name in options.target]

        def recorded_call(*values, **kwargs):
            def call(extra):
                key = tuple(t.name for t in extra)
                if key not in made:
                    longer = type(options)()
                    longer.CopyFrom(options)
                    longer.fetch.extend(key)
                    made[key] = options_callable(self, longer)
                return made[key](*values, **kwargs)

            if moved:
                recorder.skip("callables with connected tensors")
                return call([])
            return recorder.run(self, self.graph, zip(feeds, values), fetches, targets, call, reader(self))

        return recorded_call

    base._do_run, base.make_callable = recorded_do_run, recorded_make
    if options_callable is not None:
        base._make_callable_from_options = recorded_options_callable


def hook_when_imported(recorder):
    """Hooks TensorFlow once the program has imported it; until then nothing is imported."""
    builtins = sys.modules.get("builtins") or sys.modules["__builtin__"]
    plain = builtins.__import__

    def watching(*args, **kwargs):
        found = plain(*args, **kwargs)
        module, errors = (sys.modules.get("tensorflow.python." + name) for name in ("client.session", "framework.errors_impl"))
        if hasattr(module, "InteractiveSession") and hasattr(errors, "OpError") and builtins.__import__ is watching:
            builtins.__import__ = plain
            hook(recorder, module, errors)
        return found

    builtins.__import__ = watching


def main():
    settings = parser().parse_args()
    if os.path.exists(os.path.join(settings.out, "index.jsonl")):
        sys.exit("tf1_record.py: %s holds a record already; name another folder" % settings.out)
    recorder = Recorder(settings, {"by": "TensorFlow"})
    hook_when_imported(recorder)
    sys.argv[:] = [settings.program] + settings.arguments
    try:
        if settings.module:
            sys.path[0] = os.getcwd()
            runpy.run_module(settings.program, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(settings.program))
            runpy.run_path(settings.program, run_name="__main__")
    finally:
        tensorflow = sys.modules.get("tensorflow")
        recorder._note(what="program", tensorflow=getattr(tensorflow, "__version__", None))
        recorder.close()


if __name__ == "__main__":
    main()
