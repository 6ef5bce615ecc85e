"""Candidate samplers for losses over many classes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, RANDOM, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.random import candidate_samplers as samplers
from tfcompat._src.ops.random.seeds import seed_attrs
from tfcompat._src.platform import file_io

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array, TensorLike
    from tfcompat._src.graph.shape_inference import InferenceContext

_OUTPUTS = "(sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32)"
_NO_GRADIENT = NotDifferentiable("candidates are class numbers", raises=True)


def _sampler_shape(c):
    sampled, batch = c.attr("num_sampled"), si.with_rank(c.inputs[0], 2)[0]
    return [(sampled,), (batch, c.attr("num_true")), (sampled,)]


def _reserve(outputs, *inputs, num_sampled):
    return samplers.reserve_candidates(num_sampled)


def _check_true_classes(true_classes: Array, num_true: int) -> None:
    if true_classes.ndim != 2:
        raise errors.InvalidArgumentError(None, None, "true_classes must be a matrix")
    if true_classes.shape[1] != num_true:
        raise errors.InvalidArgumentError(
            None, None, f"true_classes must have num_true columns, expected: {true_classes.shape[1]} was: {num_true}"
        )


def _sampler_op(name: str, attrs: str, kernel: Callable, **fields: Any) -> None:
    op(
        name, f"(true_classes: int64, *, num_true: int >= 1, num_sampled: int >= 1, unique: bool, {attrs}"
        f"seed: int = 0, seed2: int = 0) -> {_OUTPUTS}",
        shape=_sampler_shape, gradient=_NO_GRADIENT, kernel=kernel, effects=RANDOM, reserve=_reserve, depth=2, **fields,
    )  # fmt: skip


def _compiled_sampler(name: str, attrs: str, kernel_for: Callable[[ModuleType], Callable]) -> None:
    """A sampler that draws the same in a trace and in NumPy."""
    _sampler_op(name, attrs, kernel_for(jnp), fold=kernel_for(np))


def _simple_sampler(name: str, sampler_type: Callable) -> None:
    """A sampler that knows its range alone."""
    sampler_of = functools.lru_cache(sampler_type)

    def kernel_for(xp: ModuleType) -> Callable:
        def kernel(true_classes, *, num_true, num_sampled, unique, range_max, rng):
            _check_true_classes(true_classes, num_true)
            return samplers.candidates(xp, *rng, true_classes, sampler_of(range_max), num_sampled, unique)

        return kernel

    _compiled_sampler(name, "range_max: int >= 1, ", kernel_for)


_simple_sampler("UniformCandidateSampler", samplers.UniformSampler)
_simple_sampler("LogUniformCandidateSampler", samplers.LogUniformSampler)


def _learned_unigram(context, true_classes, *, num_true, num_sampled, unique, range_max, rng):
    _check_true_classes(true_classes, num_true)
    if np.any((true_classes < 0) | (true_classes >= range_max)):
        raise errors.InvalidArgumentError(None, None, f"true_classes must be in [0, {range_max}) to be learned")
    key = f"LearnedUnigramSampler/{context.op.name}"
    if key not in context.run.resources:
        context.run.resources[key] = samplers.LearnedUnigramSampler(range_max)
    sampler = context.run.resources[key]
    stream = samplers.WordStream(*rng, samplers.reserve_candidates(num_sampled))
    found = samplers.sample_candidates(sampler, stream, true_classes, num_sampled, unique)
    sampler.update(true_classes)
    return found


for _name in ("LearnedUnigramCandidateSampler", "ThreadUnsafeUnigramCandidateSampler"):
    _sampler_op(_name, "range_max: int >= 1, ", _learned_unigram, side=HOST, context=True)


@functools.lru_cache(maxsize=16)
def _fixed_sampler(
    range_max: int, unigrams: tuple, vocab_file: str, _modified: int | None, distortion: float, reserved: int,
    shards: int, shard: int,
) -> samplers.FixedUnigramSampler:
    weights = _read_weights(vocab_file) if vocab_file else np.array(unigrams, np.float32)
    sampler = samplers.FixedUnigramSampler(weights, distortion, reserved, shards, shard)
    if sampler.classes != range_max:
        raise errors.InvalidArgumentError(
            None, None, f"range_max is {range_max}, but there are {sampler.classes} weights with the reserved ids."
        )
    return sampler


def _read_weights(vocab_file: str) -> np.ndarray:
    """The last comma-separated field of every line."""
    lines = file_io.read_file_to_string(vocab_file).splitlines()
    fields = [(line, line.rpartition(",")[2]) for line in lines]
    weights = np.empty(len(fields), np.float32)
    for i, (line, field) in enumerate(fields):
        try:
            weights[i] = float(field)
        except ValueError:
            raise errors.InvalidArgumentError(None, None, f"Wrong vocabulary format at line: {line}") from None
    return weights


def _fixed_unigram(xp: ModuleType) -> Callable:
    def kernel(
        true_classes, *, num_true, num_sampled, unique, range_max, vocab_file, distortion, num_reserved_ids, num_shards,
        shard, unigrams, rng,
    ):  # fmt: skip
        _check_true_classes(true_classes, num_true)
        if bool(vocab_file) == bool(unigrams):
            wanted = "only provide one of vocab_file and" if unigrams else "provide either vocab_file or"
            raise errors.InvalidArgumentError(None, None, f"Must {wanted} unigrams.")
        modified = file_io.stat(vocab_file).mtime_nsec if vocab_file else None
        sampler = _fixed_sampler(
            range_max, tuple(unigrams), vocab_file, modified, distortion, num_reserved_ids, num_shards, shard
        )
        return samplers.candidates(xp, *rng, true_classes, sampler, num_sampled, unique)

    return kernel


_compiled_sampler(
    "FixedUnigramCandidateSampler",
    'range_max: int >= 1, vocab_file: string = "", distortion: float = 1.0, num_reserved_ids: int = 0, '
    "num_shards: int >= 1 = 1, shard: int >= 0 = 0, unigrams: list(float) = [], ",
    _fixed_unigram,
)


def _all_candidates(true_classes, *, num_true, num_sampled, rng):
    _check_true_classes(true_classes, num_true)
    return np.arange(num_sampled), np.ones(true_classes.shape, np.float32), np.ones(num_sampled, np.float32)


_sampler_op("AllCandidateSampler", "", _all_candidates, fold=_all_candidates)


def _hits_shape(c: InferenceContext) -> list:
    si.with_size(si.with_rank(c.inputs[0], 2)[1], c.attr("num_true"))
    si.with_rank(c.inputs[1], 1)
    return si.unknown_vector(c)


@op(
    "ComputeAccidentalHits",
    "(true_classes: int64, sampled_candidates: int64, *, num_true: int, seed: int = 0, seed2: int = 0) -> "
    "(indices: int32, ids: int64, weights: float32)",
    shape=_hits_shape, gradient=NotDifferentiable("hits are positions", raises=True), side=HOST,
)  # fmt: skip
def _compute_accidental_hits(true_classes, sampled_candidates, *, num_true):
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise errors.InvalidArgumentError(None, None, "true_candidates must be a batch_size * num_true matrix")
    if sampled_candidates.ndim != 1:
        text = "sampled_candidates must be a vector, which is typically an output from CandidateSampler"
        raise errors.InvalidArgumentError(None, None, text)
    order = np.argsort(sampled_candidates, kind="stable")
    place = np.searchsorted(sampled_candidates, true_classes, side="right", sorter=order) - 1
    if not sampled_candidates.size:
        hit = np.zeros(true_classes.shape, np.bool_)
    else:
        hit = (place >= 0) & (sampled_candidates[order[place]] == true_classes)
    rows = np.nonzero(hit)[0].astype(np.int32)
    return rows, order[place[hit]].astype(np.int64), np.full(rows.size, np.finfo(np.float32).min)


# ---- public functions ----


@export("random.uniform_candidate_sampler", "nn.uniform_candidate_sampler")
def uniform_candidate_sampler(
    true_classes: TensorLike, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Candidates from a uniform distribution over [0, range_max).

    Args:
      true_classes: int64, shape [batch, num_true].
      num_true: true classes per example.
      num_sampled: number of candidates.
      unique: whether all candidates differ.
      range_max: number of classes.
      seed: op seed, see `tf.set_random_seed`.
      name: node name.

    Returns:
      Candidates int64 [num_sampled]; expected counts, float32, of the true classes and of the candidates.
    """
    return raw.UniformCandidateSampler(
        true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max, name=name,
        **seed_attrs(seed),
    )  # fmt: skip


@export("random.log_uniform_candidate_sampler", "nn.log_uniform_candidate_sampler")
def log_uniform_candidate_sampler(
    true_classes: TensorLike, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Candidates with P(class) = (log(class + 2) - log(class + 1)) / log(range_max + 1), for classes in falling order.

    Arguments and results are those of `tf.random.uniform_candidate_sampler`.
    """
    return raw.LogUniformCandidateSampler(
        true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max, name=name,
        **seed_attrs(seed),
    )  # fmt: skip


@export("random.learned_unigram_candidate_sampler", "nn.learned_unigram_candidate_sampler")
def learned_unigram_candidate_sampler(
    true_classes: TensorLike, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Candidates by how often each class was a true class in earlier runs of the session, plus one.

    Arguments and results are those of `tf.random.uniform_candidate_sampler`.
    """
    return raw.LearnedUnigramCandidateSampler(
        true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max, name=name,
        **seed_attrs(seed),
    )  # fmt: skip


@export("random.fixed_unigram_candidate_sampler", "nn.fixed_unigram_candidate_sampler")
def fixed_unigram_candidate_sampler(
    true_classes: TensorLike, num_true: int, num_sampled: int, unique: bool, range_max: int, vocab_file: str = "",
    distortion: float = 1.0, num_reserved_ids: int = 0, num_shards: int = 1, shard: int = 0, unigrams: object = (),
    seed: int | None = None, name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Candidates by given weights.

    Args:
      true_classes: int64, shape [batch, num_true].
      num_true: true classes per example.
      num_sampled: number of candidates.
      unique: whether all candidates differ.
      range_max: number of classes, reserved ones included.
      vocab_file: a file whose lines end in a comma and a weight; or `unigrams`.
      distortion: the power to which weights are raised.
      num_reserved_ids: classes before the first weight, never drawn.
      num_shards, shard: only classes that are `shard` modulo `num_shards` are kept.
      unigrams: the weights.
      seed: op seed, see `tf.set_random_seed`.
      name: node name.

    Returns:
      Candidates int64 [num_sampled]; expected counts, float32, of the true classes and of the candidates.
    """
    return raw.FixedUnigramCandidateSampler(
        true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max,
        vocab_file=vocab_file, distortion=distortion, num_reserved_ids=num_reserved_ids, num_shards=num_shards,
        shard=shard, unigrams=unigrams, name=name, **seed_attrs(seed),
    )  # fmt: skip


@export("random.all_candidate_sampler", "nn.all_candidate_sampler")
def all_candidate_sampler(
    true_classes: TensorLike, num_true: int, num_sampled: int, unique: bool, seed: int | None = None, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """All classes of [0, num_sampled), each with expected count 1.

    Arguments and results are those of `tf.random.uniform_candidate_sampler`.
    """
    return raw.AllCandidateSampler(
        true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique, name=name, **seed_attrs(seed)
    )


@export("nn.compute_accidental_hits")
def compute_accidental_hits(
    true_classes: TensorLike, sampled_candidates: TensorLike, num_true: int, seed: int | None = None, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Where a candidate is also a true class.

    Args:
      true_classes: int64, shape [batch, num_true].
      sampled_candidates: int64, shape [num_sampled].
      num_true: true classes per example.
      seed: op seed, see `tf.set_random_seed`.
      name: node name.

    Returns:
      For each hit the row int32, the position of the candidate int64, and -FLT_MAX.
    """
    return raw.ComputeAccidentalHits(true_classes, sampled_candidates, num_true=num_true, name=name, **seed_attrs(seed))
