"""`python -m benchmarks.programs`: its list, its table, and one program run."""

import sys

import pytest

from benchmarks.programs import LIST, Program, ProgramError, listed, table, write_mnist
from tfcompat._src.contrib.learn import mnist


def test_a_line_is_a_repository_and_a_command() -> None:
    text = "# comment\n\nowner/name 'a folder/train.py' --steps 3  # why\nowner/other run.py\n"
    assert list(listed(text)) == [Program("owner/name", "a folder/train.py", ("--steps", "3")), Program("owner/other", "run.py")]


def test_the_list_names_each_program_once() -> None:
    programs = list(listed(LIST.read_text()))
    assert len(set(programs)) == len(programs) >= 60


def test_the_table_has_the_quickest_first_and_the_geometric_mean() -> None:
    rows = table({Program("o/a", "a.py"): (8.0, 4.0), Program("o/b", "b.py", ("-x",)): (1.0, 2.0)}).splitlines()
    assert rows[0] == "2 programs. Geometric mean of the ratios: **1.00**; the greatest is 2.00."
    assert rows[4:] == ["| o/b | b.py -x | 1.0 | 2.0 | 0.50 |", "| o/a | a.py | 8.0 | 4.0 | 2.00 |"]


def test_a_program_runs_in_its_folder_with_mnist_where_it_reads_it(tmp_path) -> None:
    source = tmp_path / "clones" / "o" / "a" / "part" / "train.py"
    source.parent.mkdir(parents=True)
    source.write_text(
        "import os, sys\n"
        "def read_data_sets(folder): return len(os.listdir(folder))\n"
        "assert (read_data_sets('MNIST_data/'), sys.argv[1:]) == (4, ['--steps', '3'])\n"
        "open('written', 'w').close()\n"
    )
    write_mnist(tmp_path / "mnist")
    program = Program("o/a", "part/train.py", ("--steps", "3"))
    assert program.seconds([sys.executable], tmp_path / "clones", tmp_path / "mnist") > 0
    assert not (source.parent / "written").exists()
    with pytest.raises(ProgramError, match="exit status 1: .*AssertionError"):
        Program("o/a", "part/train.py").seconds([sys.executable], tmp_path / "clones", tmp_path / "mnist")


def test_the_made_up_mnist_is_read_like_the_real_one(tmp_path) -> None:
    write_mnist(tmp_path)
    data = mnist.read_data_sets(str(tmp_path), one_hot=True)
    assert (data.train.images.shape, data.validation.num_examples, data.test.labels.shape) == ((55_000, 784), 5_000, (10_000, 10))
