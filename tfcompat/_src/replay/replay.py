"""Runs a record here: every recorded run from the recorded variables, with the recorded feeds, and compares the results."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.proto import messages
from tfcompat._src.replay import recorder
from tfcompat._src.replay.differences import DIFFERS, EQUAL, NOISE, NOT_COMPARED, Difference, difference
from tfcompat._src.replay.graphs import Replayable, op_of, replayable
from tfcompat._src.replay.record import Record, RecordError, Run, Value
from tfcompat._src.runtime.session.session import Session

Change = Callable[[NDArray], NDArray]


@dataclasses.dataclass
class Verdict:
    """How one run went here.

    Attributes:
      differences: of fetches, then of variables. why: a sentence where nothing could be compared, or where the run failed on one side alone.
      failed: whether `why` is a difference. pass_: which of the passes over the record ("in order", "shuffled", "again").
    """

    run: Run
    pass_: str
    differences: list[Difference] = dataclasses.field(default_factory=list)
    why: str = ""
    failed: bool = False

    @property
    def verdict(self) -> str:
        """The worst verdict on a value of the run."""
        found = {d.verdict for d in self.differences}
        if self.failed or DIFFERS in found:
            return DIFFERS
        if NOISE in found:
            return NOISE
        return EQUAL if EQUAL in found or not self.why and not found else NOT_COMPARED


class NotReplayed(Exception):
    """A run that cannot be made here; the text says the reason."""


class Replica:
    """One recorded session here: its graph, a session, and where its random streams were before each run.

    Args:
      name: of the version of the graph. runs: those to make with it.
    """

    def __init__(self, record: Record, name: str, runs: list[Run], device: str | None = None) -> None:
        self.record, self.name, self.runs = record, name, runs
        self.original = record.graph_def(name)
        self.types = {node.name: node.op for node in self.original.node}
        self._check_names()
        self.imported = self._replayable()
        if device is not None:
            for node in self.imported.graph_def.node:
                node.device = device
        self.graph = Graph()
        with self.graph.as_default():
            try:
                import_graph_def(self.imported.graph_def, name="")
            except (ValueError, TypeError, errors.OpError) as e:
                raise RecordError(f"{record.path}/graphs/{name}.pb, which run {runs[0].order} and others need, cannot be built here: {e}") from None
        self.drawing = [op for op in self.graph.get_operations() if recorder.is_whole(recorder.RANDOM, op.type)]
        self.known_streams = streams_known(runs)
        self.positions: dict[int, dict[Operation, int]] = {}
        self.session = self._new_session()

    def _check_names(self) -> None:
        """Raises RecordError if a run names a node that its graph lacks."""
        for run in self.runs:
            for name in [*run.wanted, *run.targets, *run.feeds, *run.before]:
                if op_of(name) not in self.types:
                    raise RecordError(f"{self.record.path}/graphs/{self.name}.pb lacks the node {op_of(name)!r}, which run {run.order} names.")

    def _replayable(self) -> Replayable:
        sources: dict[str, str] = {}
        roots: list[str] = []
        for run in self.runs:
            sources.update({name: value.dtype for name, value in run.sources.items()})
            roots += [*run.wanted, *run.targets, *run.feeds, *run.before, *run.between, *run.random, *run.sources]
        return replayable(self.original, roots, sources)

    def _new_session(self) -> Session:
        self.set_names: set[str] = set()
        return Session(graph=self.graph, config=messages.ConfigProto(allow_soft_placement=True))

    def close(self) -> None:
        """Closes the session."""
        self.session.close()

    # ---- one run ----

    def put_in_place(self, run: Run, change: Change = lambda array: array, after: bool = False) -> None:
        """Gives the variables the values that they had before a run, in a new session where one must have none.

        Args:
          change: of each value. after: whether variables that the run wrote get the values that they had after it.

        Raises:
          NotReplayed: a value was not recorded.
        """
        if any(value is None and name in self.set_names for name, value in run.before.items()):
            self.session.close()
            self.session = self._new_session()
        feeds: dict[str, NDArray] = {}
        for name, value in {**run.before, **(run.after if after else {})}.items():
            if value is None:
                continue
            feeds[self.imported.setters[name].value] = change(self._whole(name, value, "variable"))
            self.set_names.add(name)
        if feeds:
            self.session.run([s.assign for name, s in self.imported.setters.items() if s.value in feeds], feeds)
        self.set_names.update(run.after)

    @staticmethod
    def _whole(name: str, value: Value | None, kind: str) -> NDArray:
        if value is None or value.array is None or not value.is_whole:
            why = "has no value" if value is None else value.why
            raise NotReplayed(f"the {kind} {name} {why} in the record")
        return value.array

    def feeds(self, run: Run, change: Change = lambda array: array) -> dict[str, NDArray]:
        """Returns everything to feed, changed: the feeds, data from outside, and random numbers whose streams are not known.

        Raises:
          NotReplayed: a value was not recorded.
        """
        found = {name: self._whole(name, value, "feed") for name, value in run.feeds.items()}
        for name, value in run.sources.items():
            found[self.imported.inputs[name]] = self._whole(name, value, "value from outside")
        for name, value in run.random.items():
            if not self.is_known(run, op_of(name)):
                found[name] = self._whole(name, value, "random tensor")
        return {name: change(array) for name, array in found.items()}

    def is_known(self, run: Run, op: str) -> bool:
        """Whether a random operation draws here the numbers that it drew there: it has a seed, and all earlier runs of the session are recorded."""
        node = self.graph.get_operation_by_name(op)
        return run.order in self.known_streams and bool(node.get_attr("seed") or node.get_attr("seed2"))

    def check_hidden(self, run: Run) -> None:
        """Raises NotReplayed if an operation in a branch or loop needs values that are not recorded."""
        for name in run.hidden:
            kind = self.types[name]
            if not recorder.is_whole(recorder.RANDOM, kind):
                raise NotReplayed(f"{name} ({kind}) takes data from outside, in a branch or a loop, where a run cannot fetch it")
            if not self.is_known(run, name):
                raise NotReplayed(f"{name} ({kind}) draws random numbers in a branch or a loop, and its stream is not known: no seed, or earlier runs are not recorded")

    def mark(self, run: Run) -> None:
        """Notes where the random streams are before a run."""
        self.positions[run.order] = self.session.context.random_state.positions()

    def rewind(self, run: Run) -> None:
        """Puts the random streams where they were before a run."""
        self.session.context.random_state.rewind(self.drawing, self.positions.get(run.order, {}))

    def make(self, run: Run, fetches: Iterable[str] | None = None, change: Change = lambda array: array) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Makes a run from variables that are in place.

        Args:
          fetches: names of tensors, in place of those of the run. change: of everything that is fed.

        Returns:
          fetched values by name, and values of the variables that the run may have changed.

        Raises:
          NotReplayed: a value that it needs was not recorded. errors.OpError: it fails here.
        """
        self.check_hidden(run)
        names = list(dict.fromkeys(run.wanted if fetches is None else fetches))
        values = self.session.run([names, list(run.targets)], self.feeds(run, change))[0] if names or run.targets else []
        readers = {name: self.imported.setters[name].read for name, value in run.after.items() if value is not None and value.array is not None}
        variables: dict[str, NDArray] = self.session.run(readers) if readers else {}
        return dict(zip(names, map(as_array, values))), {name: as_array(value) for name, value in variables.items()}

    def depth(self, run: Run) -> int:
        """Returns the number of elements of the largest tensor that goes into a run: no sum is longer than it by much."""
        sizes = [int(np.prod(v.shape)) for values in (run.feeds, run.sources, run.before) for v in values.values() if v is not None]
        return max(sizes, default=1)


def as_array(value: object) -> NDArray:
    """Returns a fetched value as an array; strings as an array of objects."""
    if isinstance(value, (bytes, str)):
        array = np.empty((), object)
        array[()] = value
        return array
    return np.asarray(value)


def streams_known(runs: list[Run]) -> set[int]:
    """The runs of one session before which every run was recorded and none failed, so that random streams are known there."""
    known = set()
    for number, run in enumerate(runs):
        if run.of_session != number:
            break
        known.add(run.order)
        if run.error is not None:
            break
    return known


class Replay:
    """All runs of a record, made here in passes.

    Args:
      device: where all operations run, or None for where they were. exact: whether every bit must agree.
    """

    def __init__(self, record: Record, device: str | None = None, exact: bool = False) -> None:
        self.record, self.exact = record, exact
        self.replicas = [Replica(record, name, runs, device) for name, runs in grouped(record)]
        self.replica_of = {run.order: replica for replica in self.replicas for run in replica.runs}

    def close(self) -> None:
        """Closes all sessions."""
        for replica in self.replicas:
            replica.close()

    def in_order(self) -> list[Verdict]:
        """Makes all runs as they came."""
        return [self._one(run, "in order", Replica.mark) for run in self.record.runs]

    def again(self) -> list[Verdict]:
        """Makes all runs once more, each from its own variables and random streams; after `in_order`."""
        return [self._one(run, "again", Replica.rewind) for run in self.record.runs]

    def shuffled(self, seed: int = 0) -> list[Verdict]:
        """Makes all runs in another order, each from its own variables and random streams; after `in_order`."""
        runs = list(self.record.runs)
        random.Random(seed).shuffle(runs)
        return [self._one(run, "shuffled", Replica.rewind) for run in runs]

    def _one(self, run: Run, pass_: str, before: Callable[[Replica, Run], None]) -> Verdict:
        replica, found = self.replica_of[run.order], Verdict(run, pass_)
        try:
            if run.error is not None and run.error.type is not None and recorder.is_whole(recorder.OUTSIDE, run.error.type):
                raise NotReplayed(f"{run.error.op} ({run.error.type}) ended it there with {run.error.kind}")
            if run.overlaps:
                raise NotReplayed("another thread wrote variables while it ran there")
            replica.put_in_place(run)
            before(replica, run)
            values, variables = replica.make(run)
        except NotReplayed as e:
            found.why = str(e)
        except errors.OpError as e:
            if run.error is not None and run.error.kind == type(e).__name__:
                found.differences.append(Difference("the error", EQUAL, why=f"{run.error.kind}, as there"))
            else:
                there = "it ran there" if run.error is None else f"there it failed with {run.error.kind}: {first_line(run.error.message)}"
                found.failed, found.why = True, f"fails here with {type(e).__name__}: {first_line(e.message)}; {there}"
        except (NotImplementedError, TypeError, ValueError, RuntimeError) as e:
            found.failed, found.why = True, f"cannot be made here: {type(e).__name__}: {first_line(str(e))}"
        else:
            if run.error is not None:
                found.failed, found.why = True, f"there it failed with {run.error.kind}: {first_line(run.error.message)}; here it runs"
            found.differences = self.compared(replica, run, values, variables)
        return found

    def compared(self, replica: Replica, run: Run, values: Mapping[str, NDArray], variables: Mapping[str, NDArray]) -> list[Difference]:
        """Compares the results of a run with the recorded ones."""
        depth = replica.depth(run)
        found = [self._difference(name, run.fetches[name], here, depth, replica.types[op_of(name)]) for name, here in values.items() if name in run.fetches]
        for name, value in run.after.items():
            if value is not None and value.array is not None and name in variables:
                found.append(self._difference(name, value, variables[name], depth, ""))
        return found

    def _difference(self, name: str, recorded: Value | None, here: NDArray, depth: int, op_type: str) -> Difference:
        if recorded is None or recorded.array is None:
            return Difference(name, NOT_COMPARED, why="" if recorded is None else recorded.why)
        if not recorded.is_whole:
            if here.shape != recorded.shape:
                return Difference(name, DIFFERS, recorded.dtype, recorded.shape, why=f"its shape here is {list(here.shape)}")
            places = np.linspace(0, here.size - 1, recorder.SAMPLE).astype(np.int64)
            here = np.ascontiguousarray(here).ravel()[places]
        return difference(name, recorded.array, here, depth, self.exact, op_type)


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def grouped(record: Record) -> list[tuple[str, list[Run]]]:
    """Groups runs by session and graph: a session's runs share the last version of its graph unless that has changed nodes of an earlier one."""
    by_session: dict[int, list[Run]] = {}
    for run in record.runs:
        by_session.setdefault(run.session, []).append(run)
    found: list[tuple[str, list[Run]]] = []
    for runs in by_session.values():
        last = runs[-1].graph
        nodes = {node.name: node for node in record.graph_def(last).node}
        groups: dict[str, list[Run]] = {}
        holds = {last: True}
        for run in runs:
            if run.graph not in holds:
                holds[run.graph] = all(nodes.get(node.name) == node for node in record.graph_def(run.graph).node)
            groups.setdefault(last if holds[run.graph] else run.graph, []).append(run)
        found += groups.items()
    return found
