"""All uses of JAX that depend on its version, its private modules or its settings.

Other modules use JAX's public functions only, inside the context `x64`. A JAX without one of the private names imported here fails at
import, with the versions that work.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import itertools
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import jax
import jaxlib.version
import numpy as np

from tfcompat._src.base import jax_threads, promotion
from tfcompat._src.base.arrays import NDArray, new_array
from tfcompat._src.base.helper_threads import Work, is_interruptible

SUPPORTED = "jax>=0.10,<0.13"
"""The requirement in pyproject.toml."""

try:
    from jax._src import compilation_cache, distributed, xla_bridge
    from jax._src.array import ArrayImpl as ArrayImpl
    from jax._src.compilation_cache import get_file_cache
    from jax._src.config import default_matmul_precision, enable_x64, no_tracing
    from jax._src.core import trace_ctx
    from jax._src.interpreters.partial_eval import dce_jaxpr
    from jax._src.lax.special import igamma_grad_a_impl as igamma_grad_a_impl
    from jax._src.lib import _jax, _xla_gc_callback  # type: ignore[attr-defined]  # private
    from jax.experimental.layout import Layout, with_layout_constraint
    from jax.extend.core import ClosedJaxpr as ClosedJaxpr  # type: ignore[attr-defined, unused-ignore]  # 0.12 has it as a second name
    from jax.extend.core import Jaxpr as Jaxpr
    from jax.extend.core import JaxprEqn as JaxprEqn
    from jax.extend.core import Literal as Literal
    from jax.extend.core import Primitive as Primitive
    from jax.extend.core import Var as Var
    from jax.extend.core import jaxprs_in_params as jaxprs_in_params
    from jax.interpreters import ad as ad
    from jax.interpreters import batching as batching
    from jax.interpreters import mlir as mlir

    _no_tracing = no_tracing.swap_local
    _swap_x64, _set_x64 = enable_x64.swap_local, enable_x64.set_local
    _swap_precision, _set_precision = default_matmul_precision.swap_local, default_matmul_precision.set_local
    backends_are_up = xla_bridge.backends_are_initialized
    xla_bridge._backends  # noqa: B018
except (ImportError, AttributeError) as missing:
    raise ImportError(
        f"JAX {jax.__version__} does not have a name that tfcompat uses: {missing}. tfcompat works with {SUPPORTED}; "
        f'install such a version with: pip install "{SUPPORTED}"'
    ) from missing

_JOINED_SECONDS, _HEARTBEAT_SECONDS = 120, 30
"""Timeouts of multi-process programs: until all processes have joined, and between heartbeats of a live one."""
Atom = Var | Literal
"""An input of an equation of a jaxpr."""

_config: Any = jax.config  # Any: its options are attributes that are not in its type stubs
_NOT_UTF8 = re.compile(r"[\ud800-\udfff]")

# By default XLA CPU computes convolutions with the library YNNPACK, which runs most large ones on one core; it is used for matrix products
# and reductions only. Products are not fused with their neighbours (LIBRARY_FUSION_TYPE_DOT): in JAX 0.10 that computes wrong results if a
# factor is a constant of equal elements. Its reductions run on all cores, but whether its lax.reduce_max propagates a NaN depends on the
# number of elements, so kernels use that only for values in which a NaN does not matter.
_CPU_OPTIONS: dict[str, str | int | bool] = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"}
# For programs that compute few elements: compiles 2 to 5 times as fast, to code that takes up to 20 times as long per element.
_SMALL: dict[str, str | int | bool] = {"xla_backend_optimization_level": 1, "xla_cpu_parallel_codegen_split_count": 1}
# For programs of many equations on small arrays, with repeated parts rolled into loops: compiles in half the time, runs as fast.
_REPEATED: dict[str, str | int | bool] = {}
if jax.__version_info__ < (0, 11):
    _SMALL["xla_cpu_use_fusion_emitters"] = _REPEATED["xla_cpu_use_fusion_emitters"] = False
# For programs of many equations on small arrays, without repeated parts: the time of XLA's fusion pass grows quadratically with the number
# of equations, and the code is no faster for it.
_LONG: dict[str, str | int | bool] = {"xla_disable_hlo_passes": "fusion"}


_ARRAY = {ArrayImpl}
_ALIGNMENT = 64  # bytes: JAX aliases NumPy memory that is aligned so, and copies other memory
FOLDERS = tuple(os.path.dirname(str(package.__file__)) + os.sep for package in (jax, jaxlib))
"""The folders that hold JAX's own code, with a trailing separator."""
VERSIONS = f"jax {jax.__version__}, jaxlib {jaxlib.version.__version__}"


# ---- settings of JAX and of the process, which process_settings.py applies ----


def free_arrays_in_c() -> None:
    """Has the garbage collector call JAX's function that frees arrays from C.

    JAX calls it in a Python callback. An exception that a signal handler raises there (Ctrl-C) would be printed and lost.
    """
    # A variadic function, whose list of arguments ends with the null pointer: it does not read the callback's own (phase and statistics).
    call = ctypes.PyDLL(None)["PyObject_CallFunctionObjArgs"]
    call.argtypes, call.restype = [ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object], ctypes.py_object
    if _xla_gc_callback in gc.callbacks:
        gc.callbacks[gc.callbacks.index(_xla_gc_callback)] = functools.partial(call, _jax.collect_garbage, None)


def keep_source_names_utf8() -> None:
    """Has JAX remove what is not UTF-8 from file names (Python holds it as surrogates): compiled programs hold them as UTF-8."""
    if _config.jax_hlo_source_file_canonicalization_regex is None:
        _config.update("jax_hlo_source_file_canonicalization_regex", _NOT_UTF8.pattern)


def prepare_for_forks() -> None:
    """Has forked processes know that they lack JAX's threads."""
    os.register_at_fork(after_in_child=_be_forked)


def keep_programs(folder: str, store: Any, least_seconds: float) -> None:
    """Makes JAX keep compiled programs in a store, unless the user has set a cache folder of JAX.

    Args:
      folder: the value of `jax_compilation_cache_dir` for which JAX uses the store.
      store: has `get(key) -> bytes | None` and `put(key, value)`.
      least_seconds: programs that compile faster are not kept.
    """
    # A folder that the user chose wins. JAX asks for the cache of a folder by get_file_cache, which is replaced for this folder alone.
    if _config.jax_compilation_cache_dir is not None:
        return
    compilation_cache.get_file_cache = lambda path: (store, path) if path == folder else get_file_cache(path)
    _config.update("jax_compilation_cache_dir", folder)
    if _NOT_UTF8.search(folder):  # XLA keeps files of its own in the folder, and requires UTF-8 names
        _config.update("jax_persistent_cache_enable_xla_caches", "none")
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        _config.update("jax_persistent_cache_min_compile_time_secs", least_seconds)


@functools.cache
def _computes_on_gpu() -> bool:
    return jax.default_backend() == "gpu"


def rounds_products() -> bool:
    """Returns whether JAX by default rounds the factors of float32 products and convolutions to 10 bits (TF32), as 1.15 never does.

    It does so on GPUs, unless the user chose a precision, for instance by `JAX_DEFAULT_MATMUL_PRECISION=tensorfloat32`.
    """
    return _computes_on_gpu() and _config.jax_default_matmul_precision is None


class x64(jax_threads.Using):  # noqa: N801
    """The context for every use of JAX.

    Inside, 64-bit dtypes are enabled whatever `jax_enable_x64` is outside (this is faster than `jax.enable_x64`), float32 products have
    float32 precision (see `rounds_products`), NumPy promotes by the rules of NumPy 2, and the exit of the interpreter waits for this
    thread (see `jax_threads`). An exception in the main thread sets JAX's current trace back to that of the beginning, which is a program's own
    where it runs a session inside its `jax.jit`: if a signal handler raises in the code that would end a trace, JAX leaves it open.
    """

    __slots__ = ("_axes", "_is_exact", "_outer", "_precision", "_rule", "_trace")

    def __enter__(self) -> None:
        jax_threads.Using.__enter__(self)
        self._outer = _swap_x64(True)
        self._trace, self._axes = trace_ctx.trace, trace_ctx.axis_env
        self._is_exact = _computes_on_gpu() and rounds_products()
        if self._is_exact:
            self._precision = _swap_precision("highest")
        self._rule = promotion.begin_of_today() if promotion.Program.has_old_rule else ""

    def __exit__(self, *raised: object) -> None:
        if self._rule:
            promotion.swap(self._rule)
        if self._is_exact:
            _set_precision(self._precision)
        _set_x64(self._outer)
        if raised[0] is not None and is_interruptible():
            trace_ctx.set_trace(self._trace)
            trace_ctx.set_axis_env(self._axes)
        jax_threads.Using.__exit__(self)


def _be_forked() -> None:
    """Records in a forked process that it lacks JAX's threads, and keeps JAX from joining them at exit, which would end in SIGSEGV."""
    # A further reference keeps a client's destructor from running.
    clients = list(xla_bridge._backends.values())
    jax_threads.forget_others(may_run=not clients)
    for client in clients:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))


# ---- devices and processes ----


def platforms() -> str | None:
    """Returns the platforms that the user set for JAX, separated by commas; None if JAX chooses."""
    names: str | None = _config.jax_platforms
    return names


def ask_for_cpu_devices(count: int) -> bool:
    """Requests at least `count` CPU devices if JAX has not started yet; returns whether there are that many."""
    # JAX reads the option when its backends start; XLA_FLAGS is the older way to set it and must not be contradicted.
    if not backends_are_up() and "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        _config.update("jax_num_cpu_devices", max(count, _config.jax_num_cpu_devices))
    return len(jax.local_devices(backend="cpu")) >= count


def join_processes(coordinator: str, count: int, number: int, settings: str) -> list[str]:
    """Joins a group of processes whose programs may use the devices of all; returns the settings of each process, by its number.

    Blocks until all have joined. JAX, which must not have started yet, then has the devices of all processes, and those of this process as
    local devices. If another process dies, this one continues, unless the first process died: that ends all processes which have not
    called `jax.distributed.shutdown`.

    Args:
      coordinator: "host:port" of the first process.
      count: number of processes.
      number: number of this process, from 0 on.
      settings: a text that all other processes receive.

    Raises:
      RuntimeError: the other processes do not join in time.
    """
    # Without this option, the death of one process ends all others.
    _config.update("jax_enable_recoverability", True)
    jax.distributed.initialize(
        coordinator, count, number, cluster_detection_method="deactivate", initialization_timeout=_JOINED_SECONDS,
        heartbeat_timeout_seconds=_HEARTBEAT_SECONDS,
    )  # fmt: skip
    client = distributed.global_state.client
    if client is None:
        raise RuntimeError("jax.distributed was initialized but has no client, so the processes cannot exchange their settings.")
    # Each process publishes its settings in the coordinator's key-value store, and waits for those of the others.
    client.key_value_set(f"tfcompat/{number}", settings)
    return [client.blocking_key_value_get(f"tfcompat/{i}", _JOINED_SECONDS * 1000) for i in range(count)]


def collective_library(platform: str) -> str:
    """Returns the name of the library that carries arrays between processes on a platform."""
    cpu: str = _config.jax_cpu_collectives_implementation
    return {"cpu": cpu, "tpu": "ICI", "rocm": "RCCL"}.get(platform, "NCCL")


# ---- compilation and traces ----


def keeps_programs() -> bool:
    """Returns whether JAX's persistent compilation cache is on."""
    return bool(_config.jax_enable_compilation_cache and _config.jax_compilation_cache_dir)


def jit(function: Callable[..., Any], donate: tuple[int, ...], small: bool = False, long: bool = False, repeated: bool = False) -> Any:
    """Returns `jax.jit(function)` with the compiler options for clusters; for the flags see `_SMALL`, `_LONG` and `_REPEATED`."""
    options = compiler_options()
    if options is not None:
        options |= {**(_SMALL if small else {}), **(_LONG if long else {}), **(_REPEATED if repeated else {})}
    return jax.jit(function, donate_argnums=donate, compiler_options=options)


def compiler_options() -> dict[str, str | int | bool] | None:
    """Returns the `compiler_options` of `jax.jit` for clusters; None for JAX's defaults."""
    return dict(_CPU_OPTIONS) if compiles_to_cpu() else None


def compiles_to_cpu() -> bool:
    """Returns whether programs are compiled for the CPU by a version of JAX whose options are known."""
    return jax.default_backend() == "cpu" and jax.__version_info__ < (0, 13)


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """Disables the garbage collector inside the block.

    A trace makes many objects, most of which stay alive, so the collector would scan all live objects again and again.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def traced(function: Any, arguments: tuple[Any, ...]) -> jax.stages.Traced:
    """Returns the trace of a jitted function for arguments; JAX caches it."""
    with tracing():
        trace: jax.stages.Traced = function.trace(*arguments)
    return trace


def made_trace(function: Callable[..., object], arguments: Iterable[jax.ShapeDtypeStruct]) -> ClosedJaxpr:
    """Returns the jaxpr of a function for arguments of these shapes and dtypes; JAX does not cache it."""
    with tracing():
        trace: ClosedJaxpr = jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arguments))
    return trace


def scan_counts(params: dict[str, Any]) -> tuple[int, int]:
    """Returns the numbers of constants and of carried values among a scan's inputs; the remaining inputs are sequences."""
    # From JAX 0.12 on, a tree of the inputs has replaced the counts.
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    constants, carried, _ = params["ft_in"].unpack()
    return len(list(constants)), len(list(carried))


def expanded(equation: JaxprEqn) -> ClosedJaxpr:
    """Returns the jaxpr that defines a primitive in terms of others (`call_hi_primitive`, from JAX 0.12 on)."""
    arguments = [jax.ShapeDtypeStruct(t.shape, t.dtype) for t in map(array_type, equation.invars)]
    with x64():
        return jax.make_jaxpr(equation.params["_prim"].expand)(*arguments)


def without_dead_code(trace: ClosedJaxpr) -> ClosedJaxpr:
    """Returns a jaxpr without the equations on which its outputs do not depend (dead code elimination); all inputs stay."""
    # `instantiate` keeps inputs that are no longer used, so that the signature stays.
    jaxpr, _ = dce_jaxpr(trace.jaxpr, [True] * len(trace.jaxpr.outvars), instantiate=True)
    return ClosedJaxpr(jaxpr, trace.consts)


def program_size(function: Any, arguments: tuple[Any, ...]) -> tuple[int, int]:
    """Returns the number of equations of a jitted function, and an estimate of the elements that it computes for arguments.

    The estimate takes 256 iterations for a loop of unknown length.
    """
    return _program_size(function.trace(*arguments).jaxpr.jaxpr)


def equations(jaxpr: Jaxpr) -> int:
    """Returns the number of equations of a jaxpr, those of inner jaxprs included."""
    return sum(1 + sum(map(equations, jaxprs_in_params(e.params))) for e in jaxpr.eqns)


def has_complex_values(jaxpr: Jaxpr) -> bool:
    """Returns whether a jaxpr has complex inputs or intermediates, which `jax.checkpoint` cannot keep as residuals."""
    made = [v for e in jaxpr.eqns for v in e.outvars]
    if any(array_type(v).dtype.kind == "c" for v in (*jaxpr.invars, *made) if isinstance(v.aval, jax.core.ShapedArray)):
        return True
    return any(has_complex_values(inner) for e in jaxpr.eqns for inner in jaxprs_in_params(e.params))


def _program_size(jaxpr: Jaxpr) -> tuple[int, int]:
    equations = elements = 0
    for equation in jaxpr.eqns:
        inner = [_program_size(j) for j in jaxprs_in_params(equation.params)]
        # A scan states its length; a while loop does not.
        rounds = 256 if equation.primitive.name == "while" else equation.params.get("length", 1)
        equations += 1 + sum(n for n, _ in inner)
        # An equation computes about as many elements as its largest operand or result has; a loop, those of all iterations.
        arrays = max(map(_size, (*equation.invars, *equation.outvars)), default=0)
        elements += max(rounds * sum(n for _, n in inner), arrays)
    return equations, elements


def _size(variable: Any) -> int:
    return math.prod(getattr(variable.aval, "shape", ()))


# ---- calls of compiled programs ----

_COLLECTS_IN_C = sys.version_info < (3, 12)


class _Collector:
    """State of the garbage collector during `call_at_once`.

    `waits` says that it was on and must be turned on again: if a signal handler ends a call before that, the next call does it.
    """

    waits = False


def array_type(variable: Atom) -> jax.core.ShapedArray:
    """Returns the shape and dtype of an array variable of a jaxpr."""
    return cast(jax.core.ShapedArray, variable.aval)


def row_major(x: jax.Array) -> jax.Array:
    """Returns `x` constrained to row-major layout: XLA's Fourier transforms on CPUs return it, and fail if another layout is chosen."""
    constrained: jax.Array = with_layout_constraint(x, Layout(tuple(range(x.ndim))))
    return constrained


def call_at_once(function: Any, arguments: tuple[Any, ...], results: list[Any]) -> bool:
    """Calls a jitted function without running any Python code, and appends its outputs to `results`.

    No signal handler can run between the donation of the arguments and the return of the outputs, so an exception in a handler never
    loses both. Before Python 3.12 the garbage collector, which runs finalizers, could run inside C code; it is disabled for the call.

    Returns:
      whether the function was called; False if JAX would need Python code for these arguments, such as a new trace.
    """
    try:
        if _COLLECTS_IN_C:
            _Collector.waits |= gc.isenabled()
            gc.disable()
        # Under no_tracing, JAX raises RuntimeError where it would run Python code to trace.
        _no_tracing(True)
        results.extend(itertools.starmap(function, (arguments,)))  # extend runs the call and stores its result, both in C
    except RuntimeError as e:
        if "no_tracing" not in str(e):
            raise
        function._clear_cache()  # otherwise JAX keeps taking the Python path for such arguments
        return False
    finally:
        _no_tracing(False)
        if _Collector.waits:
            gc.enable()
            _Collector.waits = False
    return True


def work_apart(function: Callable[[], Any]) -> Work:
    """Returns the work of calling a function of JAX in a helper thread, where no signal handler can raise and corrupt JAX's caches."""

    def call() -> Any:
        with x64():
            return function()

    return Work(call)


def apart(function: Callable[[], Any]) -> Any:
    """Calls a function and returns its result; in a helper thread if signal handlers run in this one."""
    return work_apart(function).wait() if is_interruptible() else function()


def cost(function: Any, arguments: tuple[Any, ...]) -> tuple[int, float]:
    """Compiles a jitted function for arguments and returns the cost of a call.

    Returns:
      the bytes that a call allocates beside the arguments, and its floating-point operations, each loop counted as one iteration.
    """
    # Outputs that alias donated arguments take no memory of their own.
    program = function.lower(*arguments).compile()
    memory, costs = program.memory_analysis(), program.cost_analysis() or {}
    needed = 0 if memory is None else memory.temp_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes
    return needed, costs.get("flops", 0.0)


# ---- memory and arrays ----


def bytes_there(place: jax.Device | jax.sharding.Sharding | None) -> int:
    """Returns the bytes of memory of a device, of one device of a mesh, or of the default device; for a CPU, those of the machine."""
    device = place if isinstance(place, jax.Device) else next(iter(place.device_set)) if place is not None else jax.local_devices()[0]
    # CPU devices have no statistics.
    stats = device.memory_stats() or {}
    return stats.get("bytes_limit") or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def aligned_zeros(size: int, dtype: Any) -> NDArray:
    """Returns a vector of zeros in memory that JAX aliases without a copy."""
    # Over-allocates, then takes the part that begins at a multiple of the alignment.
    room = np.zeros(size * np.dtype(dtype).itemsize + _ALIGNMENT, np.uint8)
    start = -room.__array_interface__["data"][0] % _ALIGNMENT
    return room[start : room.size - _ALIGNMENT + start].view(dtype)


def shared_array(memory: NDArray, device: jax.Device | None) -> jax.Array:
    """Returns an array on a CPU device that aliases `memory` (from `aligned_zeros`): a running program sees later writes to it."""
    aliased: jax.Array = jax.device_put(memory, device, may_alias=True)
    return aliased


def own_array(value: NDArray | jax.Array, place: jax.Device | jax.sharding.Sharding | None = None) -> jax.Array:
    """Returns a copy of `value` as a device array that shares no memory with it, so that it may be donated."""
    copied: jax.Array = jax.device_put(new_array(value), place, may_alias=False)
    return copied


def is_at(array: jax.Array, place: jax.Device | jax.sharding.Sharding) -> bool:
    """Returns whether an array is on a device, or has a sharding."""
    if isinstance(place, jax.Device):
        return array.sharding.device_set == {place}
    return array.sharding.is_equivalent_to(place, array.ndim)


def are_arrays(values: tuple[Any, ...]) -> bool:
    """Returns whether all values are concrete JAX arrays, not tracers (faster than isinstance checks)."""
    return set(map(type, values)) <= _ARRAY


def is_deleted(value: NDArray | jax.Array) -> bool:
    """Returns whether the buffer of an array was donated or deleted."""
    return isinstance(value, jax.Array) and value.is_deleted()


def is_lost(value: NDArray | jax.Array) -> bool:
    """Returns whether an array has no value: its computation failed, or its buffer was donated. Waits for the computation."""
    try:
        jax.block_until_ready(value)
    except RuntimeError:
        return True
    return False


def to_numpy(value: NDArray | jax.Array) -> NDArray:
    """Returns a writable NumPy copy, which stays valid when the device buffer is donated."""
    return new_array(value)


def keep_freed_memory() -> None:
    """Makes glibc keep large freed blocks for later allocations, instead of returning each to the system.

    Compiled CPU programs allocate their temporaries in every call; with glibc's defaults, page faults take up to half the time of a
    step. Does nothing if the user set GLIBC_TUNABLES or MALLOC_..., or with another C library.
    """
    if sys.platform != "linux" or any(k == "GLIBC_TUNABLES" or k.startswith("MALLOC_") for k in os.environ):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        # Blocks up to 1 GiB come from the heap, which is trimmed only beyond 2 GiB; one arena, so that all threads reuse the same blocks.
        for parameter, value in ((_M_MMAP_THRESHOLD, 1 << 30), (_M_TRIM_THRESHOLD, (1 << 31) - 1), (_M_ARENA_MAX, 1)):
            mallopt(parameter, value)


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
