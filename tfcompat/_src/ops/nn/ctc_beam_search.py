"""The beam search of connectionist temporal classification: Graves, "Supervised Sequence Labelling", section 7.5."""

from __future__ import annotations

import numpy as np

from tfcompat._src.ops.array.shape import invalid
from tfcompat._src.ops.nn.best_heap import Best

_NEVER = -np.inf


class _Prefix:
    """A label sequence: one label after another prefix, with log probabilities of the frames that spell it.

    `blank` ends in a blank, `label` in its last label, `total` is both; `old_` are those of the frame before. A prefix
    takes part in the search while `total` is above minus infinity.
    """

    __slots__ = ("parent", "last", "following", "total", "blank", "label", "old_total", "old_blank")

    def __init__(self, parent: _Prefix | None, last: int, start: float) -> None:
        self.parent, self.last, self.following = parent, last, {}
        self.total = self.blank = self.old_total = self.old_blank = start
        self.label = _NEVER

    def labels(self, merge_repeated: bool) -> list[int]:
        found: list[int] = []
        entry, later = self, -1
        while entry.parent is not None:
            if not merge_repeated or entry.last != later:
                found.append(entry.last)
            entry, later = entry.parent, entry.last
        return found[::-1]


def decode(logits: np.ndarray, width: int, paths: int, merge_repeated: bool) -> tuple[list[list[int]], list[float]]:
    """The most probable label sequences of one example, and their log probabilities.

    Args:
      logits: floating [time, classes]; the last class is the blank.
      width: the number of prefixes kept after each frame.
      paths: the number of sequences wanted.
      merge_repeated: whether equal neighbours in a sequence are merged.

    Raises:
      InvalidArgumentError: `paths` is more than `width` or than the search holds.
    """
    beam = Best(width)
    beam.push(_Prefix(None, -1, 0.0))
    top = logits.max(1, initial=_NEVER)
    offsets = top + np.log(np.exp(logits - top[:, None]).sum(1, dtype=logits.dtype))
    for frame, offset in zip(logits, offsets):
        _advance(beam, frame, offset)
    if paths > width:
        raise invalid("requested more paths than the beam width.")
    if paths > len(beam):
        raise invalid("Less leaves in the beam search than requested.")
    found = Best(paths)
    for entry in beam:
        found.push(entry)
    chosen = found.extract()
    return [entry.labels(merge_repeated) for entry in chosen], [entry.total for entry in chosen]


def _log_add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """log(exp(a) + exp(b)); the correction is computed in float32."""
    high, low = np.maximum(a, b), np.minimum(a, b)
    difference = np.where(low == _NEVER, _NEVER, low - np.where(low == _NEVER, 0, high)).astype(np.float32)
    return high + np.log1p(np.exp(difference)).astype(a.dtype)


def _advance(beam: Best, frame: np.ndarray, offset: np.floating) -> None:
    """Moves the search by one frame."""
    entries = beam.extract()
    for entry in entries:
        entry.old_total, entry.old_blank = entry.total, entry.blank
    _stay(entries, frame, offset)
    for entry in entries:
        beam.push(entry)
    if beam.is_full:
        _grow_all(beam, entries, frame, offset)
    else:
        for entry in entries:
            _grow(beam, entry, frame, offset)


def _stay(entries: list[_Prefix], frame: np.ndarray, offset: np.floating) -> None:
    """The probabilities of the prefixes themselves with one more frame."""
    dtype = frame.dtype
    extended = np.array([_from_parent(entry) for entry in entries], dtype)
    label = _log_add(np.array([entry.label for entry in entries], dtype), extended)
    last = np.array([entry.last for entry in entries])
    label = np.where(last < 0, _NEVER, label + (frame[last] - offset)).astype(dtype)
    blank = np.array([entry.old_total for entry in entries], dtype) + frame[-1] - offset
    total = _log_add(blank, label)
    for entry, *values in zip(entries, label.tolist(), blank.tolist(), total.tolist()):
        entry.label, entry.blank, entry.total = values


def _from_parent(entry: _Prefix) -> float:
    """The probability of the shorter prefix, from which this frame's label makes `entry`."""
    parent = entry.parent
    if parent is None or parent.total == _NEVER:
        return _NEVER
    return parent.old_blank if entry.last == parent.last else parent.old_total


def _grow(beam: Best, entry: _Prefix, frame: np.ndarray, offset: np.floating) -> None:
    """Adds the prefixes that are one label longer than `entry` and better than the worst of a full beam."""
    floor = beam.worst().total if beam.is_full else _NEVER
    if not entry.old_total > floor:
        return
    scores = (frame[:-1] - offset) + frame.dtype.type(entry.old_total)
    if entry.last >= 0:
        scores[entry.last] = (frame[entry.last] - offset) + frame.dtype.type(entry.old_blank)
    for label in sorted({*np.flatnonzero(scores > floor).tolist(), *entry.following}):
        _offer(beam, entry, label, float(scores[label]))


def _offer(beam: Best, entry: _Prefix, label: int, score: float) -> _Prefix | None:
    """Lets `entry` with one more label into the beam if its score allows; returns the prefix that had to leave, if any.

    A prefix that left in this frame and may not return grows no longer either, as in TensorFlow.
    """
    child = entry.following.get(label)
    if child is not None and child.total != _NEVER:
        return None
    if not score > (beam.worst().total if beam.is_full else _NEVER):
        if child is not None:
            child.old_total = child.old_blank = _NEVER
        return None
    if child is None:
        child = entry.following[label] = _Prefix(entry, label, _NEVER)
    worst = beam.worst() if beam.is_full else None
    if worst is not None:
        worst.total = _NEVER
    child.blank, child.label, child.total = _NEVER, score, score
    beam.push(child)
    return worst


def _grow_all(beam: Best, entries: list[_Prefix], frame: np.ndarray, offset: np.floating) -> None:
    """`_grow` of all entries into a full beam, whose worst prefix only gets better: what the first one excludes is left out at once."""
    scores = (frame[:-1] - offset) + np.array([entry.old_total for entry in entries], frame.dtype)[:, None]
    labelled = [i for i, entry in enumerate(entries) if entry.last >= 0]
    last = [entries[i].last for i in labelled]
    scores[labelled, last] = (frame[last] - offset) + np.array([entries[i].old_blank for i in labelled], frame.dtype)
    offered = scores > beam.worst().total
    places = {entry: i for i, entry in enumerate(entries)}
    for entry in entries:
        if entry.parent in places:
            offered[places[entry.parent], entry.last] = True
    turns, labels = np.nonzero(offered)
    turn, grows, left = -1, False, []
    for i, label, score in zip(turns.tolist(), labels.tolist(), scores[turns, labels].tolist()):
        if i != turn:
            turn, entry = i, entries[i]
            grows = entry.old_total > beam.worst().total
        if grows and (worst := _offer(beam, entry, label, score)) is not None:
            left.append(worst)
    # Nothing refers to prefixes outside of the beam that none continues: one made again is equal.
    for entry in left:
        if entry.total == _NEVER and not entry.following and entry.parent is not None:
            entry.parent.following.pop(entry.last, None)
