"""Tests that every linear operator has to pass: it is held against its dense matrix."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.gradients.tape import GradientTape
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import executing_eagerly, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg.util import matrix_solve_with_broadcast
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.diagonal import matrix_band_part, matrix_diag_part, matrix_set_diag
from tfcompat._src.ops.array.fill import ones, ones_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import matrix_transpose
from tfcompat._src.ops.linalg.decompose import cholesky
from tfcompat._src.ops.linalg.matrices import adjoint as adjoint_of_matrix
from tfcompat._src.ops.linalg.solve import matrix_determinant, matrix_inverse, slogdet
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.complex import complex_of_parts
from tfcompat._src.ops.math.contraction import trace
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.unary import sign
from tfcompat._src.ops.random import stateful
from tfcompat._src.testing.modes import run_deprecated_v1
from tfcompat._src.testing.test_case import TestCase

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DType, DTypeLike

_GRAPH_SEED = 87654321
_TOLERANCE = {
    dtypes.float16: 1e-3, dtypes.float32: 1e-5, dtypes.float64: 1e-12, dtypes.complex64: 1e-6, dtypes.complex128: 1e-12,
}  # fmt: skip


class OperatorShapesInfo:
    """The shape of an operator, and what else its test wants to know."""

    def __init__(self, shape: tuple[int, ...], **kwargs: Any) -> None:
        self.shape = shape
        self.__dict__.update(kwargs)


class CheckTapeSafeSkipOptions:
    """Names of methods that have no gradient."""

    DETERMINANT = "determinant"
    DIAG_PART = "diag_part"
    LOG_ABS_DETERMINANT = "log_abs_determinant"
    TRACE = "trace"


class LinearOperatorDerivedClassTest(TestCase):
    """Base of the tests of one class of operators; `add_tests` adds a method for each combination of options."""

    _atol = dict(_TOLERANCE)
    _rtol = dict(_TOLERANCE)

    def assertAC(self, x: Any, y: object) -> None:
        """Fails where two arrays differ by more than their dtype allows."""
        dtype = dtypes.as_dtype(x.dtype)
        self.assertAllClose(x, y, atol=self._atol[dtype], rtol=self._rtol[dtype])

    @staticmethod
    def adjoint_options() -> list[bool]:
        return [False, True]

    @staticmethod
    def adjoint_arg_options() -> list[bool]:
        return [False, True]

    @staticmethod
    def dtypes_to_test() -> list[dtypes.DType]:
        return [dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128]

    @staticmethod
    def use_placeholder_options() -> list[bool]:
        return [False, True]

    @staticmethod
    def operator_shapes_infos() -> list[OperatorShapesInfo]:
        raise NotImplementedError("operator_shapes_infos has not been implemented.")

    @staticmethod
    def skip_these_tests() -> list[str]:
        return []

    def operator_and_matrix(
        self, shapes_info: Any, dtype: Any, use_placeholder: bool, ensure_self_adjoint_and_pd: bool = False
    ) -> tuple[Any, Any]:
        """(operator, the same matrices as a tensor)."""
        raise NotImplementedError("operator_and_matrix has not been implemented.")

    def make_rhs(self, operator: Any, adjoint: bool, with_batch: bool = True) -> Tensor:
        """Right-hand sides for `solve`."""
        raise NotImplementedError("make_rhs is not defined.")

    def make_x(self, operator: Any, adjoint: bool, with_batch: bool = True) -> Tensor:
        """Arguments for `matmul`."""
        raise NotImplementedError("make_x is not defined.")

    def assertRaisesError(self, msg: str) -> Any:
        """The block raises an error that matches: eagerly of any class, in a graph a `tf.errors.OpError`."""
        return self.assertRaisesRegex(Exception, msg) if executing_eagerly() else self.assertRaisesOpError(msg)

    def check_tape_safe(self, operator: Any, skip_options: list[str] | None = None) -> None:
        """Fails where a result of the operator has no gradient for one of its variables."""
        if not operator.variables:
            raise AssertionError("`operator.variables` was empty")
        x = cast(ones(shape=operator.H.shape_tensor()[:-1]), operator.dtype)
        methods = [lambda: operator.to_dense(), lambda: operator.adjoint().to_dense(), lambda: operator.matvec(x)]
        if operator.is_square:
            skipped = skip_options or []
            options = CheckTapeSafeSkipOptions
            names = (options.DETERMINANT, options.LOG_ABS_DETERMINANT, options.DIAG_PART, options.TRACE)
            methods += [getattr(operator, name) for name in names if name not in skipped]
            if operator.is_non_singular is not False:
                methods += [lambda: operator.inverse().to_dense(), lambda: operator.solvevec(x)]
                if operator.is_self_adjoint and operator.is_positive_definite:
                    methods.append(lambda: operator.cholesky().to_dense())
        for method in methods:
            with GradientTape() as tape:
                gradients = tape.gradient(method(), operator.variables)
            for gradient in gradients:
                self.assertIsNotNone(gradient)

    def _columns(self, operator: Any, adjoint: bool, with_batch: bool, both_sides_equal: bool) -> Tensor:
        """Random columns [..., n, 1 or 2] that the operator can be applied to."""
        count = 1 if operator.tensor_rank is None or operator.tensor_rank % 2 else 2
        by_rows = adjoint and not both_sides_equal
        if operator.shape.is_fully_defined():
            size = (operator.range_dimension if by_rows else operator.domain_dimension).value
            batch = operator.batch_shape.as_list()
            return random_normal([*(batch if with_batch else []), size, count], dtype=operator.dtype)
        batch = operator.batch_shape_tensor()
        size = operator.range_dimension_tensor() if by_rows else operator.domain_dimension_tensor()
        shape = concat((batch, [size, count]), 0) if with_batch else [size, count]
        return random_normal(shape, dtype=operator.dtype)


class SquareLinearOperatorDerivedClassTest(LinearOperatorDerivedClassTest):
    """Tests of square operators."""

    @staticmethod
    def operator_shapes_infos() -> list[OperatorShapesInfo]:
        return [OperatorShapesInfo(s) for s in ((0, 0), (1, 1), (1, 3, 3), (3, 4, 4), (2, 1, 4, 4))]

    def make_rhs(self, operator: object, adjoint: bool, with_batch: bool = True) -> Tensor:
        return self.make_x(operator, adjoint=not adjoint, with_batch=with_batch)

    def make_x(self, operator: object, adjoint: bool, with_batch: bool = True) -> Tensor:
        return self._columns(operator, adjoint, with_batch, True)


class NonSquareLinearOperatorDerivedClassTest(LinearOperatorDerivedClassTest):
    """Tests of operators that are not square."""

    @staticmethod
    def skip_these_tests() -> list[str]:
        return ["cholesky", "inverse", "solve", "solve_with_broadcast", "det", "log_abs_det"]

    @staticmethod
    def operator_shapes_infos() -> list[OperatorShapesInfo]:
        return [OperatorShapesInfo(s) for s in ((2, 1), (1, 2), (1, 3, 2), (3, 3, 4), (2, 1, 2, 4))]

    def make_rhs(self, operator: Any, adjoint: bool, with_batch: bool = True) -> Tensor:
        raise NotImplementedError("make_rhs not implemented because we don't test solve")

    def make_x(self, operator: object, adjoint: bool, with_batch: bool = True) -> Tensor:
        return self._columns(operator, adjoint, with_batch, False)


# ---- the tests ----


def _entries(method: Callable, matrix_function: Callable, sizes: Callable | None, **options: object) -> Callable:
    """The test that `method(operator, matrix)` gives the same as `matrix_function(matrix)`; `sizes` of the static shape."""

    def make(use_placeholder: bool, shapes_info: Any, dtype: object) -> Callable:
        def run_test(self: Any) -> None:
            with self.session(graph=Graph()) as session:
                session.graph.seed = _GRAPH_SEED
                operator, matrix = self.operator_and_matrix(
                    shapes_info, dtype, use_placeholder=use_placeholder, **options
                )
                found, wanted = method(operator, matrix), matrix_function(matrix)
                if sizes is not None and not use_placeholder:
                    self.assertAllEqual(sizes(shapes_info.shape), found.shape)
                found_value, wanted_value = session.run([found, wanted])
                self.assertAC(found_value, wanted_value)

        return run_test

    return make


def _applied(argument: str, with_batch: bool, method: Callable, matrix_function: Callable) -> Callable:
    """The test that an operator is applied to columns as its matrix is."""

    def make(use_placeholder: bool, shapes_info: Any, dtype: object, adjoint: bool, adjoint_arg: bool) -> Callable:
        def run_test(self: Any) -> None:
            if not with_batch and len(shapes_info.shape) <= 2:
                return
            with self.session(graph=Graph()) as session:
                session.graph.seed = _GRAPH_SEED
                operator, matrix = self.operator_and_matrix(shapes_info, dtype, use_placeholder=use_placeholder)
                x = getattr(self, argument)(operator, adjoint=adjoint, with_batch=with_batch)
                given = adjoint_of_matrix(x) if adjoint_arg else x
                found = method(operator)(given, adjoint=adjoint, adjoint_arg=adjoint_arg)
                wanted = matrix_function(matrix, x, adjoint)
                if not use_placeholder:
                    self.assertAllEqual(found.shape, wanted.shape)
                found_value, wanted_value = session.run([found, wanted])
                self.assertAC(found_value, wanted_value)

        return run_test

    return make


def _product(matrix: Tensor, x: Tensor, adjoint: bool) -> Tensor:
    return matmul(matrix, x, adjoint_a=adjoint)


def _solution(matrix: Tensor, x: Tensor, adjoint: bool) -> Tensor:
    return matrix_solve_with_broadcast(matrix, x, adjoint=adjoint)


_TESTS = {
    "add_to_tensor": _entries(lambda o, m: o.add_to_tensor(2 * m), lambda m: 3 * m, lambda s: s),
    "cholesky": _entries(lambda o, m: o.cholesky().to_dense(), cholesky, None, ensure_self_adjoint_and_pd=True),
    "det": _entries(lambda o, m: o.determinant(), matrix_determinant, lambda s: s[:-2]),
    "diag_part": _entries(lambda o, m: o.diag_part(), matrix_diag_part, lambda s: (*s[:-2], min(s[-2:]))),
    "inverse": _entries(lambda o, m: o.inverse().to_dense(), matrix_inverse, None),
    "log_abs_det": _entries(lambda o, m: o.log_abs_determinant(), lambda m: slogdet(m)[1], lambda s: s[:-2]),
    "to_dense": _entries(lambda o, m: o.to_dense(), lambda m: m, lambda s: s),
    "trace": _entries(lambda o, m: o.trace(), trace, lambda s: s[:-2]),
}
_TESTS_WITH_ARGUMENTS = {
    "matmul": _applied("make_x", True, lambda o: o.matmul, _product),
    "matmul_with_broadcast": _applied("make_x", True, lambda o: o.matmul, _product),
    "solve": _applied("make_rhs", True, lambda o: o.solve, _solution),
    "solve_with_broadcast": _applied("make_rhs", False, lambda o: o.solve, _solution),
}


def _add(test_cls: type, name: str, test: Callable) -> None:
    if hasattr(test_cls, name):
        raise RuntimeError(f"Test {name} defined more than once")
    setattr(test_cls, name, run_deprecated_v1(test))


def add_tests(test_cls: Any) -> None:
    """Gives a test class a method for each test and combination of its options; RuntimeError where one is there."""
    skipped = test_cls.skip_these_tests()
    options = list(
        itertools.product(
            test_cls.dtypes_to_test(), test_cls.use_placeholder_options(), test_cls.operator_shapes_infos()
        )
    )
    for dtype, use_placeholder, info in options:
        label = f"_shape={info.shape},dtype={dtype},use_placeholder={use_placeholder}"
        for name, make in _TESTS.items():
            if name not in skipped:
                _add(test_cls, f"test_{name}_{label}", make(use_placeholder, info, dtype))
        for name, make in _TESTS_WITH_ARGUMENTS.items():
            if name in skipped:
                continue
            for adjoint, adjoint_arg in itertools.product(test_cls.adjoint_options(), test_cls.adjoint_arg_options()):
                test_name = f"test_{name}_{label},adjoint={adjoint},adjoint_arg={adjoint_arg}"
                _add(test_cls, test_name, make(use_placeholder, info, dtype, adjoint, adjoint_arg))


# ---- random matrices ----


def _real_and_imaginary(draw: Callable, dtype: DType, seed: int | None, seed_step: int) -> Tensor:
    """`draw(seed)`, or a complex tensor of two draws."""
    samples = draw(seed)
    if not dtype.is_complex:
        return samples
    return complex_of_parts(samples, draw(None if seed is None else seed + seed_step))


def random_normal(
    shape: object, mean: float = 0.0, stddev: float = 1.0, dtype: DTypeLike = dtypes.float32, seed: int | None = None
) -> Tensor:
    """Normal numbers, in both parts where `dtype` is complex."""
    dtype = dtypes.as_dtype(dtype)
    with name_scope("random_normal"):

        def draw(seed: int | None) -> Tensor:
            return stateful.random_normal(shape, mean=mean, stddev=stddev, dtype=dtype.real_dtype, seed=seed)

        return _real_and_imaginary(draw, dtype, seed, 1234)


def random_uniform(
    shape: object, minval: TensorLike | None = None, maxval: TensorLike | None = None, dtype: DTypeLike = dtypes.float32, seed: int | None = None
) -> Tensor:
    """Uniform numbers in [minval, maxval), in both parts where `dtype` is complex."""
    dtype = dtypes.as_dtype(dtype)
    with name_scope("random_uniform"):

        def draw(seed: int | None) -> Tensor:
            return stateful.random_uniform(shape, dtype=dtype.real_dtype, minval=minval, maxval=maxval, seed=seed)

        return _real_and_imaginary(draw, dtype, seed, 12345)


def random_sign_uniform(
    shape: object, minval: TensorLike | None = None, maxval: TensorLike | None = None, dtype: DTypeLike = dtypes.float32, seed: int | None = None
) -> Tensor:
    """Uniform numbers in [minval, maxval) with random signs."""
    dtype = dtypes.as_dtype(dtype)
    with name_scope("random_sign_uniform"):
        found = random_uniform(shape, minval=minval, maxval=maxval, dtype=dtype, seed=seed)
        sign_seed = None if seed is None else seed + 12
        signs = sign(stateful.random_uniform(shape, minval=-1.0, maxval=1.0, seed=sign_seed))
        return found * cast(signs, found.dtype)


def random_tril_matrix(
    shape: Any, dtype: Any, force_well_conditioned: bool = False, remove_upper: bool = True
) -> Tensor:
    """Lower triangular matrices of normal numbers; well conditioned ones have diagonals of size 1 to sqrt(2)."""
    with name_scope("random_tril_matrix"):
        tril = random_normal(shape, dtype=dtype)
        if remove_upper:
            tril = matrix_band_part(tril, -1, 0)
        if force_well_conditioned:
            highest = convert_to_tensor(np.sqrt(2.0), dtype=dtype.real_dtype)
            diagonal = random_sign_uniform(shape[:-1], dtype=dtype, minval=1.0, maxval=highest)
            tril = matrix_set_diag(tril, diagonal)
        return tril


def random_positive_definite_matrix(shape: object, dtype: DTypeLike, force_well_conditioned: bool = False) -> Tensor:
    """Hermitian positive definite matrices; ValueError where `shape` is not that of square ones."""
    dtype = dtypes.as_dtype(dtype)
    if not isinstance(shape, Tensor):
        shape = TensorShape(shape)
        shape.dims[-1].assert_is_compatible_with(shape.dims[-2])
    with name_scope("random_positive_definite_matrix"):
        tril = random_tril_matrix(shape, dtype, force_well_conditioned=force_well_conditioned)
        return matmul(tril, tril, adjoint_b=True)


def random_normal_correlated_columns(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: DTypeLike = dtypes.float32, eps: float = 1e-4,
    seed: int | None = None,
) -> Tensor:  # fmt: skip
    """Matrices of normal numbers whose columns are nearly dependent; ValueError for fewer than two dimensions."""
    dtype = dtypes.as_dtype(dtype)
    if len(shape) < 2:
        raise ValueError(f"Argument shape must be at least length 2.  Found: {shape}")
    *batch, m, n = shape
    if n < 2 or n < m:
        return random_normal(shape, mean=mean, stddev=stddev, dtype=dtype, seed=seed)
    with name_scope("random_normal_correlated_columns"):
        small = random_normal([*batch, m, n - 1], stddev=1 / np.sqrt(n - 1), dtype=dtype, seed=seed)
        spread_seed = None if seed is None else seed + 1287
        spread = random_normal([*batch, n, n - 1], dtype=dtype, seed=spread_seed)
        embedded = matrix_transpose(matmul(spread, small, transpose_b=True))
        return embedded + random_normal(shape, stddev=eps, dtype=dtype) + ones_like(embedded) * mean
