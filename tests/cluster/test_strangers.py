"""What graphs of other processes reach on a server that restricts them: every op type, and what clients feed, fetch and name."""

import sys

import pytest
from cluster import reach
from cluster.attack import Attack

import tfcompat as tf
from tfcompat._src.base.confinement import Confinement, confined, current
from tfcompat._src.interop.held import Held

_EVENTS = ("open", "os.", "sqlite3.connect", "socket.connect", "subprocess.Popen", "shutil.", "glob.glob")


class Watch:
    """Records what Python's audit events say of files: those whose path begins with a folder, while it is on."""

    def __init__(self):
        self.folder, self.events = None, []
        sys.addaudithook(self._note)

    def _note(self, event, arguments):
        if self.folder is not None and event.startswith(_EVENTS) and any(self.folder in str(argument) for argument in arguments[:2]):
            self.events.append((event, arguments))

    def __call__(self, folder):
        """The events so far; from now on those of this folder are recorded."""
        found, self.events, self.folder = self.events, [], folder
        return found


@pytest.fixture(scope="module")
def watch():
    """A hook cannot be removed: one for all tests."""
    return Watch()


@pytest.fixture
def folders(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir(), outside.mkdir()
    (outside / "secret").write_text("word 1\n")
    return inside, outside


def run_in_turn(build, argument):
    with tf.Graph().as_default(), tf.Session() as session:
        return [session.run(each) for each in build(argument)]


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", sorted(reach.FILES))
def test_an_op_of_files_uses_those_of_named_folders_only(name, folders, watch):
    inside, outside = folders
    before, path = contents(outside), str(outside / "secret")
    watch(str(outside))
    with confined(Confinement((str(inside),), "Ask.")), pytest.raises(tf.errors.PermissionDeniedError, match="refuses the file .*Ask"):
        run_in_turn(reach.FILES[name], path)
    assert not watch(None) and contents(outside) == before
    watch(str(outside))
    try:
        run_in_turn(reach.FILES[name], path)
    except tf.errors.PermissionDeniedError:
        raise
    except (tf.errors.OpError, ValueError):  # the file is none of its kind
        pass
    assert watch(None), "the run does not reach the file, so that it shows nothing"
    assert current() is None


@pytest.mark.parametrize("name", sorted(reach.PYTHON))
def test_an_op_of_python_calls_nothing(name, folders):
    called = []
    with tf.Graph().as_default():
        kept = tf.py_func(lambda: called.append(1), [], tf.int64)
        with confined(Confinement((), "Ask.")), pytest.raises(tf.errors.PermissionDeniedError, match="refuses Python functions"):
            run_in_turn(reach.PYTHON[name], kept.op.get_attr("token").decode())
    assert not called


@pytest.mark.parametrize("name", sorted(reach.ADDRESSES))
def test_an_op_connects_to_no_address(name):
    with confined(Confinement((), "Ask.")), pytest.raises(tf.errors.PermissionDeniedError, match="refuses connections to grpc://"):
        run_in_turn(reach.ADDRESSES[name], "localhost:1")


@pytest.mark.parametrize("name", sorted(reach.PROCESS))
def test_an_op_that_ends_the_process_is_refused(name):
    with confined(Confinement((), "Ask.")), pytest.raises(tf.errors.PermissionDeniedError, match="refuses the op Abort"):
        run_in_turn(reach.PROCESS[name], None)


def test_objects_of_python_by_token():
    held = Held("flax", "Make it again.")
    with tf.Graph().as_default():
        token = held.add(lambda: 1)
        assert held.get(token)() == 1
        with confined(Confinement((), "Ask.")), pytest.raises(tf.errors.PermissionDeniedError, match="refuses flax objects to graphs of other processes. Ask"):
            held.get(token)


def test_each_string_of_all_op_types_is_refused_or_has_its_reason():
    refused = {**reach.FILES, **reach.ADDRESSES, **reach.PYTHON, **reach.PROCESS}
    unknown = [
        f"{spec.name}: {name}" for spec in reach.all_ops() if spec.name not in refused for name in reach.strings(spec) if name not in reach.REASONS and name not in reach.OF_INTEROP
    ]
    assert not unknown, "Can these name a file, an address, a process or Python? Refuse the op types in a run, or say why not (reach.py)."
    calling = [spec.name for spec in reach.all_ops() if spec.effects.calls and spec.name not in reach.PYTHON]
    assert not calling
    used = {name for spec in reach.all_ops() if spec.name not in refused for name in reach.strings(spec)}
    assert not set(reach.REASONS) - used, "reasons that no op type needs"


def test_no_graph_of_another_process_reaches_outside(tmp_path):
    attack = Attack(tmp_path, 1)
    attack.run(40)
    assert not attack.found and attack.answered and attack.refused
