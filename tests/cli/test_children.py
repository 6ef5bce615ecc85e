"""Processes that a program under `tfcompat run` starts have `tensorflow` and the restored names too, as with TensorFlow 1.15.5."""

import shutil
import venv
from pathlib import Path

import children
import pytest

PROGRAMS = Path(__file__).parent / "child_programs"
POOL = "[(1.0, 'i'), (4.0, 'i')]\n[(9.0, 'i')]\n0\n"
OF_TENSORFLOW = {
    ("pool.py", "spawn"): POOL,
    ("pool.py", "forkserver"): POOL,
    ("pool.py", "fork"): POOL,
    ("executor.py", "spawn"): "[2.0, 3.0, 4.0]\n",
    ("executor.py", "fork"): "[2.0, 3.0, 4.0]\n",
    ("forked.py",): "6\n0.0 27000000.0\n6\n3.0 27000000.0\n",
    ("loaders.py",): "27000000.0\n[0.0, 0.0, 1.0, 5.0, 14.0] [0.0, 0.0, 1.0, 5.0, 14.0]\n"
    "[(0, 0.0), (1, 0.0), (2, 1.0), (3, 5.0), (4, 14.0), (5, 30.0)]\n27000000.0\n0\n0\n",
    ("subprocesses.py", "as_it_is"): "__main__ ['a'] 4.0 i\nConst:0 <class 'float'>\n__main__ ['b'] 4.0 i\n__main__ ['c'] 4.0 i\n",
    ("subprocesses.py", "with_other_environments"): "__main__ ['d'] 4.0 i\n__main__ ['e'] 4.0 i\nworker [] 3.0 i\n__main__ ['f'] 4.0 i\n0\n",
    ("subprocesses.py", "of_processes"): "__main__ ['g'] 4.0 i\nother [] 3.0 i\n",
    ("subprocesses.py", "again"): "first\n['again', 'second'] Const:0\n",
}
"""What the programs print with Python 3.7 and TensorFlow 1.15.5, standard output not being a terminal."""


def run(*arguments, cwd=None, **settings):
    return children.python(*children.RUN, *arguments, cwd=cwd, PYTHONUNBUFFERED="1", **settings)


@pytest.mark.parametrize("arguments", OF_TENSORFLOW, ids=" ".join)
def test_processes_run_as_with_tensorflow(arguments):
    done = run(PROGRAMS / arguments[0], *arguments[1:])
    assert (done.returncode, done.stdout) == (0, OF_TENSORFLOW[arguments]), done.stderr[-3000:]
    assert "os.fork" not in done.stderr and "multi-threaded" not in done.stderr


def test_joblib_processes():
    pytest.importorskip("joblib")
    code = """
import joblib
def work(x):
    import numpy as np
    import tensorflow as tf
    return tf.constant(1).name, np.array([x], np.float).tolist()
print(joblib.Parallel(2)(joblib.delayed(work)(i) for i in range(2)))
"""
    done = run("-c", code)
    assert done.stdout == "[('Const:0', [0.0]), ('Const:0', [1.0])]\n", done.stderr[-3000:]


def test_strict_restores_nothing_in_processes():
    code = """
import subprocess, sys
print(subprocess.run([sys.executable, "-c", "import tensorflow, numpy; print(hasattr(numpy, 'int'), tensorflow.__name__)"],
                     stdout=subprocess.PIPE).stdout)
"""
    assert run("--strict", "-c", code).stdout == "b'False tfcompat\\n'\n"
    assert run("-c", code).stdout == "b'True tfcompat\\n'\n"


def test_processes_do_without_the_library_until_they_ask_for_it():
    code = "import subprocess, sys; subprocess.check_call([sys.executable, '-c', 'import sys; print(\"jax\" in sys.modules, sys.path[0])'])"
    done = run("-c", code)
    assert done.stdout == "False \n", done.stderr


def test_other_environments_stay_as_they_are(tmp_path):
    venv.create(tmp_path / "other", symlinks=True)
    python = tmp_path / "other" / "bin" / "python"
    probe = "import sys; print([m for m in sys.modules if 'tfcompat' in m or 'inherit' in m], [p for p in sys.path if 'children' in p])"
    probe += "; import tensorflow"
    done = run("-c", f"import subprocess; print(subprocess.run([{str(python)!r}, '-c', {probe!r}], stdout=-1, env={{}}).stdout)")
    assert done.stdout == "b'[] []\\n'\n"
    assert "No module named 'tensorflow'" in done.stderr


def test_other_sitecustomize_runs_too(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.customized = __name__\n")
    code = "import subprocess, sys; subprocess.check_call([sys.executable, '-c', 'import sys; print(sys.customized)'])"
    assert run("-c", code, PYTHONPATH=str(tmp_path)).stdout == "sitecustomize\n"


def test_run_inside_run(tmp_path):
    shutil.copy(PROGRAMS / "worker.py", tmp_path)
    code = "import subprocess, sys; subprocess.check_call([sys.executable, '-m', 'tfcompat', 'run', 'worker.py'])"
    done = run("-c", code, cwd=tmp_path)
    assert done.stdout == "__main__ [] 3.0 i\n", done.stderr


def test_a_process_forked_after_a_run_says_why_it_cannot_run():
    """With TensorFlow 1.15.5 it waits for ever."""
    code = """
import os
import tensorflow as tf
x = tf.placeholder(tf.float32, [None])
session = tf.Session()
session.run(tf.reduce_sum(x), {x: [1.0]})
child = os.fork()
if child == 0:
    session.run(tf.reduce_sum(x), {x: [1.0, 2.0]})
else:
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), session.run(tf.reduce_sum(x), {x: [1.0]}))
"""
    done = run("-c", code)
    assert done.stdout == "1 1.0\n"
    assert "RuntimeError: This process was forked from one that had run operations." in done.stderr
