"""tf.random.experimental: generators of random numbers whose state is a variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.random.rng_ops import PHILOX
from tfcompat._src.train.trackable_data_structures import AutoTrackable
from tfcompat._src.variables.resource_variable import ResourceVariable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

STATE_TYPE = SEED_TYPE = dtypes.int64
RNG_ALG_PHILOX, RNG_ALG_THREEFRY = PHILOX, 2
PHILOX_STATE_SIZE, THREEFRY_STATE_SIZE = 3, 2
DEFAULT_ALGORITHM = RNG_ALG_PHILOX
_STATE_SIZES = {RNG_ALG_PHILOX: PHILOX_STATE_SIZE, RNG_ALG_THREEFRY: THREEFRY_STATE_SIZE}
_WORD = 1 << 64
_global: list[Generator] = []


def _state_size(algorithm: int) -> int:
    if algorithm not in _STATE_SIZES:
        raise ValueError(f"Unsupported algorithm id: {algorithm}")
    return _STATE_SIZES[algorithm]


def _uint_to_int(n: object) -> Any:
    """The int64 with the bits of a uint64; anything that is no int is returned unchanged."""
    return n - _WORD if isinstance(n, int) and n >= _WORD // 2 else n


def non_deterministic_ints(shape: TensorLike, dtype: DTypeLike = dtypes.int64, name: str | None = None) -> Tensor:
    """Integers that differ in every run: int32, uint32, int64 or uint64."""
    return raw.NonDeterministicInts(_shape_tensor(shape), dtype=dtype, name=name)


@export("random.experimental.create_rng_state")
def create_rng_state(seed: Any, algorithm: int) -> np.ndarray:
    """The state of a generator that a seed stands for: int64 of shape [3] for Philox (1), [2] for ThreeFry (2).

    Args:
      seed: an integer, of which 64 bits go to each element, lowest first; or a vector of integers, cut to the length of the
        state, or filled up with zeros in front.
      algorithm: 1 or 2.

    Raises:
      ValueError: another algorithm, or a seed of more dimensions.
    """
    size = _state_size(algorithm)
    if isinstance(seed, int):
        seed = [(seed >> (64 * i)) % _WORD for i in range(size)]
    words = np.asarray([_uint_to_int(v) for v in seed], np.int64)
    if words.ndim != 1:
        raise ValueError(f"seed should only have one dimension; got shape: {words.shape}")
    words = words[:size]
    return np.pad(words, (size - len(words), 0))


def _shape_tensor(shape: TensorLike) -> Tensor:
    empty = isinstance(shape, (list, tuple)) and not shape
    return convert_to_tensor(shape, dtypes.int64 if empty else None, name="shape")


def _state_tensor(value: object) -> Tensor:
    return convert_to_tensor([_uint_to_int(v) for v in value] if isinstance(value, list) else value, STATE_TYPE)


@export("random.experimental.Generator")
class Generator(AutoTrackable):
    """A generator of random numbers; its state is a variable that each drawing moves on.

    Args:
      copy_from: a generator to copy.
      state: int64 vector, with `alg` given instead of `copy_from`: two words of counter and the key for Philox.
      alg: 1 for Philox.
    """

    def __init__(self, copy_from: Generator | None = None, state: object = None, alg: int | None = None) -> None:
        if copy_from is not None:
            if state is not None or alg is not None:
                raise AssertionError("copy_from is given instead of state and alg")
            self._state_var = ResourceVariable(copy_from.state, dtype=STATE_TYPE, trainable=False)
            self._alg_var = copy_from.algorithm
            return
        if alg is None or state is None:
            raise AssertionError("state and alg are given together")
        state = _state_tensor(state)
        state.shape.assert_is_compatible_with([_state_size(alg)])
        self._state_var = ResourceVariable(state, dtype=STATE_TYPE, trainable=False)
        self._alg_var = alg

    @classmethod
    def from_state(cls, state: object, alg: int) -> Generator:
        """A generator with this state."""
        return cls(alg=alg, state=state)

    @classmethod
    def from_seed(cls, seed: object, alg: int | None = None) -> Generator:
        """A generator with the state that `create_rng_state` gives; Philox unless `alg` says another."""
        alg = DEFAULT_ALGORITHM if alg is None else alg
        return cls(state=create_rng_state(seed, alg), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: int | None = None) -> Generator:
        """A generator that begins anywhere."""
        alg = DEFAULT_ALGORITHM if alg is None else alg
        return cls(state=non_deterministic_ints(shape=[_state_size(alg)], dtype=SEED_TYPE), alg=alg)

    @classmethod
    def from_key_counter(cls, key: TensorLike, counter: object, alg: int) -> Generator:
        """A generator with a key (scalar) and a counter (a vector)."""
        return cls(state=_key_counter_state(key, counter, alg), alg=alg)

    def reset(self, state: object) -> None:
        """Sets the state."""
        state = _state_tensor(state)
        state.shape.assert_is_compatible_with([_state_size(self.algorithm)])
        self._state_var.assign(state)

    def reset_from_seed(self, seed: object) -> None:
        """Sets the state to what `create_rng_state` gives."""
        self._state_var.assign(create_rng_state(seed, self.algorithm))

    def reset_from_key_counter(self, key: TensorLike, counter: object) -> None:
        """Sets key and counter."""
        self._state_var.assign(_key_counter_state(key, counter, self.algorithm))

    @property
    def state(self) -> ResourceVariable:
        """The variable that holds the state."""
        return self._state_var

    @property
    def algorithm(self) -> int:
        """1 for Philox, 2 for ThreeFry."""
        return self._alg_var

    @property
    def key(self) -> Tensor:
        """The key, the last element of the state."""
        _state_size(self.algorithm)
        return self._state_var[-1]

    def skip(self, delta: TensorLike) -> Operation:
        """Moves the state on as drawing `delta` numbers would."""
        return raw.RngSkip(self.state.handle, self.algorithm, delta)

    def _drawn(self, op_type: str, shape: object, **attrs: Any) -> Tensor:
        return raw.function(op_type)(self.state.handle, self.algorithm, shape, **attrs)

    def _scaled(self, scope: str, name: str | None, op_type: str, shape: TensorLike, mean: object, stddev: object, dtype: Any) -> Tensor:
        with name_scope(name, scope, [shape, mean, stddev]) as name:
            shape = _shape_tensor(shape)
            mean = convert_to_tensor(mean, dtype=dtype, name="mean")
            stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
            return raw.Add(self._drawn(op_type, shape, dtype=dtype) * stddev, mean, name=name)

    def normal(
        self, shape: object, mean: object = 0.0, stddev: object = 1.0, dtype: object = dtypes.float32, name: str | None = None
    ) -> Tensor:
        """Normal numbers of the given shape, mean, standard deviation and floating dtype."""
        return self._scaled("stateful_normal", name, "StatefulStandardNormalV2", shape, mean, stddev, dtype)

    def truncated_normal(
        self, shape: object, mean: object = 0.0, stddev: object = 1.0, dtype: object = dtypes.float32, name: str | None = None
    ) -> Tensor:
        """Normal numbers within two standard deviations of the mean."""
        return self._scaled("truncated_normal", name, "StatefulTruncatedNormal", shape, mean, stddev, dtype)

    def uniform(
        self, shape: TensorLike, minval: TensorLike = 0, maxval: TensorLike | None = None, dtype: DTypeLike = dtypes.float32, name: str | None = None
    ) -> Tensor:
        """Numbers in [minval, maxval), by default [0, 1).

        Raises:
          ValueError: an integer `dtype` without `maxval`.
        """
        dtype = dtypes.as_dtype(dtype)
        if maxval is None:
            if dtype.is_integer:
                raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
            maxval = 1
        with name_scope(name, "stateful_uniform", [shape, minval, maxval]) as name:
            shape = _shape_tensor(shape)
            low = convert_to_tensor(minval, dtype=dtype, name="min")
            high = convert_to_tensor(maxval, dtype=dtype, name="max")
            if dtype.is_integer:
                return raw.StatefulUniformInt(self.state.handle, self.algorithm, shape, low, high, name=name)
            return raw.Add(self._drawn("StatefulUniform", shape, dtype=dtype) * (high - low), low, name=name)

    def uniform_full_int(self, shape: TensorLike, dtype: DTypeLike = dtypes.uint64, name: str | None = None) -> Tensor:
        """Integers over the whole range of int32, uint32, int64 or uint64."""
        dtype = dtypes.as_dtype(dtype)
        with name_scope(name, "stateful_uniform_full_int", [shape]) as name:
            return self._drawn("StatefulUniformFullInt", _shape_tensor(shape), dtype=dtype, name=name)

    def binomial(self, shape: TensorLike, counts: TensorLike, probs: TensorLike, dtype: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
        """Numbers of successes in `counts` trials of chance `probs` (scalars, or vectors along the first dimension)."""
        dtype = dtypes.as_dtype(dtype)
        with name_scope(name, "binomial", [shape, counts, probs]) as name:
            counts = convert_to_tensor(counts, name="counts")
            probs = convert_to_tensor(probs, name="probs")
            return self._drawn(
                "StatefulRandomBinomial", _shape_tensor(shape), counts=counts, probs=probs, dtype=dtype, name=name
            )

    def make_seeds(self, count: int = 1) -> Tensor:
        """Seeds of stateless random ops, int64 of shape [2, count]."""
        _state_size(self.algorithm)
        keys = self.uniform_full_int(shape=[count], dtype=dtypes.int64)
        return stack([keys, zeros_like(keys)])

    def split(self, count: int = 1) -> list[Generator]:
        """`count` independent generators; their keys are drawn from this one."""
        counter = [0] * (_state_size(self.algorithm) - 1)
        keys = self.uniform_full_int(shape=[count], dtype=dtypes.int64)
        return [Generator.from_key_counter(key, counter, self.algorithm) for key in raw.Unpack(keys, num=count)]


def _key_counter_state(key: TensorLike, counter: object, algorithm: int) -> Tensor:
    counter, key = _state_tensor(counter), _state_tensor(_uint_to_int(key))
    counter.shape.assert_is_compatible_with([_state_size(algorithm) - 1])
    key.shape.assert_is_compatible_with(TensorShape([]))
    return concat([counter, raw.Reshape(key, [1])], 0)


@export("random.experimental.get_global_generator")
def get_global_generator() -> Generator:
    """The generator of the process, made where it is first asked for."""
    if not _global:
        _global.append(Generator.from_non_deterministic_state())
    return _global[0]


@export("random.experimental.set_global_generator")
def set_global_generator(generator: Generator) -> None:
    """Makes `generator` the one of the process."""
    _global[:] = [generator]
