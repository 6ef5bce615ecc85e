"""Damaged inputs of every kind: a value or an error of TensorFlow's, never a crash, a hang, much memory or an error from inside."""

from long_run import count

from generated import fuzz

COUNT = count(250, 20_000)
SEED = 7


def test_no_damaged_input_does_harm():
    worker = fuzz.Worker()
    wrong = []
    for given in fuzz.damaged(COUNT, SEED):
        found = worker.read(given)
        if fuzz.verdict(given.kind, found) in fuzz.WRONG:
            wrong.append((given.name, found))
    worker.close()
    assert not wrong
