"""tf.DType and the element types of tensors.

Enum numbers are those of DataType in types.proto; the number of a reference type is that of its base type plus 100.
There is one instance per type, so DTypes may be compared with `is`.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from tfcompat._src.base.export import export

_REF_OFFSET = 100

# As in 1.15, quantized types are structured dtypes with one field, so that NumPy keeps them apart from the plain integers.
_np_qint8 = np.dtype([("qint8", np.int8)])
_np_quint8 = np.dtype([("quint8", np.uint8)])
_np_qint16 = np.dtype([("qint16", np.int16)])
_np_quint16 = np.dtype([("quint16", np.uint16)])
_np_qint32 = np.dtype([("qint32", np.int32)])
np_resource = np.dtype([("resource", np.ubyte)])

_NAMES_AND_NUMPY_TYPES = {
    1: ("float32", np.float32),
    2: ("float64", np.float64),
    3: ("int32", np.int32),
    4: ("uint8", np.uint8),
    5: ("int16", np.int16),
    6: ("int8", np.int8),
    7: ("string", object),
    8: ("complex64", np.complex64),
    9: ("int64", np.int64),
    10: ("bool", builtins.bool),
    11: ("qint8", _np_qint8),
    12: ("quint8", _np_quint8),
    13: ("qint32", _np_qint32),
    14: ("bfloat16", ml_dtypes.bfloat16),
    15: ("qint16", _np_qint16),
    16: ("quint16", _np_quint16),
    17: ("uint16", np.uint16),
    18: ("complex128", np.complex128),
    19: ("float16", np.float16),
    20: ("resource", None),
    21: ("variant", None),
    22: ("uint32", np.uint32),
    23: ("uint64", np.uint64),
}
# These tables have the names of 1.15's private ones.
_TYPE_TO_STRING = {
    enum + offset: name + suffix
    for offset, suffix in ((0, ""), (_REF_OFFSET, "_ref"))
    for enum, (name, _) in _NAMES_AND_NUMPY_TYPES.items()
}
_TF_TO_NP = {
    enum + offset: numpy_type
    for offset in (0, _REF_OFFSET)
    for enum, (_, numpy_type) in _NAMES_AND_NUMPY_TYPES.items()
    if numpy_type is not None
}
_COMPLEX_PART = {8: 1, 18: 2}
_UNORDERED = frozenset(("bool", "string", "complex64", "complex128", "resource", "variant"))
_INTERN_TABLE: dict[int, DType] = {}


@export("DType", "dtypes.DType")
class DType:
    """The type of a tensor's elements; `DType(n)` returns the one instance of DataType number n and raises TypeError for other numbers.

    Attributes: `name`, `as_datatype_enum` (int), `base_dtype` (the type without reference), `real_dtype` (for a complex type, that of its
    parts), `is_floating`, `is_complex`, `is_integer`, `is_bool`, `is_quantized`, `is_unsigned`, `is_numpy_compatible`.
    """

    __slots__ = (
        "name", "as_datatype_enum", "base_dtype", "real_dtype", "is_floating", "is_complex", "is_integer", "is_bool",
        "is_quantized", "is_unsigned", "is_numpy_compatible", "_is_ref_dtype", "__weakref__",
    )  # fmt: skip
    name: str
    as_datatype_enum: int
    base_dtype: DType
    real_dtype: DType
    is_floating: builtins.bool
    is_complex: builtins.bool
    is_integer: builtins.bool
    is_bool: builtins.bool
    is_quantized: builtins.bool
    is_unsigned: builtins.bool
    is_numpy_compatible: builtins.bool
    _is_ref_dtype: builtins.bool

    def __new__(cls, type_enum: int) -> DType:
        interned = _INTERN_TABLE.get(int(type_enum))
        if interned is None:
            raise TypeError(f"type_enum is not a valid types_pb2.DataType: {type_enum}")
        return interned

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"DType attributes are read-only: {name}")

    @property
    def _type_enum(self) -> int:
        return self.as_datatype_enum

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy type of the elements; raises KeyError for resource and variant, which have none."""
        return _TF_TO_NP[self.as_datatype_enum]

    @property
    def _as_ref(self) -> DType:
        return self if self._is_ref_dtype else _INTERN_TABLE[self.as_datatype_enum + _REF_OFFSET]

    @property
    def size(self) -> int:
        """The size of one element of the NumPy type in bytes; 1 for resource and variant."""
        return int(np.dtype(_TF_TO_NP.get(self.base_dtype.as_datatype_enum, np.uint8)).itemsize)

    @property
    def min(self) -> Any:
        """The least representable value; raises TypeError if the type is not ordered or is quantized."""
        return self._extreme("minimum", "min")

    @property
    def max(self) -> Any:
        """The greatest representable value; raises TypeError if the type is not ordered or is quantized."""
        return self._extreme("maximum", "max")

    def _extreme(self, word: str, field: str) -> Any:
        if self.is_quantized or self.base_dtype.name in _UNORDERED:
            raise TypeError(f"Cannot find {word} value of {self}.")
        info = ml_dtypes.finfo if self.is_floating else np.iinfo
        return getattr(info(self.as_numpy_dtype), field)

    @property
    def limits(self) -> tuple[Any, ...]:
        """The range of intensities of an image of this type: (0, 1) for float32 and float64, (0, max) for integers; KeyError for others."""
        if self.base_dtype in (float32, float64):
            return 0, 1
        if not self.is_integer:
            raise KeyError(self.as_numpy_dtype)
        return 0, self.max

    def is_compatible_with(self, other: object) -> builtins.bool:
        """Returns whether a tensor of type `other` may be passed where this type is required: equal, or a reference to it."""
        other = as_dtype(other)
        return self is other or self is other.base_dtype

    def __eq__(self, other: object) -> builtins.bool:
        if other is self:
            return True
        if other is None:
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __ne__(self, other: object) -> builtins.bool:
        return not self == other

    def __hash__(self) -> int:
        return self.as_datatype_enum

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        return "tf." + self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


def _intern(enum: int) -> None:
    """Makes the DType of an enum number; base types and parts of complex types must exist already."""
    self = object.__new__(DType)
    base = enum % _REF_OFFSET
    name = _NAMES_AND_NUMPY_TYPES[base][0]
    is_quantized = name.startswith(("qint", "quint"))
    facts = {
        "name": _TYPE_TO_STRING[enum],
        "as_datatype_enum": enum,
        "base_dtype": _INTERN_TABLE.get(base, self),
        "real_dtype": _INTERN_TABLE.get(_COMPLEX_PART.get(base, enum), self),
        "is_floating": "float" in name,
        "is_complex": base in _COMPLEX_PART,
        "is_integer": not is_quantized and "int" in name,
        "is_bool": name == "bool",
        "is_quantized": is_quantized,
        "is_unsigned": name.startswith("uint"),
        "is_numpy_compatible": name not in ("resource", "variant"),
        "_is_ref_dtype": enum != base,
    }
    # The instances are immutable for all others: __setattr__ of the class raises.
    for field, value in facts.items():
        object.__setattr__(self, field, value)
    _INTERN_TABLE[enum] = self


# In ascending order, so that a type follows its base type and its parts.
for _enum in sorted(_TYPE_TO_STRING):
    _intern(_enum)

# ---- the types ----

float32 = export("float32", "dtypes.float32")(DType(1))
float64 = export("float64", "dtypes.float64")(DType(2))
int32 = export("int32", "dtypes.int32")(DType(3))
uint8 = export("uint8", "dtypes.uint8")(DType(4))
int16 = export("int16", "dtypes.int16")(DType(5))
int8 = export("int8", "dtypes.int8")(DType(6))
string = export("string", "dtypes.string")(DType(7))
complex64 = export("complex64", "dtypes.complex64")(DType(8))
int64 = export("int64", "dtypes.int64")(DType(9))
bool = export("bool", "dtypes.bool")(DType(10))
qint8 = export("qint8", "dtypes.qint8")(DType(11))
quint8 = export("quint8", "dtypes.quint8")(DType(12))
qint32 = export("qint32", "dtypes.qint32")(DType(13))
bfloat16 = export("bfloat16", "dtypes.bfloat16")(DType(14))
qint16 = export("qint16", "dtypes.qint16")(DType(15))
quint16 = export("quint16", "dtypes.quint16")(DType(16))
uint16 = export("uint16", "dtypes.uint16")(DType(17))
complex128 = export("complex128", "dtypes.complex128")(DType(18))
float16 = export("float16", "dtypes.float16")(DType(19))
resource = export("resource", "dtypes.resource")(DType(20))
variant = export("variant", "dtypes.variant")(DType(21))
uint32 = export("uint32", "dtypes.uint32")(DType(22))
uint64 = export("uint64", "dtypes.uint64")(DType(23))
half = export("half", "dtypes.half")(float16)
double = export("double", "dtypes.double")(float64)
float32_ref = DType(101)
float64_ref = DType(102)
int32_ref = DType(103)
uint8_ref = DType(104)
int16_ref = DType(105)
int8_ref = DType(106)
string_ref = DType(107)
complex64_ref = DType(108)
int64_ref = DType(109)
bool_ref = DType(110)
qint8_ref = DType(111)
quint8_ref = DType(112)
qint32_ref = DType(113)
bfloat16_ref = DType(114)
qint16_ref = DType(115)
quint16_ref = DType(116)
uint16_ref = DType(117)
complex128_ref = DType(118)
float16_ref = DType(119)
resource_ref = DType(120)
variant_ref = DType(121)
uint32_ref = DType(122)
uint64_ref = DType(123)
half_ref = float16_ref
double_ref = float64_ref

# ---- conversion ----

QUANTIZED_DTYPES = export("QUANTIZED_DTYPES", "dtypes.QUANTIZED_DTYPES")(
    frozenset(t for t in _INTERN_TABLE.values() if t.is_quantized)
)
TF_VALUE_DTYPES = frozenset(t for t in _INTERN_TABLE.values() if not t._is_ref_dtype)

# Aliases of names, then of Python's and NumPy's types.
_STRING_TO_TF = {t.name: t for t in _INTERN_TABLE.values()} | {
    alias + suffix: _INTERN_TABLE[enum + offset]
    for alias, enum in (("half", 19), ("float", 1), ("double", 2))
    for suffix, offset in (("", 0), ("_ref", _REF_OFFSET))
}
_PYTHON_TO_TF = {float: float32, builtins.bool: bool, object: string}
_NP_TO_TF = {
    numpy_type: _INTERN_TABLE[enum]
    for enum, (_, numpy_type) in _NAMES_AND_NUMPY_TYPES.items()
    if numpy_type not in (None, object, builtins.bool)
} | {
    np.bool_: bool, np.object_: string, np.bytes_: string, np.str_: string,
    np.longlong: int64, np.ulonglong: uint64,
}  # fmt: skip
_ANY_TO_TF: dict[Any, DType] = {
    **_INTERN_TABLE,
    **_STRING_TO_TF,
    **_PYTHON_TO_TF,
    **_NP_TO_TF,
    **{np.dtype(t): tf_type for t, tf_type in _NP_TO_TF.items()},
}


DTypeLike: TypeAlias = "DType | int | str | type | np.dtype[Any]"
"""The types that `as_dtype` converts."""


@export("as_dtype", "dtypes.as_dtype")
def as_dtype(type_value: object) -> DType:
    """Converts a DType, a DataType number, a name, a NumPy type or dtype, or float, bool or object to a DType.

    Raises TypeError for other values, also for Python's int, str and complex, which do not determine a type.
    """
    if type(type_value) is DType:
        return type_value
    try:
        return _ANY_TO_TF[type_value]
    except KeyError:
        pass
    # NumPy dtypes with a length or byte order of their own, such as "S5" or ">f4", are equal to none in the table.
    if isinstance(type_value, np.dtype):
        by_scalar_type = _NP_TO_TF.get(type_value.type)
        if by_scalar_type is not None:
            return by_scalar_type
    raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")


_CPP_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def cpp_name(name: str) -> str:
    """Returns the name of a dtype in the error messages of TensorFlow's C++ code: "float" for "float32"."""
    return _CPP_NAMES.get(name, name)
