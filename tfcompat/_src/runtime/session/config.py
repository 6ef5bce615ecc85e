"""`tf.config`: settings of the process, which a Session without a ConfigProto of its own uses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices import devices as device_list


class PhysicalDevice(NamedTuple):
    """A CPU or an accelerator of this machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device that operations can be placed on."""

    name: str
    device_type: str


@export("config.experimental.VirtualDeviceConfiguration")
class VirtualDeviceConfiguration(NamedTuple):
    """One of the devices that a processor is split into.

    Args:
      memory_limit: must be None; accelerators, which have memory of their own, are not split.
    """

    memory_limit: float | None = None


D = TypeVar("D", PhysicalDevice, LogicalDevice)

# Names as in 1.15: of device policies, and of fields of RewriterConfig with the values of its enum Toggle (ON, OFF) or bools.
POLICIES = ("explicit", "warn", "silent", "silent_for_int32")
TOGGLES = (
    "layout_optimizer", "constant_folding", "shape_optimization", "remapping", "arithmetic_optimization", "dependency_optimization",
    "loop_optimization", "function_optimization", "debug_stripper", "scoped_allocator_optimization", "pin_to_host_optimization",
    "implementation_selector", "auto_mixed_precision",
)  # fmt: skip
SWITCHES = ("disable_model_pruning", "disable_meta_optimizer")
ON, OFF = 1, 2


class ProcessConfig:
    """The settings. Those of devices and threads are frozen once a Session or a list of logical devices has used them.

    Attributes:
      threads: numbers of threads, "inter" and "intra" op; 0 for the system's choice.
      chosen: the visible devices that the program has set, or None. growth: whether GPU memory is allocated as needed, by device.
      virtual: the virtual devices of a device. settled: whether settings are frozen.
    """

    def __init__(self) -> None:
        self.threads = {"inter": 0, "intra": 0}
        self.soft_device_placement = self.log_device_placement = False
        self.jit = False
        self.optimizer_options: dict[str, Any] = {}
        self.device_policy = "silent"
        self.synchronous = True
        self.chosen: list[PhysicalDevice] | None = None
        self.growth: dict[PhysicalDevice, bool] = {}
        self.virtual: dict[PhysicalDevice, list[VirtualDeviceConfiguration]] = {}
        self.settled = False

    @property
    def visible(self) -> list[PhysicalDevice]:
        """The devices that Sessions use: the chosen ones, by default all."""
        return physical_devices() if self.chosen is None else self.chosen

    @property
    def config(self) -> messages.ConfigProto:
        """The settings as a ConfigProto."""
        return self.proto()

    def change(self, message: str) -> None:
        """Call before a setting is changed: raises RuntimeError with this message if settings are frozen."""
        if self.settled:
            raise RuntimeError(message)

    def proto(self) -> messages.ConfigProto:
        """The settings as a ConfigProto."""
        config = messages.ConfigProto(
            allow_soft_placement=self.soft_device_placement,
            log_device_placement=self.log_device_placement,
            inter_op_parallelism_threads=self.threads["inter"],
            intra_op_parallelism_threads=self.threads["intra"],
        )
        # `visible_device_list` holds the numbers of physical devices; a Session numbers its devices from 0.
        cpus = [len(self.virtual.get(d, (d,))) for d in self.visible if d.device_type == "CPU"]
        seen = [d for d in self.visible if d.device_type != "CPU"]
        config.device_count["CPU"] = sum(cpus)
        config.device_count["GPU"] = sum(d.device_type == "GPU" for d in seen)
        config.gpu_options.visible_device_list = ",".join(d.name.rpartition(":")[2] for d in seen)
        config.gpu_options.allow_growth = any(self.growth.get(d) for d in seen)
        if self.jit:
            config.graph_options.optimizer_options.global_jit_level = messages.OptimizerOptions.ON_1
        rewrite = config.graph_options.rewrite_options
        for name, value in self.optimizer_options.items():
            setattr(rewrite, name, (ON if value else OFF) if name in TOGGLES else type(getattr(rewrite, name))(value))
        return config


def physical_devices() -> list[PhysicalDevice]:
    """The CPU, and the accelerators that JAX has or is expected to have when it starts."""
    devices = [PhysicalDevice("/physical_device:CPU:0", "CPU")]
    for kind in ("GPU", "TPU"):
        devices += [PhysicalDevice(f"/physical_device:{kind}:{i}", kind) for i in range(device_list.accelerator_count(kind))]
    return devices


def _of_type(devices: Iterable[D], device_type: str | None) -> list[D]:
    return [d for d in devices if device_type is None or d.device_type == device_type]


def process_config() -> ProcessConfig:
    """The settings of this process."""
    if not _CURRENT:
        _CURRENT.append(ProcessConfig())
    return _CURRENT[0]


_CURRENT: list[ProcessConfig] = []


def session_config() -> messages.ConfigProto:
    """The ConfigProto of a Session that was given none. Side effect: freezes the settings of devices and threads."""
    config = process_config()
    config.settled = True
    return config.proto()


def _known(device: object) -> PhysicalDevice:
    """`device`, if it is a device of this machine; else raises 1.15's ValueError."""
    if not isinstance(device, PhysicalDevice) or device not in physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")
    return device


# ---- devices ----


@export("config.experimental.list_physical_devices")
def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of this machine that the process can use.

    Args:
      device_type: "CPU", "GPU" or "TPU": only these.

    Returns:
      (name, device_type) tuples.
    """
    return _of_type(physical_devices(), device_type)


@export("config.experimental.list_logical_devices")
def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that a Session without a ConfigProto of its own has.

    Args:
      device_type: "CPU", "GPU" or "TPU": only these.

    Returns:
      (name, device_type) tuples.
    """
    return _of_type((LogicalDevice(d.name, d.kind) for d in device_list.session_devices(session_config())), device_type)


@export("config.experimental_list_devices", "contrib.eager.list_devices")
def list_devices() -> list[str]:
    """The names of the devices that a Session without a ConfigProto of its own has."""
    return [d.name for d in list_logical_devices()]


@export("config.experimental.get_visible_devices")
def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of the machine that Sessions use; `device_type`: only those of this type."""
    return _of_type(process_config().visible, device_type)


@export("config.experimental.set_visible_devices")
def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Sets the devices of the machine that Sessions use.

    Args:
      devices: a PhysicalDevice or a list of them.
      device_type: "CPU", "GPU" or "TPU": sets only those of this type; the setting for other types is unchanged.

    Raises:
      ValueError: a device does not exist, or is not of this type.
      RuntimeError: a Session has used the setting already.
    """
    chosen = list(devices) if isinstance(devices, (list, set)) else [devices]
    for device in chosen:
        if device_type is not None and _known(device).device_type != device_type:
            raise ValueError(f"Unrecognized device: {device!r}")
        _known(device)
    config = process_config()
    if device_type is not None:
        chosen = [d for d in config.visible if d.device_type != device_type] + chosen
    if chosen != config.visible:
        config.change("Visible devices cannot be modified after being initialized")
        config.chosen = chosen


@export("config.experimental.get_memory_growth")
def get_memory_growth(device: PhysicalDevice) -> bool:
    """Whether memory of a GPU is allocated as needed; raises ValueError or KeyError if `device` is not a GPU of this machine."""
    if _known(device).device_type != "GPU":
        raise KeyError(device)
    return process_config().growth.get(device, False)


@export("config.experimental.set_memory_growth")
def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Sets whether memory of a GPU is allocated as needed.

    Args:
      device: a PhysicalDevice of type "GPU".
      enable: bool.

    Raises:
      ValueError: `device` does not exist, is not a GPU, or is split into virtual devices.
      RuntimeError: a Session has used the setting already.
    """
    config = process_config()
    if _known(device) in config.virtual:
        raise ValueError("Cannot set memory growth on device when virtual devices configured")
    if device.device_type != "GPU":
        raise ValueError("Cannot set memory growth on non-GPU devices")
    if config.growth.get(device, False) != enable:
        config.change("Physical devices cannot be modified after being initialized")
        config.growth[device] = enable


@export("config.experimental.get_virtual_device_configuration")
def get_virtual_device_configuration(device: PhysicalDevice) -> list[VirtualDeviceConfiguration] | None:
    """The virtual devices that a device is split into, or None."""
    return process_config().virtual.get(_known(device))


@export("config.experimental.set_virtual_device_configuration")
def set_virtual_device_configuration(device: PhysicalDevice, virtual_devices: list[VirtualDeviceConfiguration]) -> None:
    """Splits the CPU into several devices.

    Args:
      device: a PhysicalDevice of type "CPU".
      virtual_devices: a list of VirtualDeviceConfiguration, without memory limits.

    Raises:
      ValueError: `device` does not exist, or a virtual device has a memory limit.
      RuntimeError: a Session has used the setting already.
      NotImplementedError: the device is an accelerator.
    """
    config = process_config()
    if _known(device).device_type != "CPU":
        raise NotImplementedError(
            "tfcompat cannot split an accelerator (tf.config.experimental.set_virtual_device_configuration); "
            "limit its memory with tf.GPUOptions(per_process_gpu_memory_fraction=...)"
        )
    if any(v.memory_limit is not None for v in virtual_devices):
        raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
    if config.virtual.get(device) != virtual_devices:
        config.change("Virtual devices cannot be modified after being initialized")
        config.virtual[device] = virtual_devices


@export("config.get_soft_device_placement")
def get_soft_device_placement() -> bool:
    """Whether an op is placed on another device if its own cannot run it."""
    return process_config().soft_device_placement


@export("config.set_soft_device_placement")
def set_soft_device_placement(enabled: bool) -> None:
    """Sets whether Sessions made from now on place an op on another device if its own cannot run it."""
    process_config().soft_device_placement = enabled


@export("debugging.get_log_device_placement")
def get_log_device_placement() -> bool:
    """Whether the device of each operation is printed."""
    return process_config().log_device_placement


@export("debugging.set_log_device_placement")
def set_log_device_placement(enabled: bool) -> None:
    """Sets whether the device of each operation is printed, by Sessions made from now on and in eager execution.

    Raises:
      RuntimeError: operations have run eagerly.
    """
    config, graph = process_config(), get_default_graph()
    if config.log_device_placement == enabled:
        return
    if graph.executes and graph.has_run:
        raise RuntimeError("Device placement logging must be set at program startup")
    config.log_device_placement = enabled


# ---- eager execution ----


@export("config.experimental.get_device_policy")
def get_device_policy() -> str:
    """What eager execution does with inputs on another device."""
    return process_config().device_policy


@export("config.experimental.set_device_policy")
def set_device_policy(device_policy: str | None) -> None:
    """Sets what eager execution does with inputs on another device: "explicit", "warn", "silent", "silent_for_int32" or None ("silent").

    Raises:
      ValueError: `device_policy` is none of these.
    """
    if device_policy is not None and device_policy not in POLICIES:
        raise ValueError(f"Not a valid device policy: {device_policy!r}")
    process_config().device_policy = device_policy or "silent"


@export("config.experimental.get_synchronous_execution")
def get_synchronous_execution() -> bool:
    """Whether eager execution waits until each op has finished."""
    return process_config().synchronous


@export("config.experimental.set_synchronous_execution")
def set_synchronous_execution(enable: bool) -> None:
    """Sets whether eager execution waits until each op has finished."""
    process_config().synchronous = enable


# ---- threads and the optimizer ----


@export("config.threading.get_inter_op_parallelism_threads")
def get_inter_op_parallelism_threads() -> int:
    """The number of threads that run independent ops; 0 for the system's choice."""
    return process_config().threads["inter"]


@export("config.threading.set_inter_op_parallelism_threads")
def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Sets the number of threads that run independent ops (0 for the system's choice); RuntimeError if a Session has used the setting."""
    _set_threads("inter", num_threads)


@export("config.threading.get_intra_op_parallelism_threads")
def get_intra_op_parallelism_threads() -> int:
    """The number of threads that run one op; 0 for the system's choice."""
    return process_config().threads["intra"]


@export("config.threading.set_intra_op_parallelism_threads")
def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Sets the number of threads that run one op (0 for the system's choice); RuntimeError if a Session has used the setting."""
    _set_threads("intra", num_threads)


def _set_threads(scope: str, number: int) -> None:
    """Sets the number of "inter" or "intra" op threads."""
    config = process_config()
    if config.threads[scope] != number:
        config.change(f"{scope.capitalize()} op parallelism cannot be modified after initialization.")
        config.threads[scope] = number


@export("config.optimizer.get_jit")
def get_optimizer_jit() -> bool:
    """Whether `global_jit_level` of 1.15 is on; tfcompat decides by itself what it compiles."""
    return process_config().jit


@export("config.optimizer.set_jit")
def set_optimizer_jit(enabled: bool) -> None:
    """Sets `global_jit_level` of the ConfigProto; tfcompat decides by itself what it compiles."""
    process_config().jit = enabled


@export("config.optimizer.get_experimental_options")
def get_optimizer_experimental_options() -> dict[str, Any]:
    """The options of the graph rewriter that are set, by their names in RewriterConfig."""
    options = process_config().optimizer_options
    # As in 1.15, switches are always listed, toggles only if they were set, and `min_graph_nodes` only if it is not 0.
    listed = {name: bool(options[name]) for name in TOGGLES if name in options}
    listed.update({name: bool(options.get(name, False)) for name in SWITCHES})
    return {**listed, "min_graph_nodes": int(options["min_graph_nodes"])} if options.get("min_graph_nodes") else listed


@export("config.optimizer.set_experimental_options")
def set_optimizer_experimental_options(options: dict[str, Any]) -> None:
    """Sets options of the graph rewriter, by their names in RewriterConfig: bools, and `min_graph_nodes` an int.

    They go into the ConfigProto of Sessions, and have no effect on the values that runs compute.
    """
    known = (*TOGGLES, *SWITCHES, "min_graph_nodes")
    process_config().optimizer_options.update({k: v for k, v in options.items() if k in known})


@export("config.experimental_connect_to_host")
def connect_to_remote_host(remote_host: object = None, job_name: str = "worker") -> None:
    """Connects eager execution to another process.

    Args:
      remote_host: addresses. job_name: of these.

    Raises:
      ValueError: no address is given. NotImplementedError: an address is given.
    """
    if not remote_host:
        raise ValueError("Must provide at least one remote_host")
    raise NotImplementedError(
        "tfcompat runs operations eagerly in this process only: tf.config.experimental_connect_to_host cannot connect to another; "
        "use a Session with a target."
    )


@export("config.experimental_connect_to_cluster")
def connect_to_cluster(cluster_spec_or_resolver: object, job_name: str = "localhost", task_index: int = 0, protocol: str | None = None) -> None:
    """Connects eager execution to a cluster.

    Args:
      cluster_spec_or_resolver: a ClusterSpec or ClusterResolver. job_name, task_index: this task. protocol: of the connection.

    Raises:
      ValueError: the first argument is neither. NotImplementedError: it is one.
    """
    if not hasattr(cluster_spec_or_resolver, "cluster_spec") and not hasattr(cluster_spec_or_resolver, "as_cluster_def"):
        raise ValueError("`cluster_spec_or_resolver` must be a `ClusterSpec` or a `ClusterResolver`.")
    raise NotImplementedError(
        "tfcompat runs operations eagerly in this process only: tf.config.experimental_connect_to_cluster cannot connect to a cluster; "
        "use a Session with a target."
    )
