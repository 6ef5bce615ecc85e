"""Sums, joined and broadcast arrays of processes: here servers of one process, which send to each other over their ports."""

import threading

import numpy as np
import pytest
from cluster import processes

import tfcompat as tf
from tfcompat._src.cluster.exchange import Group, part_bounds
from tfcompat._src.cluster.peers import Peers
from tfcompat._src.horovod.collectives import _adasum
from tfcompat._src.runtime.devices.local_servers import LocalServer


@pytest.fixture
def groups(request):
    addresses = processes.free_addresses(request.param)
    tasks = {("worker", i): address for i, address in enumerate(addresses)}
    found = []
    for rank in range(request.param):
        server = LocalServer("worker", rank, tf.ConfigProto(), tasks)
        peers = Peers(f"test{id(request)}", rank, addresses)
        server.services.groups.add(peers)
        server.start()
        found.append(Group(peers))
    yield found
    closing = [threading.Thread(target=group.close) for group in found]
    for thread in closing:
        thread.start()
    for thread in closing:
        thread.join()


def results(pending):
    return [one.result() for one in pending]


@pytest.mark.parametrize("groups", [1, 2, 3], indirect=True)
@pytest.mark.parametrize("shape", [(), (3,), (0, 4), (100, 1001)])
def test_all_have_one_sum_and_one_product(groups, shape):
    arrays = [np.random.RandomState(i).randint(-3, 4, shape) for i in range(len(groups))]
    for merge, right in (("Add", np.sum(arrays, 0)), ("Mul", np.prod(arrays, 0))):
        for found in results([group.all_reduce(merge, array, merge) for group, array in zip(groups, arrays, strict=True)]):
            np.testing.assert_array_equal(found, right)
            assert found.shape == shape


@pytest.mark.parametrize("groups", [3], indirect=True)
@pytest.mark.parametrize("length", [100, 30_000])
def test_parts_are_summed_in_the_order_of_a_ring(groups, length):
    """Small arrays are summed in each process and parts of large ones in one: the bits are the same."""
    arrays = [np.random.RandomState(i).randn(length).astype(np.float32) for i in range(3)]
    bounds = part_bounds(length, 3, 4)
    right = [arrays[c][a:b] + arrays[(c + 1) % 3][a:b] + arrays[(c + 2) % 3][a:b] for c, (a, b) in enumerate(zip(bounds, bounds[1:], strict=False))]
    for found in results([group.all_reduce("x", array, "Add") for group, array in zip(groups, arrays, strict=True)]):
        np.testing.assert_array_equal(found, np.concatenate(right))


@pytest.mark.parametrize("groups", [3], indirect=True)
def test_arrays_are_joined_and_one_is_for_all(groups):
    for found in results([group.all_gather("x", np.full((rank, 2), rank)) for rank, group in enumerate(groups)]):
        np.testing.assert_array_equal(found, [[1, 1], [2, 2], [2, 2]])
    for found in results([group.broadcast("y", np.full(3, rank), 1) for rank, group in enumerate(groups)]):
        np.testing.assert_array_equal(found, [1, 1, 1])


@pytest.mark.parametrize("groups", [2], indirect=True)
def test_calls_may_be_made_in_any_order(groups):
    first, second = groups
    large = np.ones(100_000)
    begun = [first.all_reduce("a", large, "Add"), first.all_reduce("b", large, "Add"), second.all_reduce("b", large, "Add")]
    np.testing.assert_array_equal(begun[2].result(), 2 * large)
    assert not begun[0].is_done()
    np.testing.assert_array_equal(second.all_reduce("a", large, "Add").result(), 2 * large)
    np.testing.assert_array_equal(begun[0].result(), 2 * large)


@pytest.mark.parametrize("groups", [2], indirect=True)
def test_arrays_that_do_not_fit_are_named_on_both_sides(groups):
    for size in (3, 100_000):
        for one in [group.all_reduce(f"x{size}", np.zeros(size + rank), "Add") for rank, group in enumerate(groups)]:
            with pytest.raises(tf.errors.InvalidArgumentError, match=rf"'x{size}' has Add of float64\[\d+\] in process \d and Add of float64"):
                one.result()


@pytest.mark.parametrize("groups", [2], indirect=True)
def test_who_waits_for_one_that_leaves_is_told(groups):
    waiting = groups[0].all_reduce("y", np.zeros(3), "Add")
    groups[1].all_reduce("x", np.zeros(3), "Add")
    groups[1].close()
    with pytest.raises(tf.errors.UnavailableError, match="Process 1 .* cannot be reached any more"):
        waiting.result()


def test_adasum_adds_orthogonal_and_averages_parallel_arrays():
    """Maleki et al. 2020, equation 4."""
    np.testing.assert_allclose(_adasum([np.array([1.0, 0]), np.array([0, 2.0])]), [1, 2])
    np.testing.assert_allclose(_adasum([np.array([1.0, 1]), np.array([1.0, 1])]), [1, 1])
    np.testing.assert_allclose(_adasum([np.zeros(2), np.array([3.0, 1])]), [3, 1])
