"""What a leaf that may still split knows: candidate splits, and the targets on both sides of each."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.contrib.tensor_forest.examples import CATEGORICAL, Examples, Targets, invalid
from tfcompat._src.contrib.tensor_forest.params import PARAMS, SPARSE_MODEL, resolve
from tfcompat._src.contrib.tensor_forest.splits import Inequality, Matching, Split, SplitTable, read_split

_PRUNED = {PARAMS.SPLIT_PRUNE_HALF: 0.5, PARAMS.SPLIT_PRUNE_QUARTER: 0.25, PARAMS.SPLIT_PRUNE_10_PERCENT: 0.1}
"""The share of the candidates that goes at each check."""


class BestSplit(NamedTuple):
    """The split of a leaf, and what the leaves on both sides predict at first."""

    split: Split
    left: np.ndarray
    right: np.ndarray


class LeafStatistics:
    """Statistics of one leaf at a depth.

    Candidates are drawn from its first examples, one from each; these examples are not counted. When there are enough, the sums
    of targets to the left of each candidate, and in all, are kept, until the leaf is finished: it may then split.
    """

    def __init__(self, params: Any, depth: int) -> None:
        self.params, self.depth = params, depth
        self.weight = np.float32(0)
        self._split_after = int(resolve(params.split_after_samples, depth))
        self._wanted = int(resolve(params.num_splits_to_consider, depth))
        self._splits: list[Split] = []
        self._asked: list[Split] = []
        self._table: SplitTable | None = None

    @property
    def is_initialized(self) -> bool:
        """Whether examples are counted rather than taken for candidates."""
        return self.weight > 0 or len(self._splits) == self._wanted

    def is_finished(self) -> bool:
        """Whether the leaf has seen enough to split."""
        return bool(self.weight >= self._split_after)

    def add_candidate(self, examples: Examples, targets: Targets, row: int, below: Callable[[int], int]) -> None:
        """Takes a candidate from an example: one of its features at its own value."""
        feature, value, kind = examples.sample(row, below)
        if len(self._splits) == self._wanted:
            return
        if kind == CATEGORICAL:
            self._append(Matching((feature,), (value,)))
        else:
            self._append(Inequality((feature,), value, self.params.inequality_test_type))

    def _append(self, split: Split) -> None:
        self._splits.append(split)
        self._asked.append(split)
        self._table = None
        self._resize()

    def _remove(self, which: int) -> None:
        del self._splits[which], self._asked[which]
        self._table = None

    def _resize(self) -> None:
        """Makes room for the sums of the last candidate."""
        raise NotImplementedError

    def _left(self, examples: Examples, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pairs (position in `rows`, candidate) where the example goes left, by position."""
        if self._table is None:
            self._table = SplitTable(self._asked)
        return np.nonzero(self._table.goes_left(examples, rows[:, None], np.arange(len(self._asked))[None]))

    def add(self, examples: Examples, targets: Targets, rows: np.ndarray) -> int | None:
        """Counts examples; gives the position in `rows` of the first after which the leaf is finished, None if it is not."""
        raise NotImplementedError

    def best(self) -> BestSplit | None:
        """The candidate with the least impurity; None where all have one side empty."""
        raise NotImplementedError

    def write(self, slot: Any) -> None:
        """Fills the statistics in a FertileSlot."""
        raise NotImplementedError

    def read(self, slot: Any) -> None:
        """Takes the statistics from a FertileSlot."""
        raise NotImplementedError


def _first(holds: np.ndarray) -> int | None:
    return int(holds.argmax()) if holds.any() else None


def _write_vector(vector: Any, values: np.ndarray) -> None:
    for value in values:
        vector.value.add().float_value = value


def _read_vector(vector: Any, size: int) -> np.ndarray:
    if len(vector.value) != size:
        raise invalid("Unable to parse stats config.")
    return np.array([value.float_value for value in vector.value], np.float32)


def _gini(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sums over classes, and the impurities sum * (1 - (squares + 2 sum + n) / (n + sum)^2), of counts [splits, n]."""
    classes = counts.shape[1]
    total = np.cumsum(counts, axis=1)[:, -1]
    squares = np.cumsum(counts * counts, axis=1)[:, -1]
    smoothed = classes + total
    share = ((squares + 2 * total) + classes) / (smoothed * smoothed)
    return total, total * (1.0 - share.astype(np.float64)).astype(np.float32)


class ClassStatistics(LeafStatistics):
    """Counts of classes; impurity is Gini's index with one example more in every class.

    Running sums of squares, which `use_running_stats_method` asks for, give the same scores, and are not kept.
    """

    def __init__(self, params: Any, depth: int) -> None:
        super().__init__(params, depth)
        self._total = np.zeros(params.num_outputs, np.float32)
        self._counts = np.zeros((0, params.num_outputs), np.float32)
        self._waiting: dict[int, int] = {}
        self._finished_early = False
        self._prune_epoch = 1
        if params.pruning_type.type != PARAMS.SPLIT_PRUNE_NONE:
            self._prune_every = int(resolve(params.pruning_type.prune_every_samples, depth))
        if params.finish_type.type != PARAMS.SPLIT_FINISH_BASIC:
            if not (params.HasField("dominate_fraction") and params.HasField("min_split_samples")):
                raise invalid("dominate_fraction and min_split_samples required for early-finish strategy.")
            self._min_samples = int(resolve(params.min_split_samples, depth))
            self._finish_every = int(resolve(params.finish_type.check_every_steps, depth))
            if self._finish_every <= 0:
                raise invalid("check_every_steps must be positive for early-finish strategy.")
            self._finish_epoch = self._min_samples // self._finish_every
        self._dominate = (
            resolve(params.dominate_fraction, depth) if params.HasField("dominate_fraction") else np.float32(0)
        )

    @property
    def is_initialized(self) -> bool:
        return self.weight > 0 or (len(self._splits) == self._wanted and not self._waiting)

    def is_finished(self) -> bool:
        is_pure = np.count_nonzero(self._total) <= 1
        return self._finished_early or bool(self.weight >= self._split_after and not is_pure)

    def _resize(self) -> None:
        self._counts = np.concatenate([self._counts, np.zeros_like(self._total)[None]])

    def _remove(self, which: int) -> None:
        super()._remove(which)
        self._counts = np.delete(self._counts, which, axis=0)

    def add_candidate(self, examples: Examples, targets: Targets, row: int, below: Callable[[int], int]) -> None:
        before = len(self._splits)
        super().add_candidate(examples, targets, row, below)
        if not self.params.initialize_average_splits:
            return
        label = int(targets.values[row, 0])
        if len(self._splits) > before and isinstance(self._splits[-1], Inequality):
            self._waiting[before] = label
        for which in [w for w, first in self._waiting.items() if first != label]:
            split = self._splits[which]
            value = examples.values(np.array([row]), np.array(split.features))[0]
            self._splits[which] = split.with_average(value)
            del self._waiting[which]

    def add(self, examples: Examples, targets: Targets, rows: np.ndarray) -> int | None:
        labels, weights = targets.classes(self.params.num_outputs)[rows], targets.weights[rows]
        basic = self.params.finish_type.type == PARAMS.SPLIT_FINISH_BASIC
        if basic and self.params.pruning_type.type == PARAMS.SPLIT_PRUNE_NONE and (weights >= 0).all():
            return self._add_block(examples, rows, labels, weights)
        finished = None
        for i in range(len(rows)):
            self._add_block(examples, rows[i : i + 1], labels[i : i + 1], weights[i : i + 1])
            if not basic:
                self._check_finish()
            if self.params.pruning_type.type != PARAMS.SPLIT_PRUNE_NONE:
                self._check_prune()
            if finished is None and self.is_finished():
                finished = i
        return finished

    def _add_block(self, examples: Examples, rows: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> int | None:
        """Counts examples; where weights are not negative, gives the first after which there are enough of several classes."""
        positions, which = self._left(examples, rows)
        np.add.at(self._counts, (which, labels[positions]), weights[positions])
        sums = np.add.accumulate(np.append(self.weight, weights))[1:]
        self.weight = sums[-1]
        seen = set(np.flatnonzero(self._total).tolist())
        np.add.at(self._total, labels, weights)
        if self.weight < self._split_after:
            return None
        is_mixed = np.zeros(len(rows), bool)
        for i, (label, weight) in enumerate(zip(labels.tolist(), weights.tolist(), strict=True)):
            if weight:
                seen.add(label)
            if len(seen) > 1:
                is_mixed[i:] = True
                break
        return _first(is_mixed & (sums >= self._split_after))

    def _scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each candidate the weights on the left and on the right, and the sum of the impurities."""
        left, left_score = _gini(self._counts)
        right, right_score = _gini(self._total - self._counts)
        return left, right, left_score + right_score

    def _check_finish(self) -> None:
        """Finishes the leaf where the best candidate is better than the next by more than chance (Hoeffding's bound).

        The test by bootstrap compares sums that are never positive with a least value of zero, so it never finishes a leaf.
        """
        if self.weight < self._min_samples or self.weight < self._finish_epoch * self._finish_every:
            return
        self._finish_epoch += 1
        if self.params.finish_type.type != PARAMS.SPLIT_FINISH_DOMINATE_HOEFFDING:
            return
        if not 0 < self._dominate <= 1:
            raise invalid(f"Invalid dominate fraction {self._dominate}")
        spread = np.float32(0.25) * np.float32(self.params.num_outputs) * self.weight
        chance = math.inf if self._dominate == 1 else math.log(1 / (1 - float(self._dominate)))
        best = np.sort(np.append(self._scores()[2], [np.finfo(np.float32).max] * 2))[:2]
        self._finished_early = bool(best[1] - best[0] > np.float32(spread * math.sqrt(chance / (2 * self.weight))))

    def _check_prune(self) -> None:
        """Removes the worst candidates, every so many examples."""
        if self.is_finished() or self.weight < self._prune_epoch * self._prune_every:
            return
        self._prune_epoch += 1
        scores = self._scores()[2]
        kind = self.params.pruning_type.type
        if kind == PARAMS.SPLIT_PRUNE_HOEFFDING:
            spread = self.weight * np.float32(1 - 1 / self.params.num_outputs)
            chance = math.inf if self._dominate == 1 else 0.5 * math.log(1 / (1 - float(self._dominate)))
            removed = np.flatnonzero(
                scores - scores.min(initial=np.inf) > spread * math.sqrt(chance / self.weight)
            ).tolist()
        else:
            count = int(len(scores) * _PRUNED[kind])
            worst: list[tuple[float, int]] = []
            for i, score in enumerate(scores.tolist()):
                if len(worst) < count:
                    heapq.heappush(worst, (score, i))
                elif worst and worst[0][0] < score:
                    heapq.heapreplace(worst, (score, i))
            removed = [i for _, i in worst]
        for i in sorted(removed, reverse=True):
            self._remove(i)

    def best(self) -> BestSplit | None:
        left, right, scores = self._scores()
        possible = np.flatnonzero((left > 0) & (right > 0) & (scores < np.finfo(np.float32).max))
        if not possible.size:
            return None
        which = int(possible[scores[possible].argmin()])
        return BestSplit(self._splits[which], self._counts[which], self._total - self._counts[which])

    def _write_counts(self, stat: Any, values: np.ndarray) -> None:
        if self.params.leaf_type != SPARSE_MODEL:
            _write_vector(stat.classification.dense_counts, values)
            return
        stat.classification.sparse_counts.SetInParent()
        for i in np.flatnonzero(values):
            stat.classification.sparse_counts.sparse_value[i].float_value = values[i]

    def _read_counts(self, stat: Any) -> np.ndarray:
        if self.params.leaf_type != SPARSE_MODEL:
            return _read_vector(stat.classification.dense_counts, len(self._total))
        values = np.zeros_like(self._total)
        for i, value in stat.classification.sparse_counts.sparse_value.items():
            if not 0 <= i < len(values):
                raise invalid("Unable to parse stats config.")
            values[i] = value.float_value
        return values

    def write(self, slot: Any) -> None:
        slot.post_init_leaf_stats.weight_sum = self.weight
        self._write_counts(slot.post_init_leaf_stats, self._total)
        for split, counts in zip(self._splits, self._counts, strict=True):
            candidate = slot.candidates.add()
            split.write(candidate.split)
            self._write_counts(candidate.left_stats, counts)

    def read(self, slot: Any) -> None:
        if not slot.HasField("post_init_leaf_stats"):
            return
        self.weight = np.float32(slot.post_init_leaf_stats.weight_sum)
        self._total = self._read_counts(slot.post_init_leaf_stats)
        for candidate in slot.candidates:
            self._append(read_split(candidate.split))
            self._counts[-1] = self._read_counts(candidate.left_stats)


class VarianceStatistics(LeafStatistics):
    """Sums and squares of targets; impurity is the sum of their variances on both sides."""

    def __init__(self, params: Any, depth: int) -> None:
        super().__init__(params, depth)
        self._total = np.zeros((2, params.num_outputs), np.float32)
        self._sums = np.zeros((0, 2, params.num_outputs), np.float32)
        self._counts = np.zeros(0, np.int64)

    def _resize(self) -> None:
        self._sums = np.concatenate([self._sums, np.zeros_like(self._total)[None]])
        self._counts = np.append(self._counts, 0)

    def add(self, examples: Examples, targets: Targets, rows: np.ndarray) -> int | None:
        if targets.values.shape[1] < self.params.num_outputs:
            raise invalid(
                f"Labels have {targets.values.shape[1]} columns but there are {self.params.num_outputs} outputs."
            )
        values = targets.values[rows, : self.params.num_outputs]
        terms = np.stack([values, values * values], axis=1)
        positions, which = self._left(examples, rows)
        np.add.at(self._sums, which, terms[positions])
        np.add.at(self._counts, which, 1)
        self._total = np.add.accumulate(np.concatenate([self._total[None], terms]))[-1]
        sums = self.weight + np.arange(1, len(rows) + 1, dtype=np.float32)
        self.weight = sums[-1]
        return _first(sums >= self._split_after)

    def best(self) -> BestSplit | None:
        possible = np.flatnonzero((self._counts > 0) & (self.weight - self._counts > 0))
        if not possible.size:
            return None
        counts = self._counts[possible].astype(np.float32)[:, None, None]
        left = self._sums[possible] / counts
        right = (self._total - self._sums[possible]) / (self.weight - counts)
        variances = np.stack([side[:, 1] - side[:, 0] * side[:, 0] for side in (left, right)], axis=2)
        scores = np.cumsum(variances.reshape(len(possible), -1), axis=1)[:, -1]
        if not (scores < np.finfo(np.float32).max).any():
            return None
        at = int(np.where(np.isnan(scores), np.inf, scores).argmin())
        return BestSplit(self._splits[possible[at]], left[at, 0], right[at, 0])

    def _write_sums(self, stat: Any, sums: np.ndarray) -> None:
        _write_vector(stat.regression.mean_output, sums[0])
        _write_vector(stat.regression.mean_output_squares, sums[1])

    def _read_sums(self, stat: Any) -> np.ndarray:
        both = (stat.regression.mean_output, stat.regression.mean_output_squares)
        return np.stack([_read_vector(vector, self.params.num_outputs) for vector in both])

    def write(self, slot: Any) -> None:
        slot.post_init_leaf_stats.weight_sum = self.weight
        self._write_sums(slot.post_init_leaf_stats, self._total)
        for split, sums, count in zip(self._splits, self._sums, self._counts, strict=True):
            candidate = slot.candidates.add()
            split.write(candidate.split)
            self._write_sums(candidate.left_stats, sums)
            candidate.left_stats.weight_sum = count

    def read(self, slot: Any) -> None:
        if not slot.HasField("post_init_leaf_stats"):
            return
        self.weight = np.float32(slot.post_init_leaf_stats.weight_sum)
        self._total = self._read_sums(slot.post_init_leaf_stats)
        for candidate in slot.candidates:
            self._append(read_split(candidate.split))
            self._sums[-1] = self._read_sums(candidate.left_stats)
            self._counts[-1] = int(candidate.left_stats.weight_sum)
