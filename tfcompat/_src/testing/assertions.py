"""The assertions of `tf.test.TestCase` on arrays, tensors, messages and errors."""

from __future__ import annotations

import collections.abc
import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from absl.testing import absltest
from google.protobuf import text_format

import tfcompat as tf
from tfcompat._src.base import device, errors
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.platform import logging, versions
from tfcompat._src.proto import pool

SHOWN = 10
"""How many offending elements a message lists."""


def is_ragged(value: object) -> bool:
    return hasattr(value, "ragged_rank")


def listed(where: Any, values: np.ndarray) -> str:
    """One line for each of the first elements of `values` at the indices `where` (as of np.where)."""
    lines = [f"  {index} : {values[tuple(index)]}" for index in np.transpose(where)[:SHOWN]]
    return "\n".join(lines + ["  ..."] * (len(np.transpose(where)) > SHOWN))


_FRACTION = re.compile(r"(?<=: )-?\d+(\.\d+)?(e[-+]?\d+)?$", re.MULTILINE)


def _six_digits(number: re.Match) -> str:
    return f"{float(number[0]):.6g}" if number[1] or number[2] else number[0]


def _when_run(assertion: Callable[..., None]) -> Callable[..., Any]:
    """Decorates an assertion that checks the values of a run where it is called while a function is traced: it becomes a py_func there."""

    @functools.wraps(assertion)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if not tf.get_default_graph().building_function:
            return assertion(*args, **kwargs)
        places = [i for i, value in enumerate(args) if isinstance(value, (tf.Tensor, tf.Variable))]

        def check(*values: Any) -> None:
            computed = dict(zip(places, values))
            assertion(*(computed.get(i, value) for i, value in enumerate(args)), **kwargs)

        return tf.py_func(check, [args[i] for i in places], [])

    return decorated


class Assertions(absltest.TestCase):
    """Assertions; a Tensor given to one is evaluated first."""

    assertItemsEqual = absltest.TestCase.assertCountEqual  # noqa: N815
    assertRaisesRegexp = absltest.TestCase.assertRaisesRegex  # noqa: N815
    assertEquals = absltest.TestCase.assertEqual  # noqa: N815
    assertNotEquals = absltest.TestCase.assertNotEqual  # noqa: N815
    assertAlmostEquals = absltest.TestCase.assertAlmostEqual  # noqa: N815
    assertRegexpMatches = absltest.TestCase.assertRegex  # noqa: N815
    assert_ = absltest.TestCase.assertTrue

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors; TestCase gives it its session."""
        raise NotImplementedError

    def _GetNdArray(self, a: Any) -> np.ndarray:  # noqa: N802
        value = _value_of(self, a) if isinstance(a, tf.Tensor) else a
        try:
            return np.asarray(value)
        except ValueError:
            return np.asarray(value, object)

    def _GetPyList(self, a: Any) -> Any:  # noqa: N802
        value = _value_of(self, a) if isinstance(a, (tf.Tensor, tf.RaggedTensor)) else a
        return value.to_list() if is_ragged(value) else self._GetNdArray(value).tolist()

    def assertProtoEquals(self, expected_message_maybe_ascii: Any, message: Any, msg: str | None = None) -> None:  # noqa: N802
        """The message equals another one or its text form; numbers count to six digits."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, str):
            expected = type(message)()
            text_format.Merge(expected_message_maybe_ascii, expected, descriptor_pool=pool.POOL)
        if not isinstance(expected, type(message)):
            raise AssertionError(f"Can't compare protos of type {type(expected)} and {type(message)}. {msg or ''}")
        if expected != message:
            a, b = (_FRACTION.sub(_six_digits, text_format.MessageToString(m)) for m in (expected, message))
            self.assertMultiLineEqual(a, b, msg)

    def assertProtoEqualsVersion(  # noqa: N802
        self,
        expected: str,
        actual: Any,
        producer: int = versions.GRAPH_DEF_VERSION,
        min_consumer: int = versions.GRAPH_DEF_VERSION_MIN_CONSUMER,
        msg: str | None = None,
    ) -> None:
        """The GraphDef equals a text form without versions, and has the given ones."""
        text = f"versions {{ producer: {producer} min_consumer: {min_consumer} }};\n{expected}"
        self.assertProtoEquals(text, actual, msg=msg)

    def assertStartsWith(self, actual: str, expected_start: str, msg: Any = None) -> None:  # noqa: N802
        """The text starts with another."""
        if not actual.startswith(expected_start):
            self.fail(f"{actual!r} does not start with {expected_start!r}" + (f" : {msg!r}" if msg else ""))

    @_when_run
    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:  # noqa: N802
        """|f1 - f2| <= err."""
        f1, f2 = np.asarray(f1).item(), np.asarray(f2).item()
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1:f} != {f2:f} +/- {err:f}{f' ({msg})' if msg else ''}")

    @_when_run
    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: str | None = None) -> None:  # noqa: N802
        """Two sequences have one length, and `assertNear` holds for their elements."""
        self.assertEqual(len(farray1), len(farray2), msg=msg)
        for f1, f2 in zip(farray1, farray2):
            self.assertNear(float(f1), float(f2), err, msg=msg)

    @_when_run
    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None) -> None:  # noqa: N802
        """The 2-norm of the difference is less than `err`."""
        self.assertTrue(np.linalg.norm(ndarray1 - ndarray2) < err, msg=msg)

    @_when_run
    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None) -> None:  # noqa: N802
        """Two nested structures of arrays or Tensors have the same form, and |a - b| <= atol + rtol * |b|.

        Raises:
          ValueError: a dict stands where the other has none, or lengths differ.
        """
        if is_ragged(a) or is_ragged(b):
            self._assertRaggedAlike(a, b, lambda x, y: self._assertClose(x, y, rtol, atol, "", msg))
        else:
            self._assertClose(a, b, rtol, atol, "", msg)

    def _assertClose(self, a: Any, b: Any, rtol: float, atol: float, path: str, msg: Any) -> None:  # noqa: N802
        a, b = (value._asdict() if hasattr(value, "_asdict") else value for value in (a, b))
        if isinstance(a, collections.abc.Mapping) != isinstance(b, collections.abc.Mapping):
            raise ValueError(f"Can't compare dict to non-dict, a{path} vs b{path}. {msg or ''}")
        if isinstance(a, collections.abc.Mapping):
            keys = f"mismatched keys: a{path} has keys {a.keys()}, but b{path} has keys {b.keys()}. {msg or ''}"
            self.assertItemsEqual(a.keys(), b.keys(), msg=keys)
            for key in a:
                self._assertClose(a[key], b[key], rtol, atol, f"{path}[{key}]", msg)
            return
        text = f"Mismatched value: a{path} is different from b{path}. {msg or ''}"
        try:
            self._assertArraysClose(a, b, rtol, atol, text)
        except (ValueError, TypeError) as error:
            if not isinstance(a, (list, tuple)):
                if isinstance(error, TypeError):
                    raise TypeError(
                        f"{error} : Error: a{path} has {type(a)}, but b{path} has {type(b)}. {msg or ''}"
                    ) from error
                raise
            if len(a) != len(b):
                lengths = f"a{path} has {len(a)} items, but b{path} has {len(b)} items"
                raise ValueError(f"Mismatched length: {lengths}. {msg or ''}") from error
            for index, (x, y) in enumerate(zip(a, b)):
                self._assertClose(x, y, rtol, atol, f"{path}[{index}]", msg)

    def _assertArraysClose(self, a: Any, b: Any, rtol: float, atol: float, msg: str) -> None:  # noqa: N802
        a, b = (x.astype(np.float32) if x.dtype.name == "bfloat16" else x for x in (self._GetNdArray(a), self._GetNdArray(b)))
        self._assertSameShape(a, b, msg)
        if not np.allclose(a, b, rtol=rtol, atol=atol):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=f"{msg} dtype = {a.dtype}", equal_nan=True)

    def _assertSameShape(self, a: np.ndarray, b: np.ndarray, msg: Any) -> None:  # noqa: N802
        if a.shape != b.shape:
            contents = f" Contents: {b}." if b.ndim <= 3 or b.size < 500 else ""
            self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}.{contents} {msg or ''}")

    def _assertRaggedAlike(self, a: Any, b: Any, check: Callable[[Any, Any], None], path: str = "value") -> None:  # noqa: N802
        def walk(x: Any, y: Any, where: str) -> None:
            self.assertEqual(isinstance(x, (list, tuple)), isinstance(y, (list, tuple)), where)
            if not isinstance(x, (list, tuple)):
                check(x, y)
                return
            self.assertLen(x, len(y), f"Length differs for {where}")
            for index, pair in enumerate(zip(x, y)):
                walk(*pair, f"{where}[{index}]")

        walk(self._GetPyList(a), self._GetPyList(b), path)
        if not isinstance(a, (list, tuple)) and not isinstance(b, (list, tuple)):
            self.assertEqual(getattr(a, "ragged_rank", 0), getattr(b, "ragged_rank", 0))

    @_when_run
    def assertAllCloseAccordingToType(  # noqa: N802
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: Any = None,
    ) -> None:
        """`assertAllClose`, with the widest of the tolerances of the types that the two arrays have."""
        a, b = self._GetNdArray(a), self._GetNdArray(b)
        kinds = {a.dtype.name, b.dtype.name}
        for names, type_rtol, type_atol in (
            ({"float32", "complex64"}, float_rtol, float_atol),
            ({"float16"}, half_rtol, half_atol),
            ({"bfloat16"}, bfloat16_rtol, bfloat16_atol),
        ):
            if names & kinds:
                rtol, atol = max(rtol, type_rtol), max(atol, type_atol)
        self.assertAllClose(a, b, rtol=rtol, atol=atol, msg=msg)

    @_when_run
    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:  # noqa: N802
        """`assertAllClose` does not hold."""
        with self.assertRaises(AssertionError, msg="The two values are close at all elements"):
            self.assertAllClose(a, b, **kwargs)

    @_when_run
    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:  # noqa: N802
        """Two arrays or Tensors have the same shape and values; NaN equals NaN."""
        if is_ragged(a) or is_ragged(b):
            self._assertRaggedAlike(a, b, lambda x, y: self.assertEqual(x, y, msg))
            return
        a, b = self._GetNdArray(a), self._GetNdArray(b)
        self._assertSameShape(a, b, msg)
        same = np.asarray(a == b)
        if a.dtype.name in ("float16", "float32", "float64", "bfloat16"):
            same = same | (np.isnan(a) & np.isnan(b))
        if not np.all(same):
            where = np.where(np.atleast_1d(~same))
            lines = (
                f"not equal lhs:\n{listed(where, a)}\nnot equal rhs:\n{listed(where, b)}" if a.ndim else f"{a} != {b}"
            )
            raise AssertionError(f"{msg or ''}\nArrays are not equal at {np.sum(~same)} of {a.size} elements\n{lines}")

    @_when_run
    def assertNotAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:  # noqa: N802
        """`assertAllEqual` does not hold."""
        with self.assertRaises(AssertionError, msg="The two values are equal at all elements"):
            self.assertAllEqual(a, b, msg)

    @_when_run
    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """All elements are greater than the target."""
        self.assertGreater(np.min(self._GetNdArray(a)), comparison_target)

    @_when_run
    def assertAllLess(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """All elements are less than the target."""
        self.assertLess(np.max(self._GetNdArray(a)), comparison_target)

    @_when_run
    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """No element is less than the target."""
        self.assertGreaterEqual(np.min(self._GetNdArray(a)), comparison_target)

    @_when_run
    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """No element is greater than the target."""
        self.assertLessEqual(np.max(self._GetNdArray(a)), comparison_target)

    @_when_run
    def assertAllInRange(  # noqa: N802
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """All elements (integers or floats, none NaN) lie between the bounds; an open bound itself is outside."""
        target = self._GetNdArray(target)
        if not (np.issubdtype(target.dtype, np.floating) or np.issubdtype(target.dtype, np.integer)):
            raise AssertionError(
                f"The value of {target} does not have an ordered numeric type, instead it has type: {target.dtype}"
            )
        nan = np.isnan(target)
        if nan.any():
            raise AssertionError(
                f"{nan.sum()} of the {target.size} element(s) are NaN:\n{listed(np.where(nan), target)}"
            )
        below = target <= lower_bound if open_lower_bound else target < lower_bound
        above = target >= upper_bound if open_upper_bound else target > upper_bound
        outside = np.asarray(below | above)
        if outside.any():
            bounds = f"{'(['[not open_lower_bound]}{lower_bound}, {upper_bound}{')]'[not open_upper_bound]}"
            lines = listed(np.where(outside), target)
            raise AssertionError(
                f"{outside.sum()} of the {target.size} element(s) are outside the range {bounds}:\n{lines}"
            )

    @_when_run
    def assertAllInSet(self, target: Any, expected_set: Any) -> None:  # noqa: N802
        """All elements are in the set."""
        others = np.setdiff1d(self._GetNdArray(target).flatten(), list(expected_set))
        if others.size:
            raise AssertionError(f"{others.size} unique element(s) are not in the set {expected_set}: {others}")

    @_when_run
    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:  # noqa: N802
        """An array has the NumPy dtype."""
        self.assertEqual(self._GetNdArray(target).dtype, expected_dtype)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: Any = None) -> None:  # noqa: N802
        """An array has the static shape of a Tensor.

        Raises:
          TypeError: they are no array and no Tensor.
        """
        if not isinstance(np_array, (np.ndarray, np.generic)):
            raise TypeError("np_array must be a Numpy ndarray or Numpy scalar")
        if not isinstance(tf_tensor, tf.Tensor):
            raise TypeError("tf_tensor must be a Tensor")
        self.assertAllEqual(np_array.shape, tf_tensor.get_shape().as_list(), msg=msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: Any = None) -> None:  # noqa: N802
        """Two device names or DeviceSpecs mean the same."""
        first, second = device.canonical_name(device1), device.canonical_name(device2)
        self.assertEqual(first, second, f"Devices {first} and {second} are not equal. {msg or ''}")

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(  # noqa: N802
        self, exception_type: type[Exception], expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """The block raises an error of the class whose message matches, or that the function takes."""
        wanted = expected_err_re_or_predicate

        def matches(error: Exception) -> bool:
            if callable(wanted):
                return bool(wanted(error))
            text = str(error)
            if isinstance(error, errors.OpError):
                text = error.message
                operation = error.op
                while operation is not None:
                    text += f"\nCaused by: {operation.name}"
                    operation = operation._original_op
            logging.info("Searching within error strings: '%s' within '%s'", wanted, text)
            return re.search(wanted, text) is not None

        try:
            yield
        except Exception as error:
            if isinstance(error, exception_type) and matches(error):
                return
            raise AssertionError(f"Exception of type {type(error)}: {error}") from error
        self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:  # noqa: N802
        """The block raises a `tf.errors.OpError` that matches."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)


def _value_of(case: Any, tensor: Any) -> Any:
    return tensor.numpy() if isinstance(tensor, EagerTensor) else case.evaluate(tensor)
