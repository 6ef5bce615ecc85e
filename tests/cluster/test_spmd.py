"""Collectives as programs over the devices of two processes, by gloo. Values are those of arithmetic."""

import contextlib

import pytest
from cluster import processes


@contextlib.contextmanager
def pair(way):
    addresses, (coordinator,) = processes.free_addresses(2), processes.free_addresses(1)
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(processes.Process("spmd", addresses, str(rank), way, **processes.together(rank, 2, coordinator)))
            for rank in range(2)
        ]  # fmt: skip


def test_sums_products_and_joined_arrays():
    with pair("values") as started:
        for rank, found in enumerate([process.end() for process in started]):
            (text,), reduced, half, rows, empty, none, one, order, unlike, small, columns, after = found
            assert text == "programs over 2 cpu devices, by gloo"
            kinds = ["float32", "float64", "int64", "int32"]
            assert reduced == [[[value, value], kind, [2, 10_000], True] for value in (5, 6) for kind in kinds]
            assert half == [[5]]
            assert rows == [[[0, 0], [1, 1], [1, 1]], "int64", [3, 2]]
            assert empty == [[[True, True]], "bool", [1, 2]] and none == [[], "float32", [0, 2]]
            assert one == [[1, 1, 1]]
            assert order == [[3 * i for i in range(40)]]
            for ((kind, message),), name in ((unlike, "unlike"), (small, "small"), (columns, "columns")):
                assert kind == "InvalidArgumentError" and message.startswith(f"The collective {name!r} has ") and f"process {rank} and" in message
            assert after == [[[2, 2], "float64", [10_000], True]]


def test_who_is_left_is_told_and_lives_on():
    with pair("dying") as (left, killed):
        assert left.line() == killed.line() == ["ready"]
        killed.kill()
        for _ in range(2):
            ((kind, message),) = left.line()
            assert kind == "UnavailableError" and "cannot be reached any more" in message
        assert left.line() == [2]


def test_the_first_process_waits_at_its_end_for_those_that_need_it():
    with pair("leaving") as (first, other):
        assert other.line() == ["ready"]
        other.say("go on")
        ((kind, message),) = other.line()
        assert kind == "UnavailableError" and "Process 0" in message
        assert other.end() == [[2]] and first.end() == []


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"TFCOMPAT_COLLECTIVES": "mpi"}, "ValueError: The environment variable TFCOMPAT_COLLECTIVES is 'mpi'; set it to one of lines, auto, jax."),
        ({"TFCOMPAT_COLLECTIVES": "jax"}, "TFCOMPAT_COORDINATOR is not set; start the program with `tfcompat launch --collectives jax`"),
        ({"TFCOMPAT_COORDINATOR": "localhost:1", "TFCOMPAT_PROCESS": "2/2"}, "ValueError: TFCOMPAT_PROCESS is '2/2'; with TFCOMPAT_COORDINATOR"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be(settings, text):
    found = processes.children.python(*processes.children.RUN, "-c", "", **settings)
    assert found.returncode == 1 and text in found.stderr


def test_who_joins_too_late_is_told():
    program = "import tfcompat as tf; from tfcompat._src.base import jax_processes as p; tf.Session().run(tf.constant(1) + 1); p.join()"
    found = processes.children.python("-c", program, TFCOMPAT_COORDINATOR="localhost:1", TFCOMPAT_PROCESS="0/2")
    assert found.returncode == 1 and "but JAX has already started in this one; run the program with `tfcompat run`" in found.stderr
