"""The op of RemoteCall nodes whose device is computed in the run: it calls the function on that device."""

from __future__ import annotations

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.functions import HostFunction
from tfcompat._src.data.values import NO_GRADIENT, Scope
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, WAITING, op
from tfcompat._src.ops.queues.resource import invalid
from tfcompat._src.runtime.state.run_context import context_of


@op(
    "RemoteCallAtRun", "(target: string, args: Tin, *, Tin: list(type) >= 1, Tout: list(type) >= 1, f: func) -> (output: Tout)",
    shape=si.unknown, gradient=NO_GRADIENT, side=HOST, effects=WAITING, context=True,
)  # fmt: skip
def _called(context: HostContext, target: NDArray, args: list[object]) -> tuple[object, ...]:
    """Calls a node's function on the device that `target` names; what the name leaves out is that of the node's own device."""
    run, text = context_of(context), target.item().decode()
    try:
        wanted = DeviceSpec.from_string(text)
    except ValueError:
        raise invalid(f"Could not parse {text} into a device specification.") from None
    device = str(DeviceSpec.from_string(run.host_device_of(context.op)).make_merged_spec(wanted).to_string())
    if all(d.name != device for d in run.devices):
        if run.remote_calls is not None:
            return tuple(run.remote_calls.call(context.op, device, args))
        raise errors.InternalError(None, None, f"Currently don't support instantiating functions on device: {device}")
    scope = Scope(run)
    try:
        return HostFunction(context, "f", args, 1, device=device).bound(scope, run.random_state)()
    finally:
        scope.end()
