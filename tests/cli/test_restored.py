"""What `tfcompat run` restores of other packages, of types of C and of NumPy's promotion; docs/restored.md has the table."""

import importlib.util
import re
from pathlib import Path

import children
import pytest

from tfcompat._src.base import promotion
from tfcompat._src.cli.legacy import packages, sources

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {path.stem.removeprefix("uses_"): path for path in (Path(__file__).parent / "restored_programs").glob("*.py")}


def run(*arguments, cwd):
    return children.warm(*children.RUN, *arguments, cwd=cwd, MPLBACKEND="Agg")


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - {"promotion"}))
def test_program(name, tmp_path):
    if name not in ("python", "numpy", "tensors") and importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    (tmp_path / "made.txt").write_text("a line\n")
    found = run(PROGRAMS[name], cwd=tmp_path)
    assert found.returncode == 0, found.stderr


@pytest.mark.skipif(not promotion.CAN_BE_OLD, reason="this NumPy has one rule of promotion")
def test_the_program_promotes_by_the_old_rule(tmp_path):
    assert run(PROGRAMS["promotion"], cwd=tmp_path).stdout.split() == ["float32"] * 5
    assert run("--strict", PROGRAMS["promotion"], cwd=tmp_path).stdout.split() == ["float64"] * 5


@pytest.mark.skipif(not promotion.CAN_BE_OLD, reason="this NumPy has one rule of promotion")
def test_runs_promote_by_the_rule_of_today(monkeypatch):
    monkeypatch.setattr(promotion.Program, "has_old_rule", True)
    from tfcompat._src.base import jax_compat

    before = promotion.swap("legacy")
    try:
        with jax_compat.x64():
            assert promotion.swap("weak") == "weak"
            with promotion.OfProgram():
                assert promotion.swap("legacy") == "legacy"
        assert promotion.swap("legacy") == "legacy"
    finally:
        promotion.swap(before)


def test_lines_of_rewritten_sources_stay(tmp_path):
    (tmp_path / "part.py").write_text("def f(x):\n    return (\n        1 // x, b''.tostring())\n")
    (tmp_path / "main.py").write_text("import part\npart.f(1) if 0 else None\n\npart.f(2)\n")
    wanted = children.python("main.py", cwd=tmp_path)
    found = run("main.py", cwd=tmp_path)
    lines = [re.findall(r", line (\d+), in (\S+)", text) for text in (found.stderr, wanted.stderr)]
    assert lines[0][: len(lines[1])] == lines[1] == [("4", "<module>"), ("3", "f")]
    assert found.stderr.splitlines()[-1] == wanted.stderr.splitlines()[-1]


def test_rewritten_code_is_not_kept_for_python(tmp_path):
    (tmp_path / "part.py").write_text("import numpy as np\nvalue = np.zeros(1, np.uint8).tostring()\n")
    assert run("-c", "import part; print(part.value)", cwd=tmp_path).stdout == "b'\\x00'\n"
    assert not list((tmp_path / "__pycache__").glob("part.*")) if (tmp_path / "__pycache__").exists() else True


def test_sources_without_such_a_word_are_left_alone():
    assert not sources.needs_rewriting(b"x.tobytes(); strip('U ')", "a.py")
    assert sources.needs_rewriting(b"x.tostring()", "a.py") and sources.needs_rewriting(b"open(a, 'rU')", "a.py")
    assert not sources.needs_rewriting(b"TypeVar('U')\ndef slice(self): return self.slice(1), my_slice(2)", "a.py")
    assert sources.needs_rewriting(b"slice(1)", "a.py") and sources.needs_rewriting(b"def slice(a): return [slice(a)]", "a.py")


def test_libraries_of_today_are_not_read(tmp_path):
    for name in ("older", "pyparsing"):
        (tmp_path / f"{name}.py").write_text("x.tostring()")
    assert sources.Finder().find_spec("older", [str(tmp_path)]) is not None
    assert sources.Finder().find_spec("pyparsing", [str(tmp_path)]) is None


def test_nothing_of_a_package_is_read_before_it_is_imported(tmp_path):
    program = "import sys, tensorflow; print([m for m in sys.modules if '.cli.legacy.of_' in m])"
    assert run("-c", program, cwd=tmp_path).stdout == "[]\n"


def test_no_module_of_numpy_is_imported_for_its_functions(tmp_path):
    program = "import sys, numpy as np; assert np.lib.pad is np.pad; print(sorted({'numpy.f2py', 'numpy.testing'} & set(sys.modules)))"
    assert children.python(*children.RUN, "-c", program, cwd=tmp_path).stdout == "[]\n"


def test_the_table_names_every_package():
    text = (ROOT / "docs" / "restored.md").read_text()
    for package in packages.PACKAGES:
        assert f"of_{package.strip('_').lower()}.py" in text or package == "mpl_toolkits"
