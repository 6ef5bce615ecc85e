"""Public programs, unchanged, as whole processes beside TensorFlow 1.15's: `python -m benchmarks.programs --clones FOLDER`.

`programs.txt` lists them: a repository of GitHub, the program's file in it and its arguments. Each is run in the folder that it is in, of a
copy of the repository (whose root can be imported from) that is made anew for each run, by `tfcompat run` and by TensorFlow 1.15 in turn; a run before the first one that
counts lets both keep what they keep. Programs that read MNIST get a made-up one in the folder that they name.
"""

from __future__ import annotations

import argparse
import gzip
import math
import os
import re
import shlex
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.report import BEGIN, END
from benchmarks.subjects import environment, last_lines

LIST = Path(__file__).with_name("programs.txt")
_MNIST_SIZES = {"train": 60_000, "t10k": 10_000}
_MNIST_FOLDER = re.compile(r"read_data_sets\(\s*['\"]([^'\"]+)")


@dataclass(frozen=True)
class Program:
    """A line of programs.txt."""

    repository: str
    path: str
    arguments: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return " ".join((self.path, *self.arguments))

    def seconds(self, command: list[str], clones: Path, mnist: Path) -> float:
        """What a run takes from its start to its end. Raises ProgramError where its exit status is not 0."""
        with tempfile.TemporaryDirectory() as scratch:
            source = Path(shutil.copytree(clones / self.repository, Path(scratch) / "copy", ignore=shutil.ignore_patterns(".git"))) / self.path
            for folder in _MNIST_FOLDER.findall(source.read_text(errors="replace")):
                shutil.copytree(mnist, source.parent / folder, dirs_exist_ok=True)
            ours = environment()
            importable = os.pathsep.join((ours["PYTHONPATH"], str(Path(scratch) / "copy")))
            start = time.perf_counter()
            done = subprocess.run(
                [*command, source.name, *self.arguments], cwd=source.parent, env={**ours, "MPLBACKEND": "Agg", "PYTHONPATH": importable},
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            took = time.perf_counter() - start
        if done.returncode:
            raise ProgramError(f"exit status {done.returncode}: {last_lines(done.stderr)}")
        return took


class ProgramError(Exception):
    """A program did not run to its end; the message ends with what it wrote to stderr."""


def listed(text: str) -> Iterator[Program]:
    """The programs of a list: lines of a repository and a command, with quotes as in a shell; `#` begins a comment."""
    for line in text.splitlines():
        if words := shlex.split(line, comments=True):
            repository, path, *arguments = words
            yield Program(repository, path, tuple(arguments))


def write_mnist(folder: Path) -> None:
    """Writes a made-up MNIST: ten mean images under noise, of a fixed seed."""
    random = np.random.RandomState(3)
    means = random.rand(10, 28 * 28)
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in _MNIST_SIZES.items():
        labels = random.randint(0, 10, count).astype(np.uint8)
        images = (127 * (means[labels] + random.rand(count, 28 * 28))).astype(np.uint8)
        with gzip.open(folder / f"{part}-images-idx3-ubyte.gz", "wb", 1) as file:
            file.write(struct.pack(">4I", 2051, count, 28, 28) + images.tobytes())
        with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz", "wb", 1) as file:
            file.write(struct.pack(">2I", 2049, count) + labels.tobytes())


def table(medians: dict[Program, tuple[float, float]]) -> str:
    """A row for each program, the quickest in units of TensorFlow first, and the ratios' geometric mean."""
    ratios = {program: ours / theirs for program, (ours, theirs) in medians.items()}
    mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
    rows = [
        f"{len(ratios)} programs. Geometric mean of the ratios: **{mean:.2f}**; the greatest is {max(ratios.values()):.2f}.", "",
        "| repository | program | tfcompat, s | TensorFlow 1.15, s | ratio |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for program, ratio in sorted(ratios.items(), key=lambda item: item[1]):
        ours, theirs = medians[program]
        rows.append(f"| {program.repository} | {program.name} | {ours:.1f} | {theirs:.1f} | {ratio:.2f} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only programs whose repository or path contains one of these")
    parser.add_argument("--clones", type=Path, required=True, help="the folder that has each repository as OWNER/NAME")
    parser.add_argument("--tf1-python", default=os.environ.get("TF1_PYTHON"), help="in place of TF1_PYTHON")
    parser.add_argument("--rounds", type=int, default=2, help="runs that count, of each program on each side")
    parser.add_argument("--markdown", type=Path, help="writes the table between the result markers of this file")
    options = parser.parse_args()
    if not options.tf1_python:
        parser.error("name TensorFlow 1.15's interpreter by --tf1-python or TF1_PYTHON")
    commands = ([sys.executable, "-m", "tfcompat", "run"], [options.tf1_python])
    medians = {}
    with tempfile.TemporaryDirectory() as scratch:
        write_mnist(mnist := Path(scratch))
        for program in listed(LIST.read_text()):
            if options.names and not any(name in f"{program.repository} {program.path}" for name in options.names):
                continue
            try:
                rounds = [[program.seconds(command, options.clones, mnist) for command in commands] for _ in range(options.rounds + 1)]
            except ProgramError as error:
                print(f"{program.repository} {program.name} is left out: {error}", flush=True)
                continue
            ours, theirs = map(statistics.median, zip(*rounds[1:]))
            medians[program] = ours, theirs
            print(f"{program.repository} {program.name}: {ours:.2f} s, {theirs:.2f} s, {ours / theirs:.2f}", flush=True)
    result = table(medians)
    print(result)
    if options.markdown:
        before, rest = options.markdown.read_text().split(BEGIN)
        options.markdown.write_text(f"{before}{BEGIN}\n{result}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
