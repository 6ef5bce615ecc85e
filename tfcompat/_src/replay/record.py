"""Reads records of runs: folders as recorder.py writes them, or zip archives of such a folder."""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import ml_dtypes
import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.proto import messages
from tfcompat._src.replay import recorder

EXTENDED = {"bfloat16": ml_dtypes.bfloat16}
"""Types that a record keeps as unsigned integers."""


class RecordError(Exception):
    """A record that cannot be read; the message names the file and the run."""


@dataclasses.dataclass(frozen=True)
class Value:
    """A recorded value. `array` is None where it was not recorded, and `why` says the reason; a sample has `places` instead of all elements."""

    dtype: str
    shape: tuple[int, ...]
    array: NDArray | None
    why: str = ""
    summary: Mapping[str, float] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all elements are there."""
        return self.array is not None and self.summary is None


class Failure(NamedTuple):
    """How a recorded run ended with an error: its class, its text, and the name and type of the operation that failed."""

    kind: str
    message: str
    op: str | None
    type: str | None


@dataclasses.dataclass(frozen=True)
class Run:
    """One recorded run of a session.

    Attributes:
      order: its number in the record. session, of_session: the session, and the number of the run among all that the session made.
      graph: the name of the graph's version. wanted, targets: names of fetched tensors and of operations to run.
      hidden: operations in branches and loops that take data from outside, or draw, and could not be fetched.
      feeds, fetches, sources, random, between: values by tensor. before, after: by variable; None for one without a value.
    """

    order: int
    session: int
    of_session: int
    graph: str
    wanted: tuple[str, ...]
    targets: tuple[str, ...]
    hidden: tuple[str, ...]
    overlaps: bool
    seconds: float
    error: Failure | None
    feeds: Mapping[str, Value]
    fetches: Mapping[str, Value]
    sources: Mapping[str, Value]
    random: Mapping[str, Value]
    between: Mapping[str, Value]
    before: Mapping[str, Value | None]
    after: Mapping[str, Value | None]

    @property
    def title(self) -> str:
        """A line about the run for reports."""
        names = [*self.wanted, *self.targets]
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        return f"run {self.order} (session {self.session}, its run {self.of_session}): {shown}"


class Record:
    """A record: `about` is its header, `runs` in their order, `notes` what is to be said of it.

    Raises:
      RecordError: a file is missing, cut off, or of another format.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._archive: zipfile.ZipFile | None = None
        if os.path.isfile(path):
            try:
                self._archive = zipfile.ZipFile(path)
            except zipfile.BadZipFile:
                raise RecordError(f"{path} is no record: it must be a folder that tf1_record.py has written, or a zip archive of one.") from None
        self._arrays = functools.lru_cache(maxsize=4)(self._load_arrays)
        self.graph_def = functools.lru_cache(maxsize=8)(self._load_graph_def)
        self.lines = functools.lru_cache(maxsize=8)(self._load_lines)
        self.notes: list[str] = []
        self.about = self._json("record.json", self._read("record.json"))
        if self.about.get("format") != recorder.FORMAT or self.about.get("version") != recorder.VERSION:
            raise RecordError(
                f"{path}/record.json says format {self.about.get('format')!r}, version {self.about.get('version')!r}; this tfcompat reads "
                f"{recorder.FORMAT!r}, version {recorder.VERSION}. Record the program again with the recorder that `tfcompat recorder` prints."
            )
        self.tensorflow = "unknown"
        self.runs: list[Run] = []
        self._read_index()

    # ---- files ----

    def _read(self, name: str, run: int | None = None) -> bytes:
        of = "" if run is None else f" (of run {run})"
        try:
            if self._archive is not None:
                return self._archive.read(name)
            with open(os.path.join(self.path, name), "rb") as file:
                return file.read()
        except (OSError, KeyError, zipfile.BadZipFile) as e:
            raise RecordError(f"{self.path}/{name}{of} cannot be read: {e}") from None

    def _json(self, name: str, content: bytes) -> dict[str, object]:
        try:
            found = json.loads(content)
        except ValueError as e:
            raise RecordError(f"{self.path}/{name} is not JSON: {e}") from None
        if not isinstance(found, dict):
            raise RecordError(f"{self.path}/{name} must hold a JSON object, not {type(found).__name__}.")
        return found

    def _read_index(self) -> None:
        lines = self._read("index.jsonl").split(b"\n")
        ended = False
        for number, line in enumerate(lines[:-1], 1):
            entry = self._json(f"index.jsonl, line {number},", line)
            kind = entry.get("what")
            if kind == "run":
                self.runs.append(self._run(entry, number))
            elif kind == "program":
                self.tensorflow = str(entry.get("tensorflow"))
            elif kind == "end":
                ended = True
                skipped = entry.get("skipped")
                if isinstance(skipped, dict):
                    self.notes += [f"not recorded: {count} {reason}" for reason, count in sorted(skipped.items())]
        if lines[-1]:
            self.notes.append(f"index.jsonl is cut off in line {len(lines)}; the {len(self.runs)} runs before it are used")
        elif not ended:
            self.notes.append(f"the recorded program was killed; its first {len(self.runs)} recorded runs are used")

    def _run(self, entry: dict[str, object], line: int) -> Run:
        try:
            return self._parsed(entry)
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            raise RecordError(f"{self.path}/index.jsonl, line {line}, does not describe a run: {type(e).__name__}: {e}") from None

    def _parsed(self, entry: dict[str, object]) -> Run:
        order, session, number = (_int(entry[name]) for name in ("order", "session", "of_session"))
        values = {name: _Values(self, order, _dict(entry[name])) for name in ("feeds", "fetches", "sources", "random", "between", "before", "after")}
        error = entry.get("error")
        failure = None
        if error is not None:
            said = _dict(error)
            failure = Failure(str(said["class"]), str(said["message"]), _text(said["op"]), _text(said["type"]))
        return Run(
            order, session, number, str(entry["graph"]), _names(entry["wanted"]), _names(entry["targets"]), _names(entry["hidden"]),
            bool(entry["overlaps"]), float(str(entry["seconds"])), failure, **values,  # type: ignore[arg-type]  # values of variables may be None
        )  # fmt: skip

    # ---- values and graphs ----

    def _load_arrays(self, file: str, run: int) -> dict[str, NDArray]:
        content = self._read(file, run)
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                return dict(arrays)
        except (ValueError, OSError, zipfile.BadZipFile, EOFError) as e:
            raise RecordError(f"{self.path}/{file} (of run {run}) is cut off or not an .npz file without pickles: {e}") from None

    def value(self, said: dict[str, object], run: int, name: str) -> Value:
        """Returns the value that a JSON object describes."""
        dtype = str(said["dtype"])
        if "unrecorded" in said:
            return Value(dtype, (), None, str(said["unrecorded"]))
        shape = tuple(map(_int, said["shape"]))  # type: ignore[call-overload]  # it is a list, or a TypeError follows
        file = str(said["in"])
        arrays = self._arrays(file, run)

        def part(key: str) -> NDArray:
            if str(said[key]) not in arrays:
                raise RecordError(f"{self.path}/{file} (of run {run}) has no array {said[key]!r}, the value of {name}.")
            return arrays[str(said[key])]

        if dtype == "string":
            ends = np.cumsum(part("lengths"))
            content = part("key").tobytes()
            array = np.empty(len(ends), object)
            array[:] = [content[end - length : end] for end, length in zip(ends, part("lengths"))]
            return Value(dtype, shape, array.reshape(shape))
        array = part("key")
        if dtype in EXTENDED and array.dtype == np.uint16:
            array = array.view(EXTENDED[dtype])
        if "summary" in said:
            return Value(dtype, shape, array, f"is a sample {said['places']}", dict(_dict(said["summary"])))  # type: ignore[arg-type]  # of numbers
        if array.shape != shape:
            raise RecordError(f"{self.path}/{file} (of run {run}) has {name} in the shape {list(array.shape)}; index.jsonl says {list(shape)}.")
        return Value(dtype, shape, array)

    def _load_graph_def(self, name: str) -> messages.GraphDef:
        """Returns a version of a graph."""
        content = self._read(f"graphs/{name}.pb")
        try:
            return messages.GraphDef.FromString(content)
        except DecodeError as e:
            raise RecordError(f"{self.path}/graphs/{name}.pb is not a GraphDef: {e}") from None

    def _load_lines(self, name: str) -> Mapping[str, str]:
        """Returns the lines of the program (FILE:LINE) that made the nodes of a graph, by node."""
        about = self._json(f"graphs/{name}.json", self._read(f"graphs/{name}.json"))
        return {str(node): str(line) for node, line in _dict(about.get("lines", {})).items()}


class _Values(Mapping[str, "Value | None"]):
    """Recorded values by name, read from their file when they are asked for."""

    def __init__(self, record: Record, run: int, said: dict[str, object]) -> None:
        self._record, self._run, self._said = record, run, said

    def __getitem__(self, name: str) -> Value | None:
        said = self._said[name]
        return None if said is None else self._record.value(_dict(said), self._run, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._said)

    def __len__(self) -> int:
        return len(self._said)


def _dict(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"a JSON object is required, not {value!r}")
    return value


def _int(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"an integer is required, not {value!r}")
    return value


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"a list of names is required, not {value!r}")
    return tuple(map(str, value))
