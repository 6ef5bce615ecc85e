"""Every example prints what TensorFlow 1.15.5 prints for it: the same text, and numbers to 1e-3.

The examples run in this process, each with a default graph, flags and arguments of its own, but for the one that starts processes;
`tests/oracle/record_examples.py` recorded the expected output with the same arguments.
"""

import runpy
import shlex
import sys
import tempfile
from pathlib import Path

import children
import numpy as np
import pytest
from programs import run_folder

import tfcompat as tf

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
COMMANDS = {line.split(".py")[0]: shlex.split(line) for line in (HERE / "commands.txt").read_text().splitlines()}
STARTS_PROCESSES = "parameter_server"
TOLERANCE = 1e-3


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Runs an example as `python script arguments...` does, and returns what it printed."""
    tf.install_as_tensorflow()
    flags = tf.app.flags.FLAGS
    before = set(flags)
    state = np.random.get_state()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def run_example(script, *arguments):
        monkeypatch.setattr(sys, "argv", [str(EXAMPLES / script), *arguments])
        flags.unparse_flags()
        capsys.readouterr()
        with tf.Graph().as_default():
            try:
                runpy.run_path(sys.argv[0], run_name="__main__")
            except SystemExit as end:
                assert not end.code
        return capsys.readouterr().out

    yield run_example
    np.random.set_state(state)
    tf.keras.backend.clear_session()
    for name in set(flags) - before:
        delattr(flags, name)
    flags.unparse_flags()


def agrees(name, printed):
    text, numbers = run_folder.parts(printed)
    expected_text, expected = run_folder.parts((HERE / "expected" / f"{name}.txt").read_text())
    assert text == expected_text
    np.testing.assert_allclose(numbers, expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {STARTS_PROCESSES}))
def test_example(name, run):
    agrees(name, run(*COMMANDS[name]))


def test_a_cluster_of_processes():
    script, *arguments = COMMANDS[STARTS_PROCESSES]
    done = children.python(*children.RUN, str(EXAMPLES / script), *arguments)
    assert done.returncode == 0, done.stderr
    agrees(STARTS_PROCESSES, done.stdout)


def test_optax_goes_on_from_its_checkpoint(run):
    """Runs only here: the training that goes on from the checkpoint ends where the one that never stopped does."""
    text, numbers = run_folder.parts(run("optax_optimizer.py", "--steps", "20"))
    assert text.startswith("step # loss # step # loss # step # loss # , from the checkpoint # all digits: loss #")
    first, uninterrupted, resumed, at_the_end = (numbers[i] for i in (1, 5, 6, 7))
    assert resumed == pytest.approx(uninterrupted, abs=1.5e-4)
    assert at_the_end < 0.9 * first


def test_a_flax_module_is_restored_by_jax(run):
    """Runs only here."""
    pytest.importorskip("flax")
    text, (in_graph, in_jax) = run_folder.parts("".join(line for line in run("flax_in_graph.py", "--steps", "40").splitlines(True) if "accuracy" in line))
    assert in_graph == in_jax > 0.8


def test_a_step_in_jax_on_four_devices_is_the_session_s(run):
    """Runs only here."""
    _, (_, first, first_of_session, _, last, last_of_session, devices, step, goes_on) = run_folder.parts(run("jax_loop.py", "--steps", "20"))
    assert first == pytest.approx(first_of_session, abs=2e-3) and last == pytest.approx(last_of_session, abs=2e-2)
    assert last < 0.5 * first and (devices, step, goes_on) == (4, 20, 20)


def test_every_example_is_run():
    """train_digits.py has its test in test_programs.py."""
    assert set(COMMANDS) == {path.stem for path in EXAMPLES.glob("*.py")} - {"train_digits", "optax_optimizer", "flax_in_graph", "jax_loop"}
