"""What `tfcompat check` found, as data and as text."""

from __future__ import annotations

import collections
import itertools
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tfcompat._src.cli.check import meanings, names_of_others, python2
from tfcompat._src.cli.check.files import Place
from tfcompat._src.cli.check.meanings import Meaning
from tfcompat._src.cli.check.names_of_tensorflow import MISSING, PARTLY, WORKS, Judge, is_of_tensorflow
from tfcompat._src.cli.check.program import Program, absent_package
from tfcompat._src.cli.check.uses import Module, Use
from tfcompat._src.cli.tf0 import evidence, names

_SHOWN = 4
_WIDTH = 120
_OF_PYTHON_2 = "Python 2 has it, and the program runs with the meaning of Python 2"
_BEFORE_1 = "TensorFlow before 1.0 has it, and the program runs with the meaning of 0.12"


@dataclass
class Row:
    """A name, its status, what to do, and where it is used. Guarded: only where the program prepares for its absence."""

    name: str
    status: str
    advice: str
    places: list[Place] = field(default_factory=list)
    guarded: list[Place] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        places = [(place, False) for place in self.places] + [(place, True) for place in self.guarded]
        return {
            "name": self.name, "status": self.status, "advice": self.advice,
            "places": [{"file": p.path, "cell": p.cell, "line": p.line, "guarded": guarded} for p, guarded in sorted(places)],
        }  # fmt: skip


class Rows:
    """Rows by name and status."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], Row] = {}

    def add(self, name: str, status: str, advice: str, place: Place, is_guarded: bool) -> None:
        row = self._rows.setdefault((name, status), Row(name, status, advice))
        places = row.guarded if is_guarded else row.places
        if place not in places:
            places.append(place)

    def __iter__(self) -> Iterator[Row]:
        return iter(sorted(self._rows.values(), key=lambda row: row.name))

    def having(self, status: str) -> list[Row]:
        return [row for row in self if row.status == status]


@dataclass
class Report:
    """All rows: names of TensorFlow (works, partly, missing), of Python and its packages (restored, stops), packages that are not installed."""

    files: int
    tensorflow: Rows
    others: Rows
    packages: Rows

    def stops(self) -> bool:
        """Whether something is used, and not guarded, that is missing and not restored."""
        return any(row.places for row in (*self.tensorflow.having(MISSING), *self.others.having("stops")))

    def as_data(self) -> dict[str, Any]:
        parts = {"tensorflow": self.tensorflow, "others": self.others, "packages": self.packages}
        return {"files": self.files, "summary": self.summary(), **{part: [row.as_data() for row in rows] for part, rows in parts.items()}}

    def summary(self) -> dict[str, int]:
        """How many names have which status; those that are guarded everywhere are counted apart."""
        missing = self.tensorflow.having(MISSING)
        stops = self.others.having("stops")
        return {
            WORKS: len(self.tensorflow.having(WORKS)), PARTLY: len(self.tensorflow.having(PARTLY)),
            MISSING: sum(bool(row.places) for row in missing), "stops": sum(bool(row.places) for row in stops),
            "restored": len(self.others.having("restored")), "guarded": sum(not row.places for row in (*missing, *stops)),
        }  # fmt: skip


def make(program: Program, progress: Callable[[int], None]) -> Report:
    """Reads a program and judges each name that it uses."""
    modules = program.modules(progress)
    imported = {name for module in modules for name in module.imported}
    stored = {name for module in modules for name in module.stored}
    report = Report(len(program.paths), Rows(), Rows(), Rows())
    judge = Judge(imported)
    uses = [(module, use) for module in modules for use in module.uses]
    meaning_of = collections.defaultdict(meanings.Meaning, meanings.of(program.paths))
    for _, use in uses:
        _add_tensorflow(report, judge, use, stored, meaning_of[use.place.path].is_before_1)
    _add_others(report, program, uses, stored, meaning_of)
    _add_oddities(report.others, program, modules, meaning_of)
    return report


def _add_tensorflow(report: Report, judge: Judge, use: Use, stored: set[str], is_before_1: bool) -> None:
    """Judges one use: where it may mean several names, those that are missing are left out if another works.

    Args:
      is_before_1: the file is run as one for TensorFlow before 1.0: what that has is given to it.
    """
    paths = [path for path in use.paths if is_of_tensorflow(path) and not _is_stored(path, stored)]
    answers = [judge.judge(path, use.call) for path in paths]
    working = [answer for answer in answers if answer[0].status != MISSING]
    is_guarded = use.is_guarded or len(paths) < len(use.paths)
    for verdict in itertools.chain(*(working or answers)):
        if verdict.status == MISSING and is_before_1 and was_before_1(verdict.name):
            report.others.add(verdict.name, "restored", _BEFORE_1, use.place, is_guarded)
        else:
            report.tensorflow.add(verdict.name, verdict.status, verdict.advice, use.place, is_guarded)


def was_before_1(name: str) -> bool:
    """Whether a name, an order of arguments (`concat(axis, ...)`) or a keyword (`concat(concat_dim=)`) is one that TensorFlow had before 1.0."""
    path, _, call = name.partition(".")[2].partition("(")
    path = evidence.of_public(path)
    if not call:
        return path == "models" or evidence.gone_name(path) is not None
    return call.rstrip("=)") in names.OLD_KEYWORDS.get(path, ()) or (path in names.OLD_ORDERS and not call.endswith("=)"))


def _is_stored(path: str, stored: set[str]) -> bool:
    """Whether the program itself puts something in the place of a name."""
    return any(path == name or path.startswith(name + ".") for name in stored)


def _add_others(report: Report, program: Program, uses: list[tuple[Module, Use]], stored: set[str], meaning_of: Mapping[str, Meaning]) -> None:
    judged: dict[str, list[Use]] = {}
    for module, use in uses:
        for path in use.paths:
            first = path.partition(".")[0]
            if is_of_tensorflow(path) or _is_stored(path, stored) or program.find(first, module.path, 0) is not None:
                continue
            if names_of_others.is_judged(path):
                judged.setdefault(path, []).append(use)
            elif path in module.imported and not program.has_package(first, module.path) and (package := absent_package(path)):
                report.packages.add(package, "not installed", "", use.place, use.is_guarded)
    found = names_of_others.verdicts(judged)
    for path, verdict in found.items():
        for use in judged[path]:
            is_guarded = use.is_guarded or len(use.paths) > 1
            report.others.add(verdict.name, *_status(verdict, meaning_of[use.place.path]), use.place, is_guarded)


def _status(verdict: names_of_others.Verdict, meaning: Meaning) -> tuple[str, str]:
    """The status of a name of Python or its packages in a file of such a meaning, and what to do."""
    if verdict.is_restored:
        return "restored", verdict.advice
    return ("restored", _OF_PYTHON_2) if meaning.is_python2 and python2.has(verdict.name) else ("stops", verdict.advice)


def _add_oddities(rows: Rows, program: Program, modules: Iterable[Module], meaning_of: Mapping[str, Meaning]) -> None:
    defined = program.defined()
    for problem in program.problems:
        if meaning_of[problem.place.path].is_python2:
            rows.add(f"Python 2 syntax: {problem.text}", "restored", _OF_PYTHON_2, problem.place, False)
        elif problem.is_python2:
            rows.add(f"Python 2 syntax: {problem.text}", "stops", python2.CONVERT, problem.place, False)
        else:
            rows.add(f"syntax: {problem.text}", "stops", "its names could not be read: mend it and check again", problem.place, False)
    for module in modules:
        for oddity in module.oddities:
            verdict = names_of_others.of_oddity(oddity.name)
            is_own = oddity.name.startswith(".") and oddity.name.strip(".()[i]") in defined
            if verdict is not None and not is_own:
                rows.add(verdict.name, *_status(verdict, meaning_of[oddity.place.path]), oddity.place, oddity.is_guarded)


def text(report: Report, shows_all: bool) -> str:
    """The report for a person."""
    missing, stops = report.tensorflow.having(MISSING), report.others.having("stops")
    parts = [
        _part("Missing from tfcompat", [row for row in missing if row.places]),
        _part("Stops on today's Python, NumPy and SciPy, also under tfcompat run", [row for row in stops if row.places]),
        _part("Works for some arguments", report.tensorflow.having(PARTLY)),
        _part("Missing, where the program prepares for that", [row for row in (*missing, *stops) if not row.places]),
        _part("Restored by tfcompat run", report.others.having("restored")),
        _part("Packages to install", list(report.packages)),
    ]
    if shows_all:
        parts.append(_part("Works", report.tensorflow.having(WORKS)))
    return "".join(parts) + _last_lines(report)


def _last_lines(report: Report) -> str:
    counts = report.summary()
    names = sum(counts[key] for key in (WORKS, PARTLY, MISSING))
    return (
        f"Files: {report.files}. Names of TensorFlow: {names}, of which {counts[WORKS]} work, {counts[PARTLY]} work for some arguments, {counts[MISSING]} are missing.\n"
        f"Of Python and its packages {counts['stops']} stop the program and {counts['restored']} are restored.\n"
    )


def _part(title: str, rows: list[Row]) -> str:
    if not rows:
        return ""
    lines = [f"{title} ({len(rows)})"]
    for row in rows:
        line = f"  {row.name}: {row.advice}" if row.advice else f"  {row.name}"
        lines += textwrap.wrap(line, _WIDTH, subsequent_indent="      ", break_on_hyphens=False, break_long_words=False)
        lines += _places(row.places or row.guarded)
    return "\n".join(lines) + "\n\n"


def _places(places: list[Place]) -> Iterator[str]:
    """Lines like "    train.py:3, 10": one for each file, a few lines of each."""
    by_source: dict[str, list[int]] = {}
    for place in sorted(places):
        by_source.setdefault(place.source, []).append(place.line)
    for source, numbers in list(by_source.items())[:_SHOWN]:
        more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
        yield f"    {source}:{', '.join(map(str, numbers[:_SHOWN]))}{more}"
    if len(by_source) > _SHOWN:
        yield f"    and in {len(by_source) - _SHOWN} more"
