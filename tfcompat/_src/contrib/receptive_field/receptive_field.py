"""The receptive field of a fully convolutional network: which part of the image a feature sees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.contrib.receptive_field.graph_compute_order import data_inputs, get_compute_order
from tfcompat._src.contrib.receptive_field.parse_layer_parameters import Window, windows
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.tensor import Tensor

_AXES = ("vertical", "horizontal")


class ReceptiveField:
    """The part of the input that a feature sees.

    Args:
      size, stride, padding: along x and y: how many elements it sees, how many lie between those of neighbours, and how many
        are before the first element of the input for the first feature.
    """

    def __init__(self, size: Any, stride: Any, padding: Any) -> None:
        self.size, self.stride, self.padding = map(np.asarray, (size, stride, padding))

    def _axes(self, points: object, axis: Iterable[int] | None, what: str) -> tuple[np.ndarray, list[int]]:
        points, axes = np.asarray(points), list(range(self.size.size) if axis is None else axis)
        if points.shape[-1] != len(axes):
            raise ValueError(
                f"Dimensionality of the {what} ({points.shape[-1]}) does not match dimensionality of `axis` ({len(axes)})"
            )
        return points, axes

    def compute_input_center_coordinates(self, y: object, axis: Iterable[int] | None = None) -> np.ndarray:
        """The centers of what features see.

        Args:
          y: coordinates of features [..., axes].
          axis: which axes these are, by default all.

        Raises:
          ValueError: there are more or fewer axes.
        """
        y, axes = self._axes(y, axis, "feature coordinates `y`")
        return y * self.stride[axes] - self.padding[axes] + (self.size[axes] - 1) / 2

    def compute_feature_coordinates(self, x: object, axis: Iterable[int] | None = None) -> np.ndarray:
        """The features that see parts with these centers; `compute_input_center_coordinates` the other way."""
        x, axes = self._axes(x, axis, "input center coordinates `x`")
        return (x + self.padding[axes] - (self.size[axes] - 1) / 2) / self.stride[axes]

    def __iter__(self) -> Iterator:
        return iter(np.concatenate([self.size, self.stride, self.padding]))


class _Seen(NamedTuple):
    """What the output sees of a node along one axis; `padding` is None where it depends on the size of the image."""

    size: int
    stride: int
    padding: int | None

    def through(self, window: Window, padding_is_known: bool) -> _Seen:
        """What it sees of the node before a layer."""
        size = window.stride * self.size + window.kernel - window.stride
        padding = window.stride * self.padding + window.padding if padding_is_known else None
        return _Seen(size, window.stride * self.stride, padding)

    @property
    def shift(self) -> float:
        return (self.size - 1) / 2 - self.padding


def _check_aligned(ways: Sequence[Sequence[_Seen]]) -> None:
    """Raises ValueError where two ways through the graph see a node at other places."""
    for axis, one, other in reversed(list(zip(_AXES, *ways))):
        if one.stride != other.stride:
            raise ValueError(f"Graph is not aligned since effective stride from different paths is different in {axis} direction")
        if one.shift != other.shift:
            raise ValueError(f"Graph is not aligned since center shift from different paths is different in {axis} direction")


@export("contrib.receptive_field.receptive_field_api.compute_receptive_field_from_graph_def")
def compute_receptive_field_from_graph_def(
    graph_def: Any, input_node: Any, output_node: Any, stop_propagation: Sequence[str] | None = None,
    input_resolution: Sequence[int] | None = None,
) -> ReceptiveField:  # fmt: skip
    """Which part of `input_node` an element of `output_node` sees.

    Args:
      graph_def: a Graph or GraphDef.
      input_node, output_node: their names, or tensors.
      stop_propagation: beginnings of the names of nodes that are not looked through.
      input_resolution: (height, width) of the input, where known; paddings may depend on it.

    Raises:
      ValueError: a node is not found, is of an unknown type, or two ways between the nodes are not aligned.
    """
    if isinstance(graph_def, Graph):
        graph_def = graph_def.as_graph_def()
    first, last = (n.op.name if isinstance(n, Tensor) else n for n in (input_node, output_node))
    infos, nodes = get_compute_order(graph_def, first, input_resolution)
    seen: dict[str, list[_Seen]] = {last: [_Seen(1, 1, 0)] * 2} if last in nodes else {}
    padding_is_known = True
    for name in sorted(infos, key=lambda n: -infos[n].order):
        if name == first:
            break
        if name not in seen:
            continue
        layer = windows(nodes[name], nodes, infos[name].input_size)
        padding_is_known = padding_is_known and all(w.padding is not None for w in layer)
        found = [s.through(w, padding_is_known) for s, w in zip(seen[name], layer)]
        for source in data_inputs(nodes[name]):
            if any(source.startswith(stop) for stop in stop_propagation or ()):
                continue
            before = seen.setdefault(source, found)
            if padding_is_known:
                _check_aligned((before, found))
            seen[source] = [max(pair, key=lambda s: s.size) for pair in zip(before, found)]
    if last not in seen:
        raise ValueError("Output node was not found")
    if first not in seen:
        raise ValueError("Input node was not found")
    y, x = seen[first]
    return ReceptiveField(*zip(x, y))
