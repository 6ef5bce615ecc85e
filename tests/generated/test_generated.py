"""Generated programs of constants end in a value or in an error, never in the end of the process (`python -m generated.run_programs --help`)."""

import pickle

import tfcompat as tf
from generated.programs import Drawing
from generated.run_programs import run, write_bank

FAMILIES = ("array", "kernel_edges", "math_binary", "nn_conv", "reduction", "slicing")
PROGRAMS = 60


def test_programs_end_in_a_value_or_an_error(tmp_path):
    found = run(write_bank(tmp_path, FAMILIES), first=0, count=PROGRAMS, report=lambda line: None)
    counts = {word: len(entries) for word, entries in found.items()}
    assert sum(counts.values()) == PROGRAMS
    assert not {"abort", "hang", "internal"} & set(counts), [found[word] for word in ("abort", "hang", "internal")]
    assert counts["value"] > PROGRAMS / 4


def test_an_end_of_the_process_is_named(tmp_path):
    """A child that dies, or waits for ever, is seen by whoever started it, with the number of its program; the next one runs."""
    folder = tmp_path / "generated"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "program_worker.py").write_text(
        "import os, signal, sys, time\n"
        "first, count = map(int, sys.stdin.readline().split())\n"
        "for number in range(first, first + count):\n"
        "    print(number, flush=True)\n"
        "    if number == 2: os.kill(os.getpid(), signal.SIGFPE)\n"
        "    if number == 4: signal.pause()\n"
        "    print(number, 'value', 'Add', '', sep='\\t', flush=True)\n"
    )
    found = run("no bank", first=0, count=6, seconds=2, report=lambda line: None, folders=[str(tmp_path)])
    assert [number for number, *_ in found["value"]] == [0, 1, 3, 5]
    assert [(number, text.split(":")[0]) for number, _, text in found["abort"]] == [(2, "SIGFPE")]
    assert [number for number, *_ in found["hang"]] == [4]


def test_a_number_always_draws_the_same_program(tmp_path):
    with open(write_bank(tmp_path, ["math_binary"]), "rb") as file:
        bank = pickle.load(file)

    def steps(number):
        with tf.Graph().as_default():
            drawing = Drawing(bank, number)
            drawing.build()
            return drawing.steps

    assert steps(3) == steps(3)
    assert len({tuple(steps(n)) for n in range(20)}) > 15
