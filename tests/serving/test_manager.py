"""Versions: what policies pick, the order of loading and unloading, failures, labels, and settings that contradict themselves."""

import json
import shutil
import threading

import pytest

from tfcompat._src.base import errors
from tfcompat._src.proto import messages
from tfcompat._src.serving import server_config
from tfcompat._src.serving.manager import Loading, Manager


class Fake:
    """A Servable that notes when it is loaded and closed."""

    def __init__(self, log, version):
        self.log, self.version = log, version
        log.append(("load", version))

    def close(self):
        self.log.append(("close", self.version))


@pytest.fixture
def base(tmp_path):
    return tmp_path / "models"


def add(base, *numbers):
    for number in numbers:
        (base / str(number)).mkdir(parents=True)


def config(base, policy="", labels={}, name="m"):
    found = server_config.of_one_model(name, str(base))
    model = found.model_config_list.config[0]
    if policy:
        server_config.text_format.Merge(policy, model.model_version_policy)
    model.version_labels.update(labels)
    return found


def spec(number=None, label=None):
    found = messages.serving.ModelSpec(name="m")
    if number is not None:
        found.version.value = number
    if label is not None:
        found.version_label = label
    return found


class Kit:
    """A manager that looks at the disk when it is told to, and what it did."""

    def __init__(self, **options):
        self.log, self.broken = [], set()
        self.manager = Manager(Loading(self.load, **{"poll_seconds": 0, "retries": 0, **options}))

    def load(self, name, version, path):
        if version in self.broken:
            raise OSError(f"version {version} is broken")
        return Fake(self.log, version)

    def states(self):
        return {v.version: v.state for v in self.manager.status(messages.serving.ModelSpec(name="m")).model_version_status}

    def latest(self):
        with self.manager.use(spec()) as servable:
            return servable.version


@pytest.fixture
def kit():
    kit = Kit()
    yield kit
    kit.manager.stop()


@pytest.mark.parametrize("policy, wanted", [
    ("", [12]), ("latest {}", [12]), ("latest { num_versions: 2 }", [3, 12]), ("all {}", [1, 3, 12]), ("specific { versions: 1 versions: 3 }", [1, 3]),
])  # fmt: skip
def test_policies(kit, base, policy, wanted):
    add(base, 1, 3, "00000012", "text", "7a")
    kit.manager.start(config(base, policy))
    assert sorted(kit.states()) == wanted and set(kit.states().values()) == {30}
    assert kit.latest() == max(wanted)


def test_a_new_version_is_loaded_before_the_old_is_unloaded(kit, base):
    add(base, 1)
    kit.manager.start(config(base))
    add(base, 2)
    kit.manager.poll()
    assert kit.log == [("load", 1), ("load", 2), ("close", 1)]
    assert kit.states() == {1: 50, 2: 30}


def test_a_version_stays_until_its_last_request_ends(kit, base):
    add(base, 1)
    kit.manager.start(config(base))
    with kit.manager.use(spec()) as old:
        add(base, 2)
        kit.manager.poll()
        assert kit.states() == {1: 40, 2: 30}
        assert kit.latest() == 2 and old.version == 1 and ("close", 1) not in kit.log
        with pytest.raises(errors.NotFoundError, match=r"Servable not found for request: Specific\(m, 1\)"):
            kit.manager.use(spec(1)).__enter__()
    kit.manager.poll()
    assert kit.states() == {1: 50, 2: 30} and kit.log[-1] == ("close", 1)


def test_a_version_that_cannot_be_loaded_leaves_the_old(kit, base):
    add(base, 1)
    kit.manager.start(config(base))
    kit.broken.add(2)
    add(base, 2)
    kit.manager.poll()
    assert kit.states() == {1: 30, 2: 50} and kit.latest() == 1
    failed = kit.manager.status(spec(2)).model_version_status[0].status
    assert "version 2 is broken" in failed.error_message and failed.error_code
    shutil.rmtree(base / "2")  # rolled back
    kit.manager.poll()
    assert kit.latest() == 1
    kit.broken.clear()
    add(base, 2)
    kit.manager.poll()
    assert kit.states() == {1: 50, 2: 30}


def test_loading_is_tried_again(base):
    kit = Kit(retries=2, retry_seconds=0)
    add(base, 1)
    tried = []
    load = kit.load

    def third_time(name, version, path):
        tried.append(version)
        kit.broken = {1} if len(tried) < 3 else set()
        return load(name, version, path)

    kit.manager = Manager(Loading(third_time, poll_seconds=0, retries=2, retry_seconds=0))
    kit.manager.start(config(base))
    assert tried == [1, 1, 1] and kit.latest() == 1
    kit.manager.stop()


def test_the_first_version_is_needed(kit, base):
    add(base, 1)
    kit.broken.add(1)
    with pytest.raises(errors.UnknownError, match=r"1 model\(s\) did not become available: \{\{name: m version: 1\} due to error: .*broken"):
        kit.manager.start(config(base))


def test_a_folder_that_is_not_there(kit, base):
    with pytest.raises(errors.NotFoundError, match="Could not find base path .*models for servable m"):
        kit.manager.start(config(base))


def test_an_empty_folder_is_waited_for(base):
    kit = Kit()
    base.mkdir()
    started = threading.Thread(target=kit.manager.start, args=[config(base)])
    started.start()
    add(base, 1)
    while started.is_alive():
        kit.manager.poll()
    started.join()
    assert kit.latest() == 1
    kit.manager.stop()


def test_a_version_whose_folder_goes_is_unloaded(kit, base):
    add(base, 1)
    kit.manager.start(config(base))
    shutil.rmtree(base / "1")
    kit.manager.poll()
    assert kit.states() == {1: 50}
    with pytest.raises(errors.NotFoundError, match=r"Servable not found for request: Latest\(m\)"):
        kit.latest()


def test_labels(kit, base):
    add(base, 1, 2)
    kit.manager.start(config(base, "all {}", {"stable": 1, "canary": 2}))
    for label, version in (("stable", 1), ("canary", 2)):
        with kit.manager.use(spec(label=label)) as servable:
            assert servable.version == version
    with pytest.raises(errors.FailedPreconditionError, match="Request to assign label to version 3 of model m, which is not currently available"):
        kit.manager.reload(config(base, "all {}", {"stable": 3}))
    kit.manager.reload(config(base, "all {}", {"stable": 2}))
    with kit.manager.use(spec(label="stable")) as servable:
        assert servable.version == 2
    with pytest.raises(errors.InvalidArgumentError, match="Unrecognized servable version label: canary"):
        kit.manager.use(spec(label="canary")).__enter__()


def test_labels_of_versions_that_are_not_available(base):
    kit = Kit(labels_of_unavailable=True)
    add(base, 1)
    kit.manager.start(config(base, "", {"next": 2}))
    with pytest.raises(errors.NotFoundError, match=r"Specific\(m, 2\)"):
        kit.manager.use(spec(label="next")).__enter__()
    kit.manager.stop()


def test_a_reload_serves_exactly_its_models(kit, base):
    add(base, 1, 2)
    kit.manager.start(config(base))
    kit.manager.reload(config(base, "specific { versions: 1 }"))
    assert kit.states() == {1: 30, 2: 50}
    kit.manager.reload(config(base, name="other"))
    kit.manager.poll()
    assert set(kit.states().values()) == {50}
    with pytest.raises(errors.NotFoundError):
        kit.latest()


def test_stop_waits_for_requests(base):
    kit = Kit()
    add(base, 1)
    kit.manager.start(config(base))
    with kit.manager.use(spec()):
        stopping = threading.Thread(target=kit.manager.stop)
        stopping.start()
        with kit.manager._changed:
            kit.manager._changed.wait_for(lambda: kit.manager._models["m"].versions[1].state == 40)
        assert ("close", 1) not in kit.log
    stopping.join()
    assert kit.log == [("load", 1), ("close", 1)]


def test_requests_during_changes_all_find_a_version(base):
    """200 changes while threads ask."""
    kit = Kit()
    add(base, 1)
    kit.manager.start(config(base))
    ending, counts, failures = threading.Event(), [0] * 4, []

    def ask(number):
        while not ending.is_set():
            try:
                with kit.manager.use(spec()) as servable:
                    if ("close", servable.version) in kit.log[-3:]:
                        failures.append(servable.version)
                counts[number] += 1
            except errors.OpError as e:
                failures.append(e)

    threads = [threading.Thread(target=ask, args=[number]) for number in range(len(counts))]
    for thread in threads:
        thread.start()
    for number in range(2, 202):
        add(base, number)
        kit.manager.poll()
    ending.set()
    for thread in threads:
        thread.join()
    kit.manager.stop()
    assert not failures and min(counts) > 0 and kit.log.count(("close", 200)) == 1


TWICE = 'config { name: "m" base_path: "/m" model_platform: "tensorflow" } '


@pytest.mark.parametrize("models, error, text", [
    (TWICE * 2, "InvalidArgument", "Illegal to list model m multiple times in config list"),
    ('config { name: "m" base_path: "m" model_platform: "tensorflow" }', "InvalidArgument",
     r"Expected model m to have an absolute path or URI; got base_path\(\)=m"),
    ('config { name: "m" base_path: "/m" }', "InvalidArgument", "Illegal setting neither ModelServerConfig::model_type"),
    ('config { name: "m" base_path: "/m" model_type: TENSORFLOW model_platform: "tensorflow" }', "InvalidArgument", "Illegal setting both"),
    ('config { name: "m" base_path: "/m" model_type: OTHER }', "InvalidArgument", "model_type choice 2 not supported"),
    ('config { name: "m" base_path: "/m" model_platform: "onnx" }', "InvalidArgument", "Model m requests unsupported platform onnx"),
    ('config { base_path: "/m" model_platform: "tensorflow" }', "InvalidArgument", "The model at /m has no name"),
    ('config { name: "m" base_path: "/m" model_platform: "tensorflow" model_version_policy { specific {} } }', "InvalidArgument", "lists no version"),
])  # fmt: skip
def test_configurations_that_are_refused(tmp_path, models, error, text):
    (tmp_path / "models").write_text("model_config_list { %s }" % models)
    found = server_config.read(str(tmp_path / "models"), messages.serving.ModelServerConfig)
    with pytest.raises(getattr(errors, error + "Error"), match=text):
        server_config.models_of(found)


def test_a_file_that_is_no_configuration(tmp_path):
    (tmp_path / "models").write_text(json.dumps({"model": 1}))
    with pytest.raises(errors.InvalidArgumentError, match="Invalid protobuf file"):
        server_config.read(str(tmp_path / "models"), messages.serving.ModelServerConfig)
