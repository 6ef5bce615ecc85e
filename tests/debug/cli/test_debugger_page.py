"""docs/debugger.md: its program stops at the run, the tensors and the value that stand there."""

import pathlib
import re

import children

PAGE = (pathlib.Path(__file__).parents[3] / "docs/debugger.md").read_text()


def without_times(text):
    return re.sub(r"(\[\d+\.\d+\]|t \(ms\)) *", "", text)


def test_the_program_of_the_page(tmp_path):
    program, shown = (re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[1] for kind in ("py", "text"))
    (tmp_path / "train.py").write_text(program)
    commands = [line.removeprefix("tfdbg> ") for line in shown.splitlines() if line.startswith("tfdbg> ")]
    done = children.warm(*children.RUN, "train.py", cwd=tmp_path, stdin="\n".join([*commands, "exit\n"]), HOME=str(tmp_path))
    screens = without_times(done.stdout.partition("tfdbg> run-end")[2])
    for line in shown.splitlines():
        if not line.startswith("tfdbg> "):
            assert without_times(line).removeprefix("run-end") in screens
    assert done.returncode == 1
