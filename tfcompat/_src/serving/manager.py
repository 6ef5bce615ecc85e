"""The versions of all models: found on disk, loaded, used and unloaded.

A version is loaded before the version that it replaces is unloaded, and that is unloaded when its last request ends; where loading
fails, the version before it stays. One thread does all of this; requests only count themselves.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tfcompat._src.base import errors
from tfcompat._src.cluster import wire
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.serving import server_config
from tfcompat._src.serving.metrics import UNKNOWN
from tfcompat._src.serving.request_log import RequestLogs
from tfcompat._src.serving.servable import Servable

START, LOADING, AVAILABLE, UNLOADING, END = 10, 20, 30, 40, 50


class Loading(NamedTuple):
    """How versions are found and loaded.

    `load` makes a Servable of a model's name, version and folder. `poll_seconds`: between two looks at the disk; 0 for one look only.
    `retries`: how often a version that could not be loaded is tried again, `retry_seconds` later each.
    `labels_of_unavailable`: whether a label may name a version that is not AVAILABLE.
    """

    load: Callable[[str, int, str], Servable]
    poll_seconds: float = 1.0
    retries: int = 5
    retry_seconds: float = 60.0
    labels_of_unavailable: bool = False


def _timeout(deadline: float, forever: Any = -1) -> Any:
    """Seconds until a deadline, or `forever` for one that never comes."""
    return forever if deadline == math.inf else max(0.0, deadline - time.monotonic())


class Version:
    """One version of a model, and how it stands."""

    def __init__(self, number: int, path: str) -> None:
        self.number, self.path = number, path
        self.state = START
        self.error: tuple[int, str] = (0, "")
        self.is_wanted = True
        self.servable: Servable | None = None
        self.users = 0
        self.failures, self.retry_at = 0, 0.0


class Model:
    """A model: its ModelConfig and its versions by number."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.versions: dict[int, Version] = {}
        self.labels: dict[str, int] = {}

    def with_state(self, *states: int) -> list[Version]:
        """The versions in these states."""
        return [version for version in self.versions.values() if version.state in states]


class Manager:
    """Serves versions of models as a ModelServerConfig asks for them.

    Args:
      loading: how versions are found and loaded.

    `logs`: of the requests, as the configuration says. `start` loads what there is and begins to look for changes; `stop` ends that and unloads everything.
    """

    def __init__(self, loading: Loading) -> None:
        self._loading = loading
        self.logs = RequestLogs()
        self._models: dict[str, Model] = {}
        self._changed = threading.Condition()  # guards all states, and tells of their changes
        self._working = threading.RLock()  # held by whoever loads and unloads
        self._reloading, self._looking = threading.Lock(), threading.Lock()
        self._wake = threading.Event()
        self._is_stopping = False
        self._thread: threading.Thread | None = None

    # ---- what requests ask ----

    @contextlib.contextmanager
    def use(self, spec: object) -> Iterator[Servable]:
        """The Servable that a ModelSpec names, by default of the latest version; it stays loaded within the `with` statement.

        Raises:
          errors.InvalidArgumentError: the spec has no name, or a label that is not known. errors.NotFoundError: no such version is AVAILABLE.
        """
        with self._changed:
            version = self._available(spec)
            version.users += 1
        try:
            yield version.servable  # type: ignore[misc]  # AVAILABLE versions have one
        finally:
            with self._changed:
                version.users -= 1
                if version.state == UNLOADING and not version.users:
                    self._wake.set()

    def _available(self, spec: Any) -> Version:
        if not spec.name:
            raise errors.InvalidArgumentError(None, None, "ModelSpec has no name specified.")
        model = self._models.get(spec.name)
        number = self._number(model, spec)
        ready = {version.number: version for version in model.with_state(AVAILABLE)} if model else {}
        if number is None and ready:
            number = max(ready)
        if number not in ready:
            asked = f"Latest({spec.name})" if number is None else f"Specific({spec.name}, {number})"
            raise errors.NotFoundError(None, None, f"Servable not found for request: {asked}")
        return ready[number]

    def _number(self, model: Model | None, spec: Any) -> int | None:
        """The number of the version that a ModelSpec names, or None for the latest."""
        if spec.WhichOneof("version_choice") == "version":
            return spec.version.value
        if spec.WhichOneof("version_choice") == "version_label":
            if model is None or spec.version_label not in model.labels:
                raise errors.InvalidArgumentError(None, None, f"Unrecognized servable version label: {spec.version_label}")
            return model.labels[spec.version_label]
        return None

    def status(self, spec: Any) -> Any:
        """The GetModelStatusResponse with the states of a model's versions.

        Raises:
          errors.InvalidArgumentError: the label is not known. errors.NotFoundError: there is no such model or version.
        """
        reply = messages.serving.GetModelStatusResponse()
        with self._changed:
            model = self._models.get(spec.name)
            number = self._number(model, spec)
            found = sorted(model.versions.values(), key=lambda v: -v.number) if model else []
            if number is not None:
                found = [version for version in found if version.number == number]
                if not found:
                    raise errors.NotFoundError(None, None, f"Could not find version {number} of model {spec.name}")
            if not found:
                raise errors.NotFoundError(None, None, f"Could not find any versions of model {spec.name}")
            for version in found:
                code, text = version.error
                reply.model_version_status.add(version=version.number, state=version.state).status.CopyFrom(
                    messages.serving.StatusProto(error_code=code, error_message=text)
                )
        return reply

    def label(self, name: str) -> str:
        """The name of a model as a label of metrics, of which requests for models that the server has never had make none."""
        return name if name in self._models else UNKNOWN

    def names(self) -> list[str]:
        """The models that the configuration names, or of which there are versions yet."""
        with self._changed:
            models = self._models.items()
            return sorted(name for name, model in models if model.config is not None or model.with_state(AVAILABLE, UNLOADING))

    def described(self, name: str) -> tuple[list[Any], dict[str, Any]]:
        """The ModelVersionStatus of each version of a model, highest first, and the signatures of the latest AVAILABLE one."""
        spec, versions = messages.serving.ModelSpec(name=name), []
        try:
            versions = list(self.status(spec).model_version_status)
            with self.use(spec) as servable:
                return versions, dict(servable.signatures)
        except errors.NotFoundError:
            return versions, {}

    # ---- configuration ----

    def start(self, config: object) -> None:
        """Loads the models of a ModelServerConfig and begins to look for changes.

        Raises:
          errors.UnknownError: a model has versions, and none could be loaded. What `reload` raises.
        """
        self._thread = threading.Thread(target=self._follow, name="tfcompat-serving-manager", daemon=True)
        self._thread.start()
        self._serve(config, math.inf, waits_for_versions=True)

    def reload(self, config: object, seconds: float = 0) -> None:
        """Serves exactly the models of a ModelServerConfig; returns when each has an AVAILABLE version.

        Args:
          seconds: how long it may take at most; 0 for any time.

        Raises:
          errors.DeadlineExceededError: the time is over; loading goes on. errors.NotFoundError: a model has no versions.
          errors.InvalidArgumentError: the configuration contradicts itself. errors.NotFoundError: a base path does not exist, or there
          is no such collector of logs.
          errors.FailedPreconditionError: a label names a version that is not AVAILABLE. errors.UnknownError: no version of a model
          could be loaded. Of the models, what could be loaded is served.
        """
        self._serve(config, time.monotonic() + seconds if seconds else math.inf)

    def _serve(self, config: object, deadline: float, waits_for_versions: bool = False) -> None:
        with self._reload_before(deadline):
            configs = server_config.models_of(config)
            for model_config in configs.values():
                server_config.versions(model_config)  # raises where there is no such folder
            self.logs.update(configs)
            with self._changed:
                for name, model in self._models.items():
                    if name not in configs:
                        model.config = None
                for name, model_config in configs.items():
                    self._models.setdefault(name, Model(model_config)).config = model_config
            self._look_at_all()
            self._wake.set()
            self._wait_until_loaded(list(configs), deadline, waits_for_versions)
            self._assign_labels(configs)

    @contextlib.contextmanager
    def _reload_before(self, deadline: float) -> Iterator[None]:
        """A block that one caller at a time is in; DeadlineExceededError where others stay in it until the deadline."""
        if not self._reloading.acquire(timeout=_timeout(deadline)):
            raise errors.DeadlineExceededError(None, None, "Deadline Exceeded while another configuration was loaded")
        try:
            yield
        finally:
            self._reloading.release()

    def _wait_until_loaded(self, names: list[str], deadline: float, waits_for_versions: bool) -> None:
        """Waits until of each model all wanted versions are loaded, or have failed for good, and where asked to, until there are any."""
        with self._changed:
            absent = [name for name in names if not self._wanted(name)]
            settled = names if waits_for_versions else [name for name in names if name not in absent]
            if not self._changed.wait_for(lambda: self._is_stopping or all(map(self._is_settled, settled)), _timeout(deadline, None)):
                raise errors.DeadlineExceededError(None, None, "Deadline Exceeded while models were loaded")
            if absent and not waits_for_versions:
                raise errors.NotFoundError(None, None, f"Could not find any versions of model(s) {', '.join(absent)}; they are served when there are")
            failed = [
                (name, version) for name in names for version in self._models[name].with_state(END)
                if version.is_wanted and not self._models[name].with_state(AVAILABLE)
            ]  # fmt: skip
        if failed:
            listed = ", ".join(f"{{name: {name} version: {version.number}}} due to error: {version.error[1]}" for name, version in failed)
            raise errors.UnknownError(None, None, f"{len(failed)} model(s) did not become available: {{{listed}}}")

    def _wanted(self, name: str) -> list[Version]:
        return [version for version in self._models[name].versions.values() if version.is_wanted]

    def _is_settled(self, name: str) -> bool:
        wanted = self._wanted(name)
        return bool(wanted) and all(version.state in (AVAILABLE, END) for version in wanted)

    def _assign_labels(self, configs: dict[str, Any]) -> None:
        with self._changed:
            for name, config in configs.items():
                ready = {version.number for version in self._models[name].with_state(AVAILABLE)}
                for number in config.version_labels.values():
                    if number not in ready and not self._loading.labels_of_unavailable:
                        raise errors.FailedPreconditionError(
                            None, None,
                            f"Request to assign label to version {number} of model {name}, which is not currently available for inference",
                        )  # fmt: skip
                self._models[name].labels = dict(config.version_labels)

    # ---- loading and unloading ----

    def _follow(self) -> None:
        """Works until `stop`: at each look at the disk, and when something wakes it."""
        while not self._is_stopping:
            self._wake.clear()
            try:
                self.poll()
            except Exception:  # noqa: BLE001  (the next look may find the disk in order)
                logging.error("Looking for versions of models failed: %s", traceback.format_exc())
            self._wake.wait(self._pause())

    def _pause(self) -> float | None:
        """Seconds until there is something to do, or None."""
        with self._changed:
            retries = [v.retry_at for model in self._models.values() for v in model.with_state(LOADING) if v.failures]
        waits = [max(0.0, min(retries) - time.monotonic())] if retries else []
        waits += [self._loading.poll_seconds] if self._loading.poll_seconds else []
        return min(waits, default=None)

    def _look_at_all(self) -> None:
        """Looks at the disk once; what is new is loaded by the manager's thread."""
        for name, model in list(self._models.items()):
            self._look(name, model)

    def poll(self) -> None:
        """Looks at the disk once, loads what is new, and unloads what is not wanted and not used any more."""
        with self._working:
            for name, model in list(self._models.items()):
                self._look(name, model)
                for version in sorted(model.with_state(START, LOADING), key=lambda v: v.number):
                    if version.is_wanted and version.retry_at <= time.monotonic():
                        self._load(name, version)
                self._unload(model)

    def _look(self, name: str, model: Model) -> None:
        with self._looking:  # an older view of the disk must not replace a newer one
            self._compare(name, model)

    def _compare(self, name: str, model: Model) -> None:
        """Takes up what versions there are on the disk now."""
        try:
            wanted = server_config.versions(model.config) if model.config is not None else {}
        except errors.NotFoundError as e:
            logging.error("%s", e.message)
            return
        if not wanted and model.config is not None:
            logging.warning("No versions of servable %s found under base path %s", name, model.config.base_path)
        with self._changed:
            for version in model.versions.values():
                if version.number not in wanted:
                    version.is_wanted = False
                    if version.state in (START, LOADING):
                        version.state = END
                elif version.state == AVAILABLE:
                    version.is_wanted = True
            for number, path in wanted.items():
                known = model.versions.get(number)
                if known is None or (known.state == END and not known.is_wanted):
                    model.versions[number] = Version(number, path)
            self._changed.notify_all()

    def _load(self, name: str, version: Version) -> None:
        with self._changed:
            version.state = LOADING
        logging.info("Loading version %d of model %s from %s", version.number, name, version.path)
        try:
            servable = self._loading.load(name, version.number, version.path)
        except Exception as e:  # noqa: BLE001  (whatever a SavedModel raises is the status of its version)
            with self._changed:
                version.failures += 1
                version.error = wire.status_of(e)
                version.retry_at = time.monotonic() + self._loading.retry_seconds
                if version.failures > self._loading.retries:
                    version.state = END
                self._changed.notify_all()
            logging.error("Version %d of model %s could not be loaded: %s", version.number, name, version.error[1])
            return
        with self._changed:
            version.servable, version.state, version.error = servable, AVAILABLE, (0, "")
            self._changed.notify_all()
        logging.info("Version %d of model %s is available", version.number, name)

    def _unload(self, model: Model) -> None:
        """Unloads what is not wanted, unless versions are wanted of which none is AVAILABLE yet."""
        with self._changed:
            ready = model.with_state(AVAILABLE)
            is_wanted = any(version.is_wanted for version in model.versions.values())
            if not is_wanted or any(version.is_wanted for version in ready):
                for version in ready:
                    if not version.is_wanted:
                        version.state = UNLOADING
            unused = [version for version in model.with_state(UNLOADING) if not version.users]
            servables = [version.servable for version in unused]
            for version in unused:
                version.servable = None
        for servable in servables:
            if servable is not None:
                servable.close()
        with self._changed:
            for version in unused:
                version.state = END
            self._changed.notify_all()

    def stop(self, seconds: float = math.inf) -> None:
        """Takes no more requests, waits for the end of those under way, and unloads everything; after `seconds` it leaves what is in use."""
        deadline = time.monotonic() + seconds
        with self._changed:
            self._is_stopping = True
            for model in self._models.values():
                model.config = None
            self._changed.notify_all()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(None if seconds == math.inf else seconds)
        while time.monotonic() < deadline and not (self._thread is not None and self._thread.is_alive()):
            self._wake.clear()
            self.poll()
            with self._changed:
                if not any(model.with_state(AVAILABLE, UNLOADING) for model in self._models.values()):
                    break
            self._wake.wait(_timeout(deadline, None))
        self.logs.close()
