"""Ratios with their spread, as text and as markdown."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

from benchmarks.subjects import TITLES

OURS = "tfcompat"
OTHERS = tuple(name for name in TITLES if name != OURS)
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
LOSS_TOLERANCE = 1e-4


def spread(values: list[float]) -> dict[str, float]:
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def summarize(measure: dict) -> dict:
    """Median by subject, and the spread over the rounds of other / tfcompat: above 1 tfcompat needs less."""
    values = measure["values"]
    ours = values.get(OURS)
    ratios = {}
    for name in OTHERS if ours else ():
        if name in values and measure["unit"]:
            ratios[name] = spread([other / own for own, other in zip(ours, values[name])])
    summary = {"medians": {name: statistics.median(v) for name, v in values.items()}, "ratios": ratios}
    if measure["workload"] == "linear" and ours and "jax" in values:
        summary["overhead_us"] = spread([1e3 * (own - bare) for own, bare in zip(ours, values["jax"])])
    return summary


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def ratio_text(ratio: dict | None) -> str:
    return f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})" if ratio else "-"


def table(results: dict) -> list[list[str]]:
    """A row of text for each measure, the header first."""
    names = [n for n in TITLES if any(n in m["values"] for m in results["measures"])]
    others = [n for n in names if n != OURS]
    rows = [["workload", "measure", *(TITLES[n] for n in names), *(f"{n} / tfcompat" for n in others)]]
    for measure in results["measures"]:
        summary = summarize(measure)
        medians = [number(summary["medians"][n]) if n in summary["medians"] else "-" for n in names]
        label = f"{measure['name']}, {measure['unit']}" if measure["unit"] else measure["name"]
        rows.append([measure["workload"], label, *medians, *(ratio_text(summary["ratios"].get(n)) for n in others)])
    return rows


def notes(results: dict) -> list[str]:
    """Overhead of a fed step, losses that differ from TensorFlow 1.15's, and what is missing."""
    found = []
    for measure in results["measures"]:
        overhead = summarize(measure).get("overhead_us")
        if overhead:
            found.append(
                f"linear: a fed-scalar step takes {overhead['median']:.1f} us more than the bare jit call"
                f" ({overhead['min']:.1f} to {overhead['max']:.1f})."
            )
    for workload, losses in results["first_losses"].items():
        if OURS in losses and "tf1" in losses and not math.isclose(losses[OURS], losses["tf1"], rel_tol=LOSS_TOLERANCE):
            found.append(f"{workload}: the first loss is {losses[OURS]:.6g}, TensorFlow 1.15's is {losses['tf1']:.6g}.")
    found += [f"{name} is left out: {reason}." for name, reason in results["absent"].items()]
    for workload, failures in results["failures"].items():
        found += [f"{workload}: {name} is left out: {reason}." for name, reason in failures.items()]
    found += [f"{workload} is left out: no time was left." for workload in results.get("left_out", ())]
    found += results.get("short", ())
    return found


def heading(results: dict) -> str:
    machine, versions = results["machine"], results["versions"]
    subjects = "; ".join(
        f"{TITLES[n]}: {v['version']} (Python {v['python']}, NumPy {v['numpy']})" for n, v in versions.items()
    )
    device = f"{machine['accelerator']}; " if "accelerator" in machine else ""
    return (
        f"{device}{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']:.0f} GiB, {machine['system']}; "
        f"{results['date']}, {results['rounds']} rounds. {subjects}."
    )


def as_text(results: dict) -> str:
    rows = table(results)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]
    return "\n".join([heading(results), "", *lines, "", *notes(results)])


def as_markdown(results: dict) -> str:
    header, *rows = table(results)
    lines = [header, ["---"] * len(header), *rows]
    text = "\n".join("| " + " | ".join(row) + " |" for row in lines)
    remarks = "\n".join(f"- {n}" for n in notes(results))
    return "\n\n".join(part for part in (heading(results), text, remarks) if part)


def write_into(path: Path, results: dict) -> None:
    """Replaces what stands between the markers of a markdown file. Raises ValueError where it has none."""
    text = path.read_text()
    if BEGIN not in text or END not in text:
        raise ValueError(f"{path} has no lines {BEGIN} and {END} to put results between")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n{as_markdown(results)}\n{END}{after}")
