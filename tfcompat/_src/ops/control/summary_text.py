"""How Print, Assert and StringFormat show a tensor as text."""

from __future__ import annotations

import numpy as np

_ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("'"): "\\'", ord("\\"): "\\\\"}


def _float_text(value: float, kind: type, digits: int, exact: int) -> str:
    """The shortest of two precisions that gives the number back."""
    if np.isnan(value):
        return "nan"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    short = f"{value:.{digits}g}"
    return short if kind(float(short)) == value else f"{value:.{exact}g}"


def _escaped(value: bytes) -> str:
    return "".join(_ESCAPES.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in value)


def element_text(value: object, quoted: bool) -> str:
    """One element as TensorFlow prints it; strings with escapes, and in quotes where wanted."""
    if isinstance(value, (bytes, str)):
        raw = value.encode() if isinstance(value, str) else value
        return f'"{_escaped(raw)}"' if quoted else _escaped(raw)
    if isinstance(value, np.bool_):
        return str(int(value))
    if isinstance(value, np.complexfloating):
        part = np.float32 if value.dtype == np.complex64 else np.float64
        return f"({element_text(part(value.real), quoted)},{element_text(part(value.imag), quoted)})"
    if isinstance(value, np.float64):
        return _float_text(value, np.float64, 15, 17)
    if isinstance(value, np.integer):
        return str(value)
    if hasattr(value, "variant_text"):
        return f"Variant<type: {value.type_name} value: {value.variant_text(lambda number: element_text(number, quoted))}>"
    single = np.float32(value)
    return _float_text(single, np.float32, 6, 9)


def summarize(x: np.ndarray, count: int) -> str:
    """The first `count` elements of `x` (all where negative), rows in brackets, `...` where more follow."""
    limit = x.size if count < 0 else min(count, x.size)
    elements = iter(x.reshape(-1))
    shown, parts = 0, []

    def rows(dim: int) -> None:
        nonlocal shown
        for i in range(x.shape[dim] if x.ndim else 1):
            if shown >= limit:
                if dim == x.ndim - 1 and dim:
                    parts.append("...")
                return
            if dim >= x.ndim - 1:
                parts.append(" " * (i > 0) + element_text(next(elements), quoted=False))
                shown += 1
            else:
                parts.append("[")
                rows(dim + 1)
                parts.append("]")

    rows(0)
    return "".join(parts) + "..." * (x.size > limit)


def summarize_ends(x: np.ndarray, count: int) -> str:
    """The first and last `count` elements in each dimension of `x` (all where negative), as `tf.print` shows them."""
    if not x.ndim:
        return element_text(x[()], quoted=True)
    ends = x.size if count < 0 else min(count, x.size)

    def block(part: np.ndarray, dim: int) -> str:
        if dim == x.ndim:
            return element_text(part, quoted=True)
        space = " " if dim == x.ndim - 1 else "\n" * (x.ndim - dim - 1) + " " * (dim + 1)
        size = len(part)
        shown = [block(part[i], dim + 1) for i in range(min(ends, size))]
        if size > 2 * ends:
            shown.append("...")
        shown += [block(part[i], dim + 1) for i in range(max(ends, size - ends), size)]
        return "[" + space.join(shown) + "]"

    return block(x, 0)
