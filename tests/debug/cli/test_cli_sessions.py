"""Debugged sessions on the command line: LocalCLIDebugWrapperSession and LocalCLIDebugHook.

`recorded/session.txt` is what TensorFlow 1.15.5 printed for `recorded/debugged.py` and `recorded/session_commands.txt`.
"""

import pathlib
import re

import children
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.debug import framework
from tfcompat._src.debug.cli.debugger_cli_common import CommandLineExit
from tfcompat._src.debug.local_cli_wrapper import LocalCLIDebugHook, LocalCLIDebugWrapperSession

RECORDED = pathlib.Path(__file__).parent / "recorded"
Action = framework.OnRunStartAction


def run(folder, program, commands):
    (folder / "program.py").write_text(program)
    return children.warm(*children.RUN, "program.py", cwd=folder, stdin=commands, HOME=str(folder), COLUMNS="80")


def without_times(text):
    """Times of dumps, and the width of their column, replaced."""
    return re.sub(r"t \(ms\) +Size", "t (ms) Size", re.sub(r"\[\d+\.\d{3}\] +", "[t] ", text))


def test_a_session_reads_as_that_of_tensorflow(tmp_path):
    done = run(tmp_path, (RECORDED / "debugged.py").read_text(), (RECORDED / "session_commands.txt").read_text())
    assert without_times(done.stdout) == without_times((RECORDED / "session.txt").read_text())
    assert done.returncode == 1
    assert done.stderr == "Note: user exited from debugger CLI: Calling sys.exit(1).\n"


@pytest.mark.parametrize("commands", ["", "run\n"], ids=["before a run", "after a run"])
def test_the_end_of_input_ends_the_program_without_an_error(tmp_path, commands):
    done = run(tmp_path, (RECORDED / "debugged.py").read_text(), commands)
    assert done.returncode == 0
    assert done.stderr == "Note: the input of the debugger CLI has ended: Calling sys.exit(0).\n"


def test_an_error_shows_its_node_and_is_the_result(tmp_path):
    done = run(tmp_path, (RECORDED / "debugged.py").read_text(), "run -t 5\nlt\nrun -n\n")
    screen = done.stdout.partition("run-end: run #5: 1 fetch (bad:0); 1 feed (x:0)\n")[2].split("\n")
    assert screen[1:11] == [
        "!!! An error occurred during the run !!!", "", "You may use the following commands to debug:",
        "  ni -a -d -t bad:", "    Inspect information about the failing op.",
        "  li -r bad:", "    List inputs to the failing op, recursively.",
        "  lt:", "    List all tensors dumped during the failing run() call.", "",
    ]  # fmt: skip
    assert "Input to reshape is a tensor with 6 values, but the requested shape has 9" in done.stdout
    assert done.stdout.endswith("tfdbg> InvalidArgumentError\nlast {'a': 0.0}\n")


def test_no_dump_is_left(tmp_path):
    program = (RECORDED / "debugged.py").read_text().replace('ui_type="readline"', f'ui_type="readline", dump_root="{tmp_path}/dump"')
    run(tmp_path, program, "run\nrun\nexit\n")
    assert not (tmp_path / "dump").exists()


# ---- runs that commands start, in this process ----


class Scripted(LocalCLIDebugWrapperSession):
    """A session whose user types the given commands; notes the runs after which it stops."""

    def __init__(self, commands, session, folder):
        super().__init__(session, dump_root=str(folder / "dump"))
        self.commands, self.stops, self.dumps = list(commands), [], []

    def _prep_cli_for_run_start(self):
        self.stops.append(("start", self._run_call_count))

    def _prep_debug_cli_for_run_end(self, debug_dump, tf_error, passed_filter, passed_filter_exclude_node_names):
        self.stops.append(("end", self._run_call_count))
        self.dumps.append([(datum.tensor_name, datum.get_tensor()) for datum in debug_dump.dumped_tensor_data])

    def _prep_profile_cli_for_run_end(self, py_graph, run_metadata):
        self.stops.append(("profiled", self._run_call_count))
        assert run_metadata.step_stats.dev_stats

    def _launch_cli(self):
        with pytest.raises(CommandLineExit) as left:
            self._run_handler(self.commands.pop(0).split()[1:])
        return left.value.exit_token


@pytest.fixture
def counter():
    """A graph with a variable n that a run of the operation adds to, and 1 / (4 - n)."""
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.Variable(0.0, name="n")
        inverse = tf.divide(1.0, 4.0 - tf.assign_add(n, 1.0, name="add"), name="inverse")
        session.run(n.initializer)
        yield session, inverse


@pytest.mark.parametrize("commands, runs, stops", [
    (["run", "run", "run"], 2, [("start", 1), ("end", 1), ("end", 2)]),
    (["run -n", "run -n"], 2, [("start", 1), ("start", 2)]),
    (["run -t 3", "run"], 3, [("start", 1), ("end", 3)]),
    (["run -f has_inf_or_nan", "run -n"], 5, [("start", 1), ("end", 4)]),
    (["run -f has_inf_or_nan -fenn inverse", "run"], 5, [("start", 1)]),
    (["run -p", "run -n"], 1, [("start", 1), ("profiled", 1)]),
])  # fmt: skip
def test_where_runs_stop(counter, tmp_path, commands, runs, stops):
    session, inverse = counter
    debugged = Scripted(commands, session, tmp_path)
    values = [debugged.run(inverse) for _ in range(runs)]
    assert debugged.stops == stops
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(values, 1.0 / (4.0 - np.arange(1.0, runs + 1, dtype=np.float32)))


def test_what_is_watched(counter, tmp_path):
    session, inverse = counter
    count = tf.reduce_sum(tf.shape(inverse), name="count")
    debugged = Scripted(["run --node_name_filter (add|inverse)$", "run --op_type_filter Assign.*", "run --tensor_dtype_filter int.*", "run"], session, tmp_path)
    for _ in range(3):
        debugged.run([inverse, count])
    assert [[name for name, _ in dump] for dump in debugged.dumps] == [["add:0", "inverse:0"], ["add:0"], ["Shape:0", "Const:0", "count:0"]]


def test_arguments_of_run_that_do_not_fit(counter, tmp_path):
    session, _ = counter
    debugged = Scripted([], session, tmp_path)
    assert debugged._run_handler(["-f", "nothing"]).lines == ['ERROR: tensor filter "nothing" does not exist.']
    with pytest.raises(ValueError, match="valid only if the --till_filter_pass"):
        debugged._run_handler(["-fenn", "a"])


def test_dump_roots_that_are_not_free(counter, tmp_path):
    session, _ = counter
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="dump_root path points to a non-empty directory"):
        LocalCLIDebugWrapperSession(session, dump_root=str(tmp_path))
    with pytest.raises(ValueError, match="dump_root path points to a file"):
        LocalCLIDebugWrapperSession(session, dump_root=str(tmp_path / "file"))


def test_the_hook_of_monitored_sessions_and_estimators(tmp_path):
    program = f"""
import tensorflow as tf
from tensorflow.python import debug as tf_debug
n = tf.train.get_or_create_global_step()
step = tf.assign_add(n, 1, name="step")
hook = tf_debug.LocalCLIDebugHook(ui_type="readline", dump_root={str(tmp_path / "dump")!r})
hook.add_tensor_filter("third", lambda datum, value: datum.node_name == "step" and value >= 3)
with tf.train.MonitoredSession(hooks=[hook]) as session:
    print([int(session.run(step)) for _ in range(4)])
"""
    done = run(tmp_path, program, "run -f third\npt step\nrun -n\n")
    assert done.returncode == 0, done.stderr
    assert "run-end: run #3: 1 fetch (step:0); 0 feeds" in done.stdout and "array(3)" in done.stdout
    assert done.stdout.endswith("[1, 2, 3, 4]\n")


def test_the_hook_of_other_threads_does_not_stop(counter, tmp_path):
    session, _ = counter
    hook = LocalCLIDebugHook(ui_type="readline", dump_root=str(tmp_path / "dump"), thread_name_filter="Other$")
    context = tf.train.SessionRunContext(tf.train.SessionRunArgs("inverse:0"), session)
    assert not hook.before_run(context).options.debug_options.debug_tensor_watch_opts
    assert hook.after_run(context, tf.train.SessionRunValues([0.5], None, None)) is None
