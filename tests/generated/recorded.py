"""The inputs whose outcomes are recorded: those made by hand, and a sample of damaged files."""

from __future__ import annotations

from pathlib import Path

from generated import fuzz, malformed

PATH = Path(__file__).resolve().parents[1] / "golden/malformed.json.gz"
SAMPLE = 1200
MOST_BYTES = 1500
EACH_KIND = 12


def by_hand() -> list[fuzz.Input]:
    """The inputs of `malformed`."""
    graphs = [fuzz.Input("graph_text", f"graph_text {name}", {"graph.pbtxt": text.encode()}) for name, text in malformed.GRAPHS.items()]
    return graphs + [fuzz.Input(kind, f"{kind} {name}", files) for name, (kind, files) in malformed.FILES.items()]


def sample() -> list[fuzz.Input]:
    """Small damaged files, some of each kind."""
    found: dict[str, list[fuzz.Input]] = {}
    for given in fuzz.damaged(SAMPLE, 1):
        chosen = found.setdefault(given.kind, [])
        if len(chosen) < EACH_KIND and sum(map(len, given.files.values())) < MOST_BYTES:
            chosen.append(given)
    return [given for chosen in found.values() for given in chosen]


def row(found: dict) -> list[str]:
    """What is compared of an outcome: the class of the error (or "value") and the stage at which it was raised."""
    return [found["outcome"], "" if found["outcome"] == "value" else found["stage"]]
