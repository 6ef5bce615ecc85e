"""tf.contrib.factorization.WALSModel: weighted alternating least squares (Hu, Koren, Volinsky 2008)."""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.factorization import products  # noqa: F401, the op types
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import colocate_with, control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import ones, zeros
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.partition import dynamic_partition
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import unique, where_v2
from tfcompat._src.ops.array.shape import expand_dims, shape, squeeze
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.composed.rank_checks import assert_rank_in
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.linalg.solve import matrix_solve
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.contraction import trace
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.math.unary import square
from tfcompat._src.ops.nn.embedding import embedding_lookup
from tfcompat._src.ops.random.stateful import random_normal
from tfcompat._src.ops.sparse.product import sparse_tensor_dense_matmul
from tfcompat._src.variables.assign import assign, scatter_update
from tfcompat._src.variables.collections import variables_initializer
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class Update(NamedTuple):
    """What one step on some rows or columns gives."""

    new_values: Tensor
    update_op: Operation
    unregularized_loss: Tensor
    regularization: Tensor
    sum_weights: Tensor


class Cache(NamedTuple):
    """Copies of variables, for the time of a sweep, with what fills and empties them."""

    values: Any
    fill: Operation | Tensor
    empty: Operation | Tensor


class Side:
    """The rows, or the columns, of the matrix: their factors and weights in shards.

    Args:
      name: "row" or "col".
      total: how many there are.
      shards: how many shards.
    """

    def __init__(self, name: str, total: int, shards: int) -> None:
        self.name, self.total, self.shards = name, total, shards
        size, rest = divmod(total, shards)
        self.sizes = [size + 1] * rest + [size] * (shards - rest)

    def variables(self, kind: str, initial: Callable[[int, int], Any]) -> list[Any]:
        """One variable for each shard; `initial` gives the value of shard i with a number of rows."""
        return [
            Variable(lambda i=i, size=size: initial(i, size), dtype=dtypes.float32, name=f"{self.name}_{kind}_shard_{i}")
            for i, size in enumerate(self.sizes)
        ]

    def factors_from(self, init: object, components: int) -> list[Any]:
        """The variables of the factors; `init`: "random", a matrix, a list with one for each shard, or a function that gives it."""
        init = init() if callable(init) else init
        if isinstance(init, str) and init == "random":
            return self.variables("factors", lambda i, size: random_normal([size, components]))
        parts = init if isinstance(init, list) else [init]
        if len(parts) != self.shards:
            raise AssertionError(f"{self.name}_init has {len(parts)} parts for {self.shards} shards")
        return self.variables("factors", lambda i, size: parts[i])

    def weights_from(self, init: object) -> list[Any] | None:
        """The variables of the weights; `init`: None, a number, or lists of numbers."""
        if init is None:
            return None
        if isinstance(init, Iterable):
            parts = [init] if self.shards == 1 and len(init) == self.total else init
            if len(parts) != self.shards:
                raise AssertionError(f"{self.name}_weights has {len(parts)} parts for {self.shards} shards")
            return self.variables("weights", lambda i, size: parts[i])
        if isinstance(init, numbers.Real) and init >= 0:
            return self.variables("weights", lambda i, size: init * ones([size]))
        raise ValueError(
            f"Invalid weight initialization argument {init!r}. Must be one of these: None, a real non-negative real number, or a "
            "list of lists of non-negative real numbers (or equivalent iterables) corresponding to sharded factors."
        )

    def place(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The shards that rows are in, and their places there."""
        size, rest = divmod(self.total, self.shards)
        shard = maximum(rows // (size + 1), (rows - rest) // size)
        return shard, where_v2(shard < rest, rows % (size + 1), (rows - rest) % size)

    def assign_rows(self, rows: Tensor, values: Tensor) -> Operation:
        """Replaces some rows of the factors."""
        return WALSModel.scatter_update(self.factors, rows, values, self.place, name=f"{self.name}_update")

    def prepare(self, components: int) -> None:
        """Makes the Gramian of the factors, and what computes it."""
        self.gramian = Variable(zeros([components, components]), dtype=dtypes.float32, name=f"{self.name}_gramian")

    def gramian_update(self) -> Operation:
        """What computes the Gramian anew."""
        parts = []
        for factor in self.factors:
            with colocate_with(factor):
                parts.append(matmul(factor, factor, transpose_a=True))
        with colocate_with(self.gramian):
            return assign(self.gramian, add_n(parts)).op


def _cached(values: list[Any] | None, names: list[str], is_kept: bool) -> Cache | None:
    """Local variables that hold copies of `values`, filled one after another; the variables themselves where none are kept."""
    if values is None:
        return None
    if not is_kept:
        return Cache(values, no_op(), no_op())
    copies = [
        Variable(1.0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], validate_shape=False, name=name) for name in names
    ]
    filled: list[Any] = []
    emptied = []
    for copy, value in zip(copies, values):
        with colocate_with(copy):
            with control_dependencies(filled[-1:]):
                filled.append(assign(copy, value, validate_shape=False))
            emptied.append(assign(copy, 1.0, validate_shape=False))
    return Cache(copies, filled[-1], group(*emptied))


def _shard_names(side: Side, kind: str) -> list[str]:
    return [f"{side.name}_{kind}_cache_shard_{i}" for i in range(side.shards)]


@export("contrib.factorization.WALSModel")
class WALSModel:
    """Factors U, V of a sparse matrix A, by turns, that make `|sqrt(W) (A - U V^T)|^2 + regularization (|U|^2 + |V|^2)` least.

    The weight of an entry (i, j) is `unobserved_weight + row_weights[i] col_weights[j]` where A has one, else
    `unobserved_weight`. Run `initialize_op` and `worker_init` once; before the rows are updated `row_update_prep_gramian_op`
    and `initialize_row_update_op`, and the same for columns. Method: Hu, Koren, Volinsky, "Collaborative Filtering for
    Implicit Feedback Datasets", 2008.

    Args:
      input_rows, input_cols: the shape of A.
      n_components: columns of U and V.
      unobserved_weight: the weight of entries that A lacks.
      regularization: weight of the squares of factors; None: 0.
      row_init, col_init: initial factors: "random" (normal), a matrix, a list with one for each shard, or a function.
      num_row_shards, num_col_shards: variables to divide the factors among.
      row_weights, col_weights: a number, a list, or a list with one for each shard; None for both: entries that A has weigh
        no more than others.
      use_factors_weights_cache, use_gramian_cache: local variables hold copies during a sweep.
      use_scoped_vars: the names of variables have a scope.

    Raises:
      AssertionError: weights on one side only, or another number of shards. ValueError: weights that are no such numbers.
    """

    def __init__(
        self, input_rows: int, input_cols: int, n_components: int, unobserved_weight: float = 0.1,
        regularization: float | None = None, row_init: object = "random", col_init: object = "random", num_row_shards: int = 1,
        num_col_shards: int = 1, row_weights: object = 1, col_weights: object = 1, use_factors_weights_cache: bool = True,
        use_gramian_cache: bool = True, use_scoped_vars: bool = False,
    ) -> None:  # fmt: skip
        self._input_rows, self._input_cols = input_rows, input_cols
        self._unobserved_weight, self._regularization = unobserved_weight, regularization
        self._regularization_matrix = None if regularization is None else regularization * eye(n_components)
        if (row_weights is None) != (col_weights is None):
            raise AssertionError("row_weights and col_weights must both be None, or neither")
        self._rows, self._cols = Side("row", input_rows, num_row_shards), Side("col", input_cols, num_col_shards)
        sides = self._rows, self._cols

        def scope(name: str) -> Any:
            return name_scope(name) if use_scoped_vars else contextlib.nullcontext()

        for side, weights in zip(sides, (row_weights, col_weights)):
            with scope(f"{side.name}_weights"):
                side.weights = side.weights_from(weights)
        self._row_weights, self._col_weights = (side.weights for side in sides)
        for side, init in zip(sides, (row_init, col_init)):
            with scope(f"{side.name}_factors"):
                side.factors = side.factors_from(init, n_components)
        for side in sides:
            side.prepare(n_components)
        with name_scope("row_prepare_gramian"):
            self._row_update_prep_gramian = self._cols.gramian_update()
        with name_scope("col_prepare_gramian"):
            self._col_update_prep_gramian = self._rows.gramian_update()
        with name_scope("transient_vars"):
            self._make_caches(use_factors_weights_cache, use_gramian_cache)

    def _make_caches(self, keep_factors: bool, keep_gramian: bool) -> None:
        rows, cols = self._rows, self._cols
        for side in (rows, cols):
            side.factors_cache = _cached(side.factors, _shard_names(side, "factors"), keep_factors)
        for side in (rows, cols):
            side.weights_cache = _cached(side.weights, _shard_names(side, "wt"), keep_factors)
        for side in (rows, cols):
            side.gramian_cache = _cached([side.gramian], [f"{side.name}_gramian_cache"], keep_gramian)
        self._row_updates_init, self._col_updates_init = (
            group(right.factors_cache.fill, left.factors_cache.empty, right.gramian_cache.fill, left.gramian_cache.empty)
            for left, right in ((rows, cols), (cols, rows))
        )
        fills = [side.weights_cache.fill for side in (rows, cols) if side.weights_cache is not None]
        self._worker_init = group(*fills, name="worker_init") if fills else no_op(name="worker_init")

    @classmethod
    def scatter_update(
        cls, factor: list[Any], indices: Tensor, values: Tensor, sharding_func: Callable[[Tensor], tuple[Tensor, Tensor]],
        name: str | None = None,
    ) -> Operation:  # fmt: skip
        """Replaces some rows of factors.

        Args:
          factor: the variables of the factors' shards.
          indices: integer vector, the rows.
          values: float32, what they become.
          sharding_func: gives, for rows, the shards that they are in, and their places there.
          name: name of the operation.
        """
        if len(factor) == 1:
            with colocate_with(factor[0]):
                return scatter_update(factor[0], indices, values, name=name).op
        shard, local = sharding_func(indices)
        shard = cast(shard, dtypes.int32)
        places, parts = (dynamic_partition(t, shard, len(factor)) for t in (local, values))
        return group(*(scatter_update(*each) for each in zip(factor, places, parts)), name=name)

    @property
    def row_factors(self) -> list[Any]:
        """The variables of U."""
        return self._rows.factors

    @property
    def col_factors(self) -> list[Any]:
        """The variables of V."""
        return self._cols.factors

    @property
    def row_weights(self) -> list[Any] | None:
        """The variables of the weights of rows."""
        return self._row_weights

    @property
    def col_weights(self) -> list[Any] | None:
        """The variables of the weights of columns."""
        return self._col_weights

    @property
    def initialize_op(self) -> Operation:
        """Initializes all variables but the caches."""
        sides = self._rows, self._cols
        found = [v for side in sides for v in side.factors] + [side.gramian for side in sides]
        return variables_initializer(found + [v for side in sides for v in side.weights or ()])

    @property
    def worker_init(self) -> Operation:
        """Copies the weights to the caches: to be run once, and when weights have changed."""
        return self._worker_init

    @property
    def row_update_prep_gramian_op(self) -> Operation:
        """Computes the Gramian of the column factors: before rows are updated."""
        return self._row_update_prep_gramian

    @property
    def col_update_prep_gramian_op(self) -> Operation:
        """Computes the Gramian of the row factors: before columns are updated."""
        return self._col_update_prep_gramian

    @property
    def initialize_row_update_op(self) -> Operation:
        """Fills the caches that updates of rows need: before rows are updated, after the Gramian."""
        return self._row_updates_init

    @property
    def initialize_col_update_op(self) -> Operation:
        """Fills the caches that updates of columns need: before columns are updated, after the Gramian."""
        return self._col_updates_init

    def update_row_factors(self, sp_input: SparseTensor | None = None, transpose_input: bool = False) -> Update:
        """Solves for the factors of some rows.

        Args:
          sp_input: those rows of A: a SparseTensor with the indices of A.
          transpose_input: `sp_input` is transposed.

        Returns:
          The new factors, the operation that assigns them, the loss without regularization and the regularization (each
          times the number of rows over that in `sp_input`), and the sum of weights, by the same factor.

        Raises:
          AssertionError: `sp_input` is no SparseTensor.
        """
        return self._update(self._rows, self._cols, sp_input, transpose_input)

    def update_col_factors(self, sp_input: SparseTensor | None = None, transpose_input: bool = False) -> Update:
        """`update_row_factors` for columns: `sp_input` holds some columns of A."""
        return self._update(self._cols, self._rows, sp_input, not transpose_input)

    def project_row_factors(
        self, sp_input: SparseTensor | None = None, transpose_input: bool = False, projection_weights: object = None
    ) -> Tensor:
        """The factors of rows that need not be rows of A.

        Args:
          sp_input: the rows, with the column indices of A.
          transpose_input: `sp_input` is transposed.
          projection_weights: weights of the rows: a number or a vector; None: 1.
        """
        weights = 1 if projection_weights is None else projection_weights
        return self._update(self._rows, self._cols, sp_input, transpose_input, weights).new_values

    def project_col_factors(
        self, sp_input: SparseTensor | None = None, transpose_input: bool = False, projection_weights: object = None
    ) -> Tensor:
        """`project_row_factors` for columns: `sp_input` has the row indices of A."""
        weights = 1 if projection_weights is None else projection_weights
        return self._update(self._cols, self._rows, sp_input, not transpose_input, weights).new_values

    def _update(
        self, left: Side, right: Side, sp_input: object, transposed: bool, given_weights: object = None
    ) -> Update:
        """One step for `left`; `transposed`: the second index of `sp_input` is that of `left`."""
        if not isinstance(sp_input, SparseTensor):
            raise AssertionError(f"sp_input must be a SparseTensor, not {type(sp_input)}")
        found = [unique(sp_input.indices[:, axis]) for axis in ((1, 0) if transposed else (0, 1))]
        (mine, places), (others, other_places) = found
        counts = [cast(shape(ids)[0], dtypes.int64) for ids in (mine, others)]
        entries = SparseTensor(cast(raw.Pack([places, other_places], axis=1), dtypes.int64), sp_input.values, raw.Pack(counts))
        factors = embedding_lookup(right.factors_cache.values, others, partition_strategy="div")
        gramian = right.gramian_cache.values[0]
        weights = None
        if left.weights is not None:
            mine_weights = self._weights_of(left, mine, given_weights)
            weights = mine_weights, embedding_lookup(right.weights_cache.values, others, partition_strategy="div")
        new_values = self._solution(entries, factors, gramian, weights, counts[0])
        update_op = left.assign_rows(mine, new_values)
        return Update(new_values, update_op, *self._loss(left, right, entries, factors, gramian, weights, new_values, counts[0]))

    @staticmethod
    def _weights_of(side: Side, rows: Tensor, given: TensorLike) -> Tensor:
        if given is None:
            return embedding_lookup(side.weights_cache.values, rows, partition_strategy="div")
        with control_dependencies([assert_rank_in(given, (0, 1))]):
            return cast(given, dtypes.float32) * ones(shape(rows)[:1])

    def _solution(self, entries: SparseTensor, factors: Tensor, gramian: Any, weights: Any, count: Tensor) -> Tensor:
        """The factors that solve the normal equations of the rows in `entries`."""
        lhs = self._unobserved_weight * gramian
        if self._regularization_matrix is not None:
            lhs += self._regularization_matrix
        if weights is None:
            rhs = self._unobserved_weight * sparse_tensor_dense_matmul(entries, factors)
            return transpose(matrix_solve(lhs, transpose(rhs)))
        partial_lhs, rhs = raw.WALSComputePartialLhsAndRhs(
            factors, weights[1], self._unobserved_weight, weights[0], entries.indices, entries.values,
            np.zeros(0, np.float32), count, False, name="wals_compute_partial_lhs_rhs",
        )  # fmt: skip
        return squeeze(matrix_solve(expand_dims(lhs, 0) + partial_lhs, expand_dims(rhs, -1)), [2])

    def _loss(
        self, left: Side, right: Side, entries: SparseTensor, factors: Tensor, gramian: object, weights: Any, new_values: Tensor,
        count: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """The loss without regularization, the regularization, and the sum of weights."""
        estimates = raw.MaskedMatmul(new_values, factors, entries.indices, False, True)
        errors = square(entries.values - estimates)
        partial_gramian = matmul(new_values, new_values, transpose_a=True)
        scale = left.total / cast(count, dtypes.float32)
        everywhere = reduce_sum(errors) - reduce_sum(square(estimates)) + trace(matmul(partial_gramian, gramian))
        loss = self._unobserved_weight * everywhere
        sum_weights = constant(self._unobserved_weight * left.total * right.total, dtypes.float32)
        if weights is not None:
            of_entries = gather(weights[0], entries.indices[:, 0]) * gather(weights[1], entries.indices[:, 1])
            loss += reduce_sum(of_entries * errors)
            sum_weights += reduce_sum(of_entries) * scale
        regularization = constant(0.0)
        if self._regularization is not None:
            regularization = self._regularization * (trace(partial_gramian) * scale + trace(gramian))
        return loss * scale, regularization, sum_weights
