"""The tensors that the golden checkpoints hold, for the recorder (real TensorFlow) and the tests."""

import numpy as np

NUMBERS = (
    "float32", "float64", "int32", "uint8", "int16", "int8", "complex64", "int64", "bool", "uint16", "complex128", "float16",
    "uint32", "uint64", "bfloat16", "qint8", "quint8", "qint32", "qint16", "quint16",
)  # fmt: skip
V1_NUMBERS = tuple(n for n in NUMBERS if n not in ("uint32", "uint64", "bfloat16", "qint16", "quint16"))
STRINGS = [[b"abc", b"", b"x" * 200], [b"\x00\xff", "\u00e9".encode(), b"end"]]


def numbers(name, bfloat16):
    """A [2, 3] array of the type `name`; `bfloat16` is NumPy's type of that name."""
    base = np.array([[0, 1, 2], [100, 64, 77]])
    if name == "bool":
        return base % 2 == 1
    if name == "bfloat16":
        return base.astype(bfloat16)
    if name.startswith(("qint", "quint")):
        plain = base.astype(name[1:])
        return plain.view(np.dtype([(name, plain.dtype)]))
    found = base.astype(name)
    if found.dtype.kind in "fc":
        found = found * found.dtype.type(0.1) - found.dtype.type(3)
    return (found - 90).astype(name) if found.dtype.kind == "i" else found


def whole():
    return np.arange(15, dtype=np.float32).reshape(5, 3)


def tensors(version, bfloat16):
    """(name, slice spec, value) of each whole tensor, in the order in which they are saved."""
    found = [("v_" + n, "", numbers(n, bfloat16)) for n in (V1_NUMBERS if version == 1 else NUMBERS)]
    found.append(("v_string", "", np.array(STRINGS, object)))
    return [*found, ("scalar", "", np.float32(3.5)), ("empty", "", np.zeros((0, 3), np.float32))]


def parts():
    """The same for tensors that are saved in parts."""
    return [
        ("columns", "5 3 -:0,1", whole()[:, :1]), ("columns", "5 3 -:1,2", whole()[:, 1:]),
        ("rows", "5 3 0,3:0,3", whole()[:3]), ("rows", "5 3 3,2:0,3", whole()[3:]),
    ]  # fmt: skip


def many():
    """Names enough for an index of several blocks."""
    return sorted(f"some/long/scope/name_{i * 7919 % 5000:05d}/and_more_text_{i}" for i in range(5000))
