"""Programs that TensorFlow 1.15 ran are replayed: in order, again, and in another order (tests/oracle/record_records.py has recorded them)."""

import pathlib

import pytest

from tfcompat._src.replay.differences import DIFFERS, EQUAL, NOISE
from tfcompat._src.replay.record import Record
from tfcompat._src.replay.replay import Replay
from tfcompat._src.replay.settle import settle

RECORDS = sorted((pathlib.Path(__file__).parents[1] / "golden/records").glob("*.zip"))
PROGRAMS = pathlib.Path(__file__).parent / "programs"


def test_every_program_has_a_record():
    assert {p.stem for p in PROGRAMS.glob("*.py")} == {p.stem.removesuffix("_python2") for p in RECORDS}


@pytest.mark.parametrize("engine", ["compile", "interpret"])
@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_runs_agree(path, engine, monkeypatch):
    monkeypatch.setattr("tfcompat._src.runtime.engines.choice.ENGINE", engine)
    replay = Replay(Record(str(path)))
    verdicts = replay.in_order() + replay.again() + replay.shuffled()
    for verdict in verdicts:
        if verdict.verdict == DIFFERS:
            settle(replay, verdict)
    replay.close()
    assert not [(v.run.title, v.pass_, v.why, list(map(str, v.differences))) for v in verdicts if v.verdict == DIFFERS]
    compared = {v.run.order for v in verdicts if v.verdict in (EQUAL, NOISE)}
    left_out = [v.why for v in verdicts if v.run.order not in compared]
    assert all("ended it there with OutOfRangeError" in why for why in left_out) and len(compared) >= 3


def replayed(name):
    replay = Replay(Record(str(next(p for p in RECORDS if p.stem == name))))
    return replay, replay.in_order()


def test_random_numbers_are_drawn_from_their_seeds():
    replay, verdicts = replayed("linear")
    (replica,) = replay.replicas
    assert {name for run in replica.runs for name in run.random} == {
        "dense/kernel/Initializer/random_uniform/RandomUniform:0", "dense_1/kernel/Initializer/random_uniform/RandomUniform:0", "dropout/random_uniform/RandomUniform:0",
    }  # fmt: skip
    assert all(replica.is_known(run, name.partition(":")[0]) for run in replica.runs for name in run.random)
    assert not any(name in replica.feeds(run) for run in replica.runs for name in run.random)
    first = replica.runs[0]
    assert verdicts[0].verdict == EQUAL and set(first.after) == {d.name for d in verdicts[0].differences}


def test_random_numbers_without_a_seed_come_from_the_record():
    replay, verdicts = replayed("callables")
    drawing = [run for run in replay.record.runs if run.random]
    assert len(drawing) == 4 and {v.verdict for v in verdicts} == {EQUAL}
    for run in drawing:
        (name,) = run.random
        assert replay.replica_of[run.order].feeds(run)[name] is run.random[name].array or (replay.replica_of[run.order].feeds(run)[name] == run.random[name].array).all()


def test_a_race_of_the_recorded_program_is_said_to_be_one():
    """1.15 computed `w * x` from the updated w, as nothing orders the two: 7.5 where 8.0 comes of the w before the run."""
    replay, verdicts = replayed("cond")
    run = replay.record.runs[1]
    assert float(run.fetches["cond/Merge:0"].array) == 7.5 and verdicts[1].verdict == DIFFERS
    assert settle(replay, verdicts[1]) is None and verdicts[1].verdict == EQUAL
    (loss,) = [d for d in verdicts[1].differences if d.name == "cond/Merge:0"]
    assert "the graph does not order" in loss.why


def test_a_run_that_failed_fails_alike():
    _, verdicts = replayed("monitored")
    (failed,) = [v for v in verdicts if v.run.error is not None]
    assert failed.run.error.kind == "InvalidArgumentError" and failed.verdict == EQUAL
    assert [d.name for d in failed.differences] == ["the error"]


def test_rounding_that_adam_amplifies_is_no_difference():
    """The bias before a batch normalization has a gradient of rounding errors, which Adam divides by their size."""
    replay, verdicts = replayed("keras_model")
    differing = [v for v in verdicts if v.verdict == DIFFERS]
    assert differing, "the record no longer has such a run"
    for verdict in differing:
        assert settle(replay, verdict).is_noise and verdict.verdict == NOISE


def test_a_record_without_inner_tensors_tells_rounding_by_shaking_the_run():
    replay, verdicts = replayed("keras_model")
    verdict = next(v for v in verdicts if v.verdict == DIFFERS)
    object.__setattr__(verdict.run, "between", {})
    assert settle(replay, verdict) is None and verdict.verdict == NOISE
    assert any("a rounding error of what the run is given" in d.why for d in verdict.differences)
