"""tfcompat.to_stablehlo: a run of a graph as a portable program of StableHLO, which JAX alone loads and calls."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.export

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.interop.params_files import save_params
from tfcompat._src.interop.to_jax import JaxFunction, Params, to_jax
from tfcompat._src.interop.to_jax_from import to_jax_from
from tfcompat._src.platform.temporary_files import write_whole

PLATFORMS = ("cpu", "cuda", "tpu")
PROGRAM, SIGNATURE, PARAMS = "model.stablehlo", "signature.json", "params.npz"


class StableHLO(NamedTuple):
    """A run as a program.

    Attributes:
      content: what jax.export.deserialize takes; its `call(params, *feeds)` gives `(fetched, new_params)`, as to_jax's function does.
      signature: what JSON can hold: "inputs" (a list) and "outputs" (in the structure of the fetches), each with name, dtype and shape, where
        a symbolic size is its name; "params" by group and name; "platforms" and "jax", the version that wrote it.
      params: the parameters to start with.
    """

    content: bytes
    signature: dict[str, Any]
    params: Params

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes model.stablehlo, params.npz and signature.json, the last when the others are there; each is whole or absent."""
        os.makedirs(folder, exist_ok=True)
        write_whole(os.path.join(folder, PROGRAM), self.content)
        save_params(os.path.join(folder, PARAMS), self.params)
        write_whole(os.path.join(folder, SIGNATURE), json.dumps(self.signature, indent=1).encode())


@export("to_stablehlo")
def to_stablehlo(
    fetches: Any, feeds: Sequence[Any], session: SessionLike | None = None, *, shapes: Mapping[str, Sequence[int | str]] | None = None,
    platforms: Sequence[str] = PLATFORMS, **options: Any,
) -> StableHLO:  # fmt: skip
    """A run of the graph as a StableHLO program, with its variables as parameters.

    Args:
      fetches, feeds, session: as of tfcompat.to_jax. A feed is one tensor.
      shapes: sizes of feeds by name ("x:0"), each a number or the name of a symbol ("batch"). By default an unknown first size is the
        symbol "batch", and any other size must be known.
      platforms: of "cpu", "cuda", "rocm" and "tpu", where the program can run.
      **options: `fixed`, `checks` and `capacity` of to_jax.

    Returns:
      the program. It takes and gives 64-bit numbers in 32 bits unless jax_enable_x64 is set here; inside it computes in the graph's dtypes.

    Raises:
      NotImplementedError: as of to_jax, or the run is another for other sizes. ValueError: a size is not known, or contradicts the graph.
      ModuleNotFoundError: flatbuffers, which JAX writes programs with, is not installed.
    """
    return _exported(*to_jax(fetches, feeds, session, **options), shapes or {}, platforms)


@export("interop.to_stablehlo_from")
def to_stablehlo_from(
    path: str | os.PathLike[str], fetches: Any = None, feeds: Sequence[Any] | None = None, *, shapes: Mapping[str, Sequence[int | str]] | None = None,
    platforms: Sequence[str] = PLATFORMS, **options: Any,
) -> StableHLO:  # fmt: skip
    """`tfcompat.to_stablehlo` of a SavedModel, a frozen graph or a checkpoint with its meta graph; arguments as of interop.to_jax_from."""
    return _exported(*to_jax_from(path, fetches, feeds, **options), shapes or {}, platforms)


def _exported(fn: JaxFunction, params: Params, shapes: Mapping[str, Sequence[int | str]], platforms: Sequence[str]) -> StableHLO:
    if len(fn.tensors) != len(fn.feeds):
        raise NotImplementedError(f"A SparseTensor is no array: feed its parts, {', '.join(tensor.name for tensor in fn.tensors)}.")
    if unknown := set(shapes) - set(fn.feeds):
        raise ValueError(f"`shapes` names {', '.join(sorted(unknown))}, but the feeds are {', '.join(fn.feeds)}.")
    scope, specs = jax.export.SymbolicScope(), []
    for tensor in fn.tensors:
        sizes = ", ".join(map(str, shapes.get(tensor.name) or _default_sizes(tensor)))
        specs.append(jax.ShapeDtypeStruct(jax.export.symbolic_shape(sizes, scope=scope), _outer(tensor.dtype.as_numpy_dtype)))
    held = jax.tree.map(lambda array: jax.ShapeDtypeStruct(array.shape, _outer(array.dtype)), params)
    made = jax.export.export(jax.jit(fn), platforms=list(platforms))(held, *specs)
    results = jax.tree.unflatten(made.out_tree, made.out_avals)
    described = jax.tree.map(_described, results[0])
    inputs = [{"name": name, **_described(spec)} for name, spec in zip(fn.feeds, specs)]
    signature = {
        "format": "tfcompat.stablehlo", "version": 1, "jax": jax.__version__, "platforms": list(platforms), "inputs": inputs,
        "outputs": described, "params": jax.tree.map(_described, held),
    }  # fmt: skip
    return StableHLO(bytes(made.serialize()), signature, params)


def _outer(dtype: object) -> Any:
    return jax.dtypes.canonicalize_dtype(dtype)


def _described(value: Any) -> dict[str, Any]:
    return {"dtype": value.dtype.name, "shape": [size if isinstance(size, int) else str(size) for size in value.shape]}


def _default_sizes(tensor: Any) -> list[int | str]:
    """The sizes of a feed, the first a symbol where it is unknown; ValueError where another is."""
    if tensor.shape.ndims is None or None in tensor.shape.as_list()[1:]:
        raise ValueError(f"{tensor.name} has shape {tensor.shape}: give its sizes, numbers or names of symbols, in `shapes`.")
    return ["batch" if size is None else size for size in tensor.shape.as_list()]
