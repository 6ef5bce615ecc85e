"""The HTML page of a comparison: curves of scalars in both records, and a table of tensors by difference. It needs no network."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator

from tfcompat._src.replay.compare import Comparison
from tfcompat._src.replay.differences import DIFFERS, EQUAL, Difference
from tfcompat._src.replay.report import worst_first

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #ddd; font-variant-numeric: tabular-nums }
pre { background: #f4f4f4; padding: .8rem; overflow-x: auto } svg { width: 100%; height: auto } .differs { color: #b00020; font-weight: 600 }
.one { stroke: #1f5fbf; color: #1f5fbf } .other { stroke: #d97706; color: #d97706; stroke-dasharray: 5 4 }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #161616 } pre { background: #222 } th, td { border-color: #444 } }
"""
WIDTH, HEIGHT, MARGIN = 800, 220, 46


def page(comparison: Comparison) -> str:
    """Returns the page."""
    one, other = html.escape(comparison.one.path), html.escape(comparison.other.path)
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{one} and {other}</title><style>{STYLE}</style>",
        f"<h1>{one} and {other}</h1><pre>{html.escape(chr(10).join(comparison.lines()))}</pre>",
        f'<p><span class="one">&#9473;&#9473; {one}</span> &nbsp; <span class="other">&#9473; &#9473; {other}</span></p>',
    ]
    for name, points in curves(comparison).items():
        parts += [f"<h2>{html.escape(name)}</h2>", drawing(points)]
    parts += ["<h2>Tensors by difference</h2>", *table(comparison)]
    return "\n".join(parts) + "\n"


def curves(comparison: Comparison) -> dict[str, list[tuple[float, float]]]:
    """Fetched scalars of both records by name, over the runs that fetch them; those fetched once are left out."""
    found: dict[str, list[tuple[float, float]]] = {}
    for pair in comparison.pairs:
        for name in pair.one.wanted:
            a, b = pair.one.fetches.get(name), pair.other.fetches.get(name)
            if a is not None and b is not None and a.array is not None and b.array is not None and a.array.size == b.array.size == 1 and a.array.dtype.kind == "f":
                found.setdefault(name, []).append((float(a.array.item()), float(b.array.item())))
    return {name: points for name, points in found.items() if len(points) > 1}


def drawing(points: list[tuple[float, float]]) -> str:
    """Two curves over each other, as SVG."""
    finite = [y for pair in points for y in pair if math.isfinite(y)] or [0.0]
    low, high = min(finite), max(finite)
    span = high - low or 1.0

    def place(i: int, y: float) -> str:
        return f"{MARGIN + i * (WIDTH - 2 * MARGIN) / (len(points) - 1):.1f},{HEIGHT - 24 - (y - low) / span * (HEIGHT - 44):.1f}"

    lines = []
    for side, kind in enumerate(("one", "other")):
        path = " ".join(place(i, pair[side]) for i, pair in enumerate(points) if math.isfinite(pair[side]))
        lines.append(f'<polyline class="{kind}" fill="none" stroke-width="2" points="{path}"/>')
    text = f'<text x="2" y="24" fill="currentColor" font-size="11">{high:.4g}</text><text x="2" y="{HEIGHT - 24}" fill="currentColor" font-size="11">{low:.4g}</text>'
    text += f'<text x="{MARGIN}" y="{HEIGHT - 6}" fill="currentColor" font-size="11">1</text><text x="{WIDTH - MARGIN}" y="{HEIGHT - 6}" fill="currentColor" font-size="11">{len(points)}</text>'
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(lines)}{text}</svg>'


def table(comparison: Comparison) -> Iterator[str]:
    """Rows of the tensors that differ most, each at its worst run."""
    worst: dict[str, tuple[Difference, str]] = {}
    for pair in comparison.pairs:
        for d in pair.differences:
            if d.verdict != EQUAL and (d.name not in worst or worst_first([d, worst[d.name][0]])[0] is d):
                worst[d.name] = (d, f"{pair.one.order}")
    yield "<table><tr><th>tensor<th>run<th>type<th>shape<th>largest difference<th>relative<th>tolerance<th>verdict</tr>"
    for d in worst_first(d for d, _ in worst.values())[:200]:
        kind = ' class="differs"' if d.verdict == DIFFERS else ""
        yield (
            f"<tr><td>{html.escape(d.name)}<td>{worst[d.name][1]}<td>{d.dtype}<td>{list(d.shape)}<td>{d.absolute:.3g}<td>{d.relative:.3g}"
            f"<td>{d.tolerance:.3g}<td{kind}>{d.verdict}{html.escape('; ' + d.why if d.why else '')}</tr>"
        )
    yield "</table>" if worst else "</table><p>All values agree bit for bit.</p>"
