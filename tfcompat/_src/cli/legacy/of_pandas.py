"""pandas: what 1.0, 2.0 and 3.0 removed, and text columns as arrays of objects."""

from __future__ import annotations

import datetime
import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.cli.legacy.keywords import Tables, taking

Names = dict[Any, dict[str, Any]]


class _ByLabelOrPosition:
    """What `frame.ix` gives: numbers are positions where the labels are none."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def _labels(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        labels = tuple(_labels(axis, part) for axis, part in zip(self._values.axes, parts))
        return labels if isinstance(key, tuple) else labels[0]

    def __getitem__(self, key: Any) -> Any:
        return self._values.loc[self._labels(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values.loc[self._labels(key)] = value


def _labels(axis: Any, key: Any) -> Any:
    """A key of one axis, by labels."""
    edges = [key.start, key.stop] if isinstance(key, slice) else np.ravel(np.asarray(key, object)).tolist()
    is_positions = all(edge is None or (isinstance(edge, (int, np.integer)) and not isinstance(edge, bool)) for edge in edges)
    if axis.dtype.kind in "iu" or not is_positions or all(edge is None for edge in edges):
        return key
    return axis[key]


def _appending(pandas: Any) -> Callable[..., Any]:
    def append(self: Any, other: Any, ignore_index: bool = False, verify_integrity: bool = False, sort: bool = False) -> Any:
        if isinstance(other, (dict, pandas.Series)) and isinstance(self, pandas.DataFrame):
            other = pandas.DataFrame([other])
        others = other if isinstance(other, list) else [other]
        return pandas.concat([self, *others], ignore_index=ignore_index, verify_integrity=verify_integrity, sort=sort)

    return append


def _as_matrix(self: Any, columns: object = None) -> Any:
    return self.values if columns is None else self[columns].values


def _set_value(self: Any, index: object, col: object, value: object, takeable: bool = False) -> Any:
    (self.iat if takeable else self.at)[index, col] = value
    return self


def _with_positions(method: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """A method that takes these arguments without their names too."""

    @functools.wraps(method)
    def wrapped(self: Any, first: object = None, *more: Any, **options: Any) -> Any:
        return method(self, first, **{**dict(zip(names, more)), **options})

    return wrapped


def _filling(fillna: Callable[..., Any]) -> Callable[..., Any]:
    """`fillna` that takes a method: the value before or after."""

    @functools.wraps(fillna)
    def wrapped(self: Any, value: object = None, method: str | None = None, axis: object = None, inplace: bool = False, **options: Any) -> Any:
        if method is None:
            return fillna(self, value, axis=axis, inplace=inplace, **options)
        fill = self.ffill if method in ("ffill", "pad") else self.bfill
        return fill(axis=axis, inplace=inplace, **options)

    return wrapped


def _reading(read_csv: Callable[..., Any]) -> Callable[..., Any]:
    """`read_csv` that takes the separator without its name, and `error_bad_lines` and `squeeze`."""

    @functools.wraps(read_csv)
    def wrapped(path: object, sep: object = None, *, error_bad_lines: bool = True, warn_bad_lines: bool = True, squeeze: bool = False, **options: Any) -> Any:
        if sep is not None:
            options["sep"] = sep
        if not error_bad_lines:
            options["on_bad_lines"] = "warn" if warn_bad_lines else "skip"
        found = read_csv(path, **options)
        return found.squeeze("columns") if squeeze else found

    return wrapped


def _added(pandas: Any) -> Names:
    both = dict(append=_appending(pandas), as_matrix=_as_matrix, ix=property(_ByLabelOrPosition), get_value=lambda self, *at: self.at[at if len(at) > 1 else at[0]],
                mad=lambda self, axis=0: (self - self.mean(axis)).abs().mean(axis))  # fmt: skip
    frame = dict(iteritems=pandas.DataFrame.items, applymap=getattr(pandas.DataFrame, "map", None), set_value=_set_value)
    series = dict(iteritems=pandas.Series.items, nonzero=lambda self: self.to_numpy().nonzero())
    module = dict(datetime=datetime.datetime, np=np, value_counts=lambda values, **options: pandas.Series(values).value_counts(**options))
    return {pandas.DataFrame: both | frame, pandas.Series: both | series, pandas: module}


def _replaced(pandas: Any) -> Names:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pandas.set_option("future.infer_string", False)
    frame, series = pandas.DataFrame, pandas.Series
    return {
        frame: dict(drop=_with_positions(frame.drop, "axis", "index", "columns"), fillna=_filling(frame.fillna),
                    to_csv=_with_positions(frame.to_csv, "sep", "na_rep", "float_format", "columns", "header", "index")),
        series: dict(drop=_with_positions(series.drop, "axis", "index"), fillna=_filling(series.fillna)),
        pandas: dict(read_csv=_reading(pandas.read_csv), read_table=_reading(pandas.read_table),
                     get_dummies=taking(pandas.get_dummies, defaults=dict(dtype=np.uint8))),
    }  # fmt: skip


ADDED: Tables = {"pandas": _added}
REPLACED: Tables = {"pandas": _replaced}
MOVED = {"pandas.util.testing": "pandas.testing", "pandas.tools.plotting": "pandas.plotting", "pandas.core.common": "pandas.api.types"}
