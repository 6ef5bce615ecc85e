"""Every touch of JAX that depends on its version or on its settings."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import itertools
import logging
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import jax
import jaxlib.version
import numpy as np

from tfcompat._src.base import jax_threads, promotion
from tfcompat._src.base.arrays import NDArray, new_array
from tfcompat._src.base.helper_threads import Work, is_interruptible

SUPPORTED = "jax>=0.10,<0.13"
"""What pyproject.toml asks for."""

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
    from jax.extend.core import Var as Var
    from jax.extend.core import jaxprs_in_params as jaxprs_in_params

    _no_tracing = no_tracing.swap_local
    _swap_x64, _set_x64 = enable_x64.swap_local, enable_x64.set_local
    _swap_precision, _set_precision = default_matmul_precision.swap_local, default_matmul_precision.set_local
    backends_are_up = xla_bridge.backends_are_initialized
    xla_bridge._backends  # noqa: B018
except (ImportError, AttributeError) as missing:
    raise ImportError(
        f"JAX {jax.__version__} does not have a name that tfcompat uses: {missing}. tfcompat works with {SUPPORTED}: "
        f'pip install "{SUPPORTED}" brings such a version.'
    ) from missing

_JOINED_SECONDS, _HEARTBEAT_SECONDS = 120, 30
"""How long a process waits for others to begin, and how long they may say nothing."""
Atom = Var | Literal
"""What an equation of a trace takes."""

# JAX reports backends that are not there at the level INFO, traces and what derivatives keep at DEBUG, which programs turn on for their own lines.
if logging.getLogger("jax").level == logging.NOTSET:  # JAX_LOGGING_LEVEL sets it
    logging.getLogger("jax").setLevel(logging.WARNING)

# JAX frees arrays after each collection of garbage, in a function of Python: an exception that a signal's handler raises there, as Ctrl-C does, is
# printed and lost. Here C calls what that function calls; what a collection hands over beside (its phase and numbers) is not looked at.
_call = ctypes.PyDLL(None)["PyObject_CallNoArgs"]
_call.argtypes, _call.restype = [ctypes.py_object] * 3, ctypes.py_object
if _xla_gc_callback in gc.callbacks:
    gc.callbacks[gc.callbacks.index(_xla_gc_callback)] = functools.partial(_call, _jax.collect_garbage)

# The names of files stand in compiled programs as UTF-8; bytes of a name that are none are left out (Python has surrogates for them).
_NOT_UTF8 = re.compile(r"[\ud800-\udfff]")
_config: Any = jax.config  # whose options are attributes that its types do not know
if _config.jax_hlo_source_file_canonicalization_regex is None:
    _config.update("jax_hlo_source_file_canonicalization_regex", _NOT_UTF8.pattern)

# By default XLA CPU gives convolutions to a library that runs most large ones on one core. Products are given to it one by one:
# with what stands around them (LIBRARY_FUSION_TYPE_DOT), JAX 0.10's are wrong where a factor is a constant of equal elements.
# Its sums run on all cores; its lax.reduce_max drops NaN or not by their number, so only what NaN cannot change uses that.
_CPU_OPTIONS: dict[str, str | int | bool] = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"}
# For programs that compute few elements: compiles two to five times as fast, to code that is up to twenty times as slow per element.
_SMALL: dict[str, str | int | bool] = {"xla_backend_optimization_level": 1, "xla_cpu_parallel_codegen_split_count": 1}
# For programs of many equations on small arrays, whose repeats are loops: compiles in half the time, and runs as fast.
_REPEATED: dict[str, str | int | bool] = {}
if jax.__version_info__ < (0, 11):
    _SMALL["xla_cpu_use_fusion_emitters"] = _REPEATED["xla_cpu_use_fusion_emitters"] = False
# For programs of many equations on small arrays, few of which repeat: the time that fusion takes grows with the square of their
# length, and the code is no faster for it.
_LONG: dict[str, str | int | bool] = {"xla_disable_hlo_passes": "fusion"}


_ARRAY = {ArrayImpl}
_ALIGNMENT = 64  # of memory that JAX takes over without a copy
FOLDERS = tuple(os.path.dirname(str(package.__file__)) + os.sep for package in (jax, jaxlib))
"""Where the code of JAX lies."""
VERSIONS = f"jax {jax.__version__}, jaxlib {jaxlib.version.__version__}"


def keep_programs(folder: str, store: Any, least_seconds: float) -> None:
    """Lets JAX keep compiled programs and take them from there; settings made by others stay as they are.

    Args:
      folder: the value of `jax_compilation_cache_dir` for which JAX uses the store.
      store: has `get(key) -> bytes | None` and `put(key, value)`.
      least_seconds: how long compiling a program must take for it to be kept.
    """
    if _config.jax_compilation_cache_dir is not None:
        return
    compilation_cache.get_file_cache = lambda path: (store, path) if path == folder else get_file_cache(path)
    _config.update("jax_compilation_cache_dir", folder)
    if _NOT_UTF8.search(folder):  # XLA, which keeps files of its own there, cannot take such a name
        _config.update("jax_persistent_cache_enable_xla_caches", "none")
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        _config.update("jax_persistent_cache_min_compile_time_secs", least_seconds)


@functools.cache
def _computes_on_gpu() -> bool:
    return jax.default_backend() == "gpu"


def rounds_products() -> bool:
    """Whether JAX would round the factors of float32 products and convolutions to 10 bits (TF32), as TensorFlow 1.15 never does.

    That is so on GPUs, unless the user has chosen a precision: `JAX_DEFAULT_MATMUL_PRECISION=tensorfloat32` in the environment.
    """
    return _computes_on_gpu() and _config.jax_default_matmul_precision is None


class x64(jax_threads.Using):  # noqa: N801
    """The context of all that uses JAX: 64-bit types are real, whatever `jax_enable_x64` says outside (quicker than `jax.enable_x64`),
    products of float32 are products of float32 (see `rounds_products`), NumPy promotes as today, and an exit of the interpreter knows that
    the thread is there. After an exception no trace goes on in the main thread: JAX does not end one where a signal's handler raises in what
    would end it.
    """

    __slots__ = ("_is_exact", "_outer", "_precision", "_rule")

    def __enter__(self) -> None:
        jax_threads.Using.__enter__(self)
        self._outer = _swap_x64(True)
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
            trace_ctx.reset()
        jax_threads.Using.__exit__(self)


def _be_forked() -> None:
    """Tells a forked process that it lacks JAX's threads, and keeps JAX from ending them at exit, which ends by SIGSEGV."""
    clients = list(xla_bridge._backends.values())
    jax_threads.forget_others(may_run=not clients)
    for client in clients:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))


os.register_at_fork(after_in_child=_be_forked)
# A forked process that does without operations needs no JAX, and one that runs them is told so then. JAX warns of its threads, Python 3.12
# and newer of any.
warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
warnings.filterwarnings("ignore", r"This process \(pid=\d+\) is multi-threaded, use of fork\(\)", DeprecationWarning)


def platforms() -> str | None:
    """The kinds of devices that JAX was told to use, with commas; None where it chooses."""
    found: str | None = _config.jax_platforms
    return found


def ask_for_cpu_devices(count: int) -> bool:
    """Lets JAX start with at least `count` CPU devices, where it has not started; whether there are as many."""
    if not backends_are_up() and "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        _config.update("jax_num_cpu_devices", max(count, _config.jax_num_cpu_devices))
    return len(jax.local_devices(backend="cpu")) >= count


def join_processes(coordinator: str, count: int, number: int, settings: str) -> list[str]:
    """Makes this process one of several whose programs may be over the devices of all; the settings of each process, by its number.

    Waits for all. JAX, which must not have started, gets the devices of all, and those of this process as its local ones. When another process
    dies, this one lives on, unless it was the first: that ends all which have not called `jax.distributed.shutdown` before.

    Args:
      coordinator: "host:port" where the first process answers. count: of the processes. number: of this one.
      settings: what the others are to know.

    Raises:
      RuntimeError: the others do not come.
    """
    _config.update("jax_enable_recoverability", True)
    jax.distributed.initialize(
        coordinator, count, number, cluster_detection_method="deactivate", initialization_timeout=_JOINED_SECONDS,
        heartbeat_timeout_seconds=_HEARTBEAT_SECONDS,
    )  # fmt: skip
    client = distributed.global_state.client
    if client is None:
        raise RuntimeError("jax.distributed has no client although it was initialized")
    client.key_value_set(f"tfcompat/{number}", settings)
    return [client.blocking_key_value_get(f"tfcompat/{i}", _JOINED_SECONDS * 1000) for i in range(count)]


def collective_library(platform: str) -> str:
    """What carries arrays between the processes of programs on a kind of device."""
    cpu: str = _config.jax_cpu_collectives_implementation
    return {"cpu": cpu, "tpu": "ICI", "rocm": "RCCL"}.get(platform, "NCCL")


def keeps_programs() -> bool:
    """Whether compiled programs that took long are kept for the next process."""
    return bool(_config.jax_enable_compilation_cache and _config.jax_compilation_cache_dir)


def jit(function: Callable[..., Any], donate: tuple[int, ...], small: bool = False, long: bool = False, repeated: bool = False) -> Any:
    """`jax.jit` with the settings that compiled clusters want; see `_SMALL`, `_LONG` and `_REPEATED`."""
    options = compiler_options()
    if options is not None:
        options |= {**(_SMALL if small else {}), **(_LONG if long else {}), **(_REPEATED if repeated else {})}
    return jax.jit(function, donate_argnums=donate, compiler_options=options)


def compiler_options() -> dict[str, str | int | bool] | None:
    """What clusters are compiled with, as `compiler_options` of `jax.jit`; None for JAX's defaults."""
    return dict(_CPU_OPTIONS) if compiles_to_cpu() else None


def compiles_to_cpu() -> bool:
    """Whether programs are compiled for the CPU by a JAX whose options are known."""
    return jax.default_backend() == "cpu" and jax.__version_info__ < (0, 13)


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """Within the `with` statement, the collector of garbage waits.

    While something is traced it would look through everything that is alive, again and again, since a trace makes many objects, most of
    which stay.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def traced(function: Any, arguments: tuple[Any, ...]) -> jax.stages.Traced:
    """The trace of a jitted function for arguments, which JAX makes once."""
    with tracing():
        found: jax.stages.Traced = function.trace(*arguments)
    return found


def made_trace(function: Callable[..., object], arguments: Iterable[jax.ShapeDtypeStruct]) -> ClosedJaxpr:
    """The trace of a function for arguments, or arrays of their shapes and dtypes, which JAX forgets."""
    with tracing():
        found: ClosedJaxpr = jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arguments))
    return found


def scan_counts(params: dict[str, Any]) -> tuple[int, int]:
    """How many of a scan's inputs are constants, and how many are carried; the others are sequences."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    constants, carried, _ = params["ft_in"].unpack()
    return len(list(constants)), len(list(carried))


def expanded(equation: JaxprEqn) -> ClosedJaxpr:
    """The trace of what a primitive that JAX defines by others (`call_hi_primitive`, from 0.12 on) does."""
    arguments = [jax.ShapeDtypeStruct(t.shape, t.dtype) for t in map(array_type, equation.invars)]
    with x64():
        return jax.make_jaxpr(equation.params["_prim"].expand)(*arguments)


def without_dead_code(trace: ClosedJaxpr) -> ClosedJaxpr:
    """A trace without the equations that its outputs do not need."""
    jaxpr, _ = dce_jaxpr(trace.jaxpr, [True] * len(trace.jaxpr.outvars), instantiate=True)
    return ClosedJaxpr(jaxpr, trace.consts)


def program_size(function: Any, arguments: tuple[Any, ...]) -> tuple[int, int]:
    """Equations of a jitted function, and elements that it computes for arguments, where a loop of unknown length goes round 256 times."""
    return _program_size(function.trace(*arguments).jaxpr.jaxpr)


def equations(jaxpr: Jaxpr) -> int:
    """The equations of a trace and of those inside it."""
    return sum(1 + sum(map(equations, jaxprs_in_params(e.params))) for e in jaxpr.eqns)


def has_complex_values(jaxpr: Jaxpr) -> bool:
    """Whether a trace takes or makes complex numbers, which `jax.checkpoint` cannot keep for a derivative."""
    made = [v for e in jaxpr.eqns for v in e.outvars]
    if any(array_type(v).dtype.kind == "c" for v in (*jaxpr.invars, *made) if isinstance(v.aval, jax.core.ShapedArray)):
        return True
    return any(has_complex_values(inner) for e in jaxpr.eqns for inner in jaxprs_in_params(e.params))


def _program_size(jaxpr: Jaxpr) -> tuple[int, int]:
    equations = elements = 0
    for equation in jaxpr.eqns:
        inner = [_program_size(j) for j in jaxprs_in_params(equation.params)]
        rounds = 256 if equation.primitive.name == "while" else equation.params.get("length", 1)
        equations += 1 + sum(n for n, _ in inner)
        arrays = max(map(_size, (*equation.invars, *equation.outvars)), default=0)
        elements += max(rounds * sum(n for _, n in inner), arrays)
    return equations, elements


def _size(variable: Any) -> int:
    return math.prod(getattr(variable.aval, "shape", ()))


_COLLECTS_IN_C = sys.version_info < (3, 12)


class _Collector:
    """`waits`: the collector of garbage is to go on; where a handler ends a call before that, the next call sees to it."""

    waits = False


def array_type(variable: Atom) -> jax.core.ShapedArray:
    """Shape and dtype of the array that a variable of a trace stands for."""
    return cast(jax.core.ShapedArray, variable.aval)  # which is one for arrays


def row_major(x: jax.Array) -> jax.Array:
    """`x`, laid out with the last dimension innermost: what XLA's Fourier transforms on CPUs give, and fail where another is asked of them."""
    found: jax.Array = with_layout_constraint(x, Layout(tuple(range(x.ndim))))
    return found


def call_at_once(function: Any, arguments: tuple[Any, ...], results: list[Any]) -> bool:
    """Calls a jitted function, which leaves what it gives in `results`; false where it was not called, as JAX would run Python code for it.

    This is one call into C: no handler of a signal runs between its beginning, when arguments are donated, and its end, nor any other
    Python code. Before Python 3.12 the collector of garbage would, and call finalizers, so that it waits.
    """
    try:
        if _COLLECTS_IN_C:
            _Collector.waits |= gc.isenabled()
            gc.disable()
        _no_tracing(True)
        results.extend(itertools.starmap(function, (arguments,)))
    except RuntimeError as e:
        if "no_tracing" not in str(e):
            raise
        function._clear_cache()  # JAX would go on with Python code for such arguments
        return False
    finally:
        _no_tracing(False)
        if _Collector.waits:
            gc.enable()
            _Collector.waits = False
    return True


def work_apart(function: Callable[[], Any]) -> Work:
    """A function that runs Python code of JAX, for a helper thread: a handler of a signal that raises would spoil JAX's notes."""

    def call() -> Any:
        with x64():
            return function()

    return Work(call)


def apart(function: Callable[[], Any]) -> Any:
    """The result of a function, called in a helper thread where handlers of signals run in this one."""
    return work_apart(function).wait() if is_interruptible() else function()


def cost(function: Any, arguments: tuple[Any, ...]) -> tuple[int, float]:
    """Compiles a jitted function for arguments: the bytes that a call allocates beside them, and its floating-point operations, where
    every loop goes round once."""
    program = function.lower(*arguments).compile()
    memory, costs = program.memory_analysis(), program.cost_analysis() or {}
    needed = 0 if memory is None else memory.temp_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes
    return needed, costs.get("flops", 0.0)


def bytes_there(place: jax.Device | jax.sharding.Sharding | None) -> int:
    """The memory of a device, of one of those of a mesh, or of the default device."""
    device = place if isinstance(place, jax.Device) else next(iter(place.device_set)) if place is not None else jax.local_devices()[0]
    stats = device.memory_stats() or {}
    return stats.get("bytes_limit") or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def aligned_zeros(size: int, dtype: Any) -> NDArray:
    """A vector in memory that JAX takes over without a copy."""
    room = np.zeros(size * np.dtype(dtype).itemsize + _ALIGNMENT, np.uint8)
    start = -room.__array_interface__["data"][0] % _ALIGNMENT
    return room[start : room.size - _ALIGNMENT + start].view(dtype)


def shared_array(memory: NDArray, device: jax.Device | None) -> jax.Array:
    """An array on a CPU device in which a program sees what is written to `memory` (of `aligned_zeros`) while it runs."""
    found: jax.Array = jax.device_put(memory, device, may_alias=True)
    return found


def own_array(value: NDArray | jax.Array, place: jax.Device | jax.sharding.Sharding | None = None) -> jax.Array:
    """A device array that shares no memory with `value`, so that it may be donated."""
    found: jax.Array = jax.device_put(new_array(value), place, may_alias=False)
    return found


def is_at(array: jax.Array, place: jax.Device | jax.sharding.Sharding) -> bool:
    """Whether an array lies on a device, or is spread over a mesh as a sharding says."""
    if isinstance(place, jax.Device):
        return array.sharding.device_set == {place}
    return array.sharding.is_equivalent_to(place, array.ndim)


def are_arrays(values: tuple[Any, ...]) -> bool:
    """Whether all are arrays of JAX that lie somewhere (quicker than by `isinstance`)."""
    return set(map(type, values)) <= _ARRAY


def is_deleted(value: NDArray | jax.Array) -> bool:
    """Whether an array was donated."""
    return isinstance(value, jax.Array) and value.is_deleted()


def is_lost(value: NDArray | jax.Array) -> bool:
    """Whether the computation of an array has failed, or it was donated."""
    try:
        jax.block_until_ready(value)
    except RuntimeError:
        return True
    return False


def to_numpy(value: NDArray | jax.Array) -> NDArray:
    """A writable NumPy array that stays valid when the device buffer is donated."""
    return new_array(value)


def keep_freed_memory() -> None:
    """Lets the C library keep large freed blocks for the next ones, instead of giving each back to the system.

    Compiled CPU programs allocate their temporaries anew in every call; with glibc's defaults the page faults of those cost up
    to half of a step. Settings that the user gave (GLIBC_TUNABLES, MALLOC_...) are left alone, other C libraries too.
    """
    if sys.platform != "linux" or any(k == "GLIBC_TUNABLES" or k.startswith("MALLOC_") for k in os.environ):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in ((_M_MMAP_THRESHOLD, 1 << 30), (_M_TRIM_THRESHOLD, (1 << 31) - 1), (_M_ARENA_MAX, 1)):
            mallopt(parameter, value)


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
keep_freed_memory()
