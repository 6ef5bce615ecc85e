"""Reports of a replay and of a comparison as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tfcompat._src.replay.differences import DIFFERS, EQUAL, NOISE, NOT_COMPARED, Difference
from tfcompat._src.replay.inside import Explanation
from tfcompat._src.replay.record import Record
from tfcompat._src.replay.replay import Replay, Verdict

SHOWN = 8
WORDS = {EQUAL: "agree bit for bit", NOISE: "agree up to rounding", DIFFERS: "differ", NOT_COMPARED: "were not compared"}


def about(record: Record) -> Iterator[str]:
    """Lines about a record: who made it, and what it lacks."""
    program = record.about.get("program")
    said = " ".join(map(str, program)) if isinstance(program, list) else "?"
    yield f"{record.path}: {len(record.runs)} runs of {said}, recorded with {record.about.get('by')} {record.tensorflow}, Python {record.about.get('python')}"
    yield from (f"  {note}" for note in record.notes)


def replaced(replay: Replay) -> Iterator[str]:
    """Lines that say what a replay takes from the record or leaves out, in place of running it."""
    kinds: Counter[str] = Counter()
    streams = values = 0
    for replica in replay.replicas:
        kinds.update(replica.imported.replaced)
        drawn = {(name, replica.is_known(run, name.partition(":")[0])) for run in replica.runs for name in run.random}
        streams += sum(is_known for _, is_known in drawn)
        values += sum(not is_known for _, is_known in drawn)
    if kinds:
        yield "replaced by recorded values, or left out: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    if streams or values:
        yield f"random tensors: {streams} drawn here from their seeds, {values} taken from the record (no seed, or earlier runs are not in the record)"


def of_verdict(verdict: Verdict, is_long: bool = False) -> Iterator[str]:
    """Lines about one run."""
    again = "" if verdict.pass_ == "in order" else f" [{verdict.pass_}]"
    yield f"{verdict.run.title}{again}: {verdict.verdict}" + (f"; {verdict.why}" if verdict.why else "")
    wanted = [d for d in verdict.differences if d.verdict == DIFFERS or d.verdict != EQUAL and (is_long or d.why)]
    yield from (f"  {d}" for d in worst_first(wanted)[:SHOWN])
    if len(wanted) > SHOWN:
        yield f"  and {len(wanted) - SHOWN} more"


def of_explanation(explanation: Explanation) -> Iterator[str]:
    """Lines about the first node that differs."""
    yield from explanation.node.lines() if explanation.node is not None else [explanation.why]


def summary(verdicts: Iterable[Verdict]) -> str:
    """Counts of verdicts."""
    counts = Counter(v.verdict for v in verdicts)
    return f"{counts.total()} runs: " + ", ".join(f"{counts[kind]} {WORDS[kind]}" for kind in (EQUAL, NOISE, DIFFERS, NOT_COMPARED) if counts[kind])


def worst_first(differences: Iterable[Difference]) -> list[Difference]:
    return sorted(differences, key=lambda d: (d.verdict != DIFFERS, -d.relative))
