"""Writes dumps as one HTML page that needs no network: tensors by scopes, each with its history, histogram and picture, and the graph."""

from __future__ import annotations

import base64
import html
import json
import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.debug.dump_dir import DebugDumpDir
from tfcompat._src.debug.dump_files import DebugTensorDatum, InconvertibleTensorProto
from tfcompat._src.graph.picture import graph_def_html
from tfcompat._src.platform import file_io

MOST_POINTS = 40_000
"""Of the histories of all tensors together."""
MOST_POINTS_OF_TENSOR = 400
MOST_PICTURES = 300
"""Tensors with pictures; those with NaNs come first."""
MOST_NODES = 5000
"""Of a graph that is drawn."""
_LONGEST_SIDE = 64
"""Of a picture in pixels."""
_MOST_TILES = 16
"""Channels of a 4-D tensor that are shown."""
_BINS = 32
_FEW = 8
"""Values that are written out."""
_FOLDER = pathlib.Path(__file__).parent


def write_page(dump_root: str, path: str, validate: bool = True) -> None:
    """Writes a page of the dump of one run, or of a folder with those of several.

    Args:
      dump_root: the folder of a run, or the root that DumpingDebugWrapperSession was given. path: the file of the page.
      validate: whether dumps must agree with their graphs.

    Raises:
      OSError: there is no such folder. ValueError: there is no dump in it, or one does not agree with its graph.
    """
    runs = [DebugDumpDir(folder, validate=validate) for folder in _folders_of_runs(dump_root)]
    data = {"title": os.path.abspath(dump_root), "runs": len(runs), **_tensors(runs), "nodes": _nodes(runs[-1])}
    text = _filled((_FOLDER / "page.html").read_text(), {
        "STYLE": (_FOLDER / "page.css").read_text(), "SCRIPT": (_FOLDER / "page.js").read_text(), "GRAPH": _graph(runs[-1]),
        "TITLE": html.escape(os.path.basename(os.path.abspath(dump_root))), "DATA": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
    })  # fmt: skip
    file_io.write_string_to_file(path, text)


def _filled(template: str, parts: dict[str, str]) -> str:
    for name, part in parts.items():
        head, _, tail = template.partition(f"@{name}@")
        template = head + part + tail
    return template


def _folders_of_runs(root: str) -> list[str]:
    """The folder itself, or those of runs in it, by time."""
    if not file_io.isdir(root):
        raise OSError(f"Dump root directory {root} does not exist")
    names = file_io.listdir(root)
    if any(name.startswith("_tfdbg_") for name in names):
        return [root]
    found = [name.rstrip("/") for name in names if name.startswith("run_")]
    if not found:
        raise ValueError(f"{root} is neither the folder of a debugged run nor one with such folders in it.")
    return [os.path.join(root, name) for name in sorted(found, key=lambda name: [int(part) for part in name.split("_")[1:] if part.isdigit()])]


# ---- tensors ----


def _tensors(runs: Sequence[DebugDumpDir]) -> dict[str, Any]:
    """What is told of all watched tensors, by the order in which they were first dumped."""
    dumps: dict[str, list[tuple[int, int, DebugTensorDatum]]] = {}
    for number, run in enumerate(runs):
        for datum in run.dumped_tensor_data:
            dumps.setdefault(datum.watch_key, []).append((number, datum.timestamp - (run.t0 or 0), datum))
    most = max(2, min(MOST_POINTS_OF_TENSOR, MOST_POINTS // max(1, len(dumps))))
    found = [_history(key, _spread(each, most), len(each)) for key, each in dumps.items()]
    bad_first = sorted(found, key=lambda tensor: not tensor["bad"])
    for tensor in bad_first[MOST_PICTURES:]:
        tensor.pop("picture", None)
    return {"tensors": found, "shown": most, "pictures": MOST_PICTURES}


def _spread(items: list[Any], most: int) -> list[Any]:
    """At most so many items, evenly chosen, the first and last among them."""
    if len(items) <= most:
        return items
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def _history(key: str, dumps: Sequence[tuple[int, int, DebugTensorDatum]], count: int) -> dict[str, Any]:
    """What is told of one tensor: a point for each dump, and more of the last one and the first with a NaN."""
    found: dict[str, Any] = {"key": key, "count": count, "points": [], "bad": 0}
    shown = None
    for run, microseconds, datum in dumps:
        try:
            value = datum.get_tensor()
        except errors.DataLossError as e:
            found["points"].append({"run": run, "at": microseconds, "error": e.message})
            continue
        point = {"run": run, "at": microseconds, **_measured(value)}
        found["points"].append(point)
        is_first_bad = point.get("bad") and not found["bad"]
        found["bad"] += bool(point.get("bad"))
        if is_first_bad or not found["bad"]:
            shown = (len(found["points"]) - 1, value)
    if shown is not None:
        found.update(_details(*shown))
    return found


def _measured(value: Any) -> dict[str, Any]:
    """Numbers of a value."""
    if isinstance(value, InconvertibleTensorProto):
        return {"dtype": "handle" if value.initialized else "uninitialized"}
    about = {"dtype": "string" if value.dtype.kind in "OSU" else value.dtype.name, "shape": list(value.shape)}
    if not value.size or not _is_numeric(value):
        return about
    numbers = _real(value)
    is_finite = np.isfinite(numbers)
    finite = numbers[is_finite]
    about["nan"] = int(np.isnan(numbers).sum())
    about["inf"] = int(numbers.size - finite.size - about["nan"])
    about["bad"] = about["nan"] + about["inf"]
    if finite.size:
        with np.errstate(over="ignore", invalid="ignore"):
            found = {name: _short(f(finite)) for name, f in (("min", np.min), ("max", np.max), ("mean", np.mean), ("std", np.std))}
        about.update({name: number for name, number in found.items() if np.isfinite(number)})  # a mean of large numbers may overflow
    return about


def _is_numeric(value: Any) -> bool:
    return value.dtype.kind in "biufc" or value.dtype.name == "bfloat16"


def _real(value: Any) -> Any:
    """The values as float64; of complex numbers their magnitudes."""
    return (np.abs(value) if value.dtype.kind == "c" else value).astype(np.float64)


def _short(number: Any) -> float:
    """A number with six digits, which is enough to be looked at."""
    return float(f"{float(number):.6g}")


def _details(index: int, value: Any) -> dict[str, Any]:
    """The histogram, picture and first values of one dump."""
    found: dict[str, Any] = {"of": index}
    if isinstance(value, InconvertibleTensorProto):
        return found
    found["values"] = [str(v)[:80] for v in value.ravel()[:_FEW].tolist()]
    if not value.size or not _is_numeric(value):
        return found
    numbers = _real(value)
    finite = numbers[np.isfinite(numbers)]
    if finite.size > 1:
        found["histogram"] = _histogram(finite)
    tiles = list(_tiles(numbers))
    if tiles:
        found["picture"] = _picture(tiles)
    return found


def _histogram(finite: Any) -> dict[str, Any]:
    """Counts of finite values between the lowest and the highest, which NumPy's own takes not where they are too close or too far."""
    low, high = finite.min(), finite.max()
    count = min(_BINS, finite.size)
    share = (finite / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)
    bins = np.minimum((share * count).astype(np.int64), count - 1)
    return {"counts": np.bincount(bins, minlength=count).tolist(), "from": _short(low), "to": _short(high)}


def _tiles(numbers: Any) -> Iterator[Any]:
    """What is shown of a 2-D tensor, and of the first entry or the filters of a 4-D one: 2-D arrays of few pixels."""
    if numbers.ndim == 2 and min(numbers.shape) > 1:
        yield _thinned(numbers)
    elif numbers.ndim == 4 and numbers.size:
        is_filter = numbers.shape[0] <= 11 and numbers.shape[1] <= 11 and numbers.shape[0] == numbers.shape[1]
        planes = numbers.reshape(*numbers.shape[:2], -1) if is_filter else numbers[0]
        for channel in range(min(_MOST_TILES, planes.shape[2])):
            yield _thinned(planes[:, :, channel])


def _thinned(plane: Any) -> Any:
    rows, columns = (np.unique(np.linspace(0, n - 1, min(n, _LONGEST_SIDE)).round().astype(int)) for n in plane.shape)
    return plane[np.ix_(rows, columns)]


def _picture(tiles: Sequence[Any]) -> dict[str, Any]:
    """Tiles of one size as bytes: 0 to 253 from the lowest to the highest value of all, 254 an infinity, 255 a NaN."""
    pixels = np.stack(tiles)
    is_finite = np.isfinite(pixels)
    finite = pixels[is_finite]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (pixels / 2 - low / 2) / ((high / 2 - low / 2) or 1.0) * 253
    marked = np.where(np.isnan(pixels), 255, np.where(is_finite, scaled, 254)).astype(np.uint8)
    return {"count": len(tiles), "height": tiles[0].shape[0], "width": tiles[0].shape[1], "pixels": base64.b64encode(marked.tobytes()).decode()}


# ---- the graph ----


def _nodes(run: DebugDumpDir) -> dict[str, Any]:
    """The op type, inputs, control inputs and device of each node."""
    if not run.loaded_partition_graphs():
        return {}
    found: dict[str, Any] = {}
    for device, graph in run.reconstructed_non_debug_partition_graphs().items():
        for node in graph.node:
            inputs = [name for name in node.input if not name.startswith("^")]
            found[node.name] = [node.op, inputs, [name[1:] for name in node.input if name.startswith("^")], device]
    return found


def _graph(run: DebugDumpDir) -> str:
    if not run.loaded_partition_graphs():
        return "<p>The dump has no graph.</p>"
    drawn = []
    for device, graph in run.reconstructed_non_debug_partition_graphs().items():
        is_small = len(graph.node) <= MOST_NODES
        picture = graph_def_html(graph) if is_small else f"<p>{len(graph.node)} nodes: graphs of more than {MOST_NODES} are not drawn.</p>"
        drawn.append(f"<h2>{html.escape(device)}</h2>{picture}")
    return "".join(drawn)
