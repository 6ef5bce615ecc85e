"""Seeds of operations that run at once: values of 1.15.5, and one program for all seeds."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_graph, eager_mode


@pytest.fixture(autouse=True)
def eagerly():
    with eager_mode():
        tf.set_random_seed(1)
        yield
        tf.set_random_seed(None)


def test_numbers_after_a_global_seed_are_those_of_1_15():
    found = [(tf.random_uniform([2]).numpy(), tf.random_uniform([], 0, 10, tf.int32).numpy()) for _ in range(3)]
    np.testing.assert_array_equal([n for _, n in found], [2, 8, 5])
    wanted = [[0.1651308536529541, 0.9014812707901001], [0.8292773962020874, 0.634227991104126], [0.7347819805145264, 0.1422126293182373]]
    np.testing.assert_array_equal([u for u, _ in found], np.float32(wanted))


def test_operations_with_the_same_seeds_go_on_with_one_sequence():
    found = [tf.random_uniform([n], seed=seed).numpy() for n, seed in ((2, 3), (1, 4), (2, 3), (1, 4))]
    order = tf.random_shuffle([1, 2, 3, 4, 5], seed=3).numpy()
    found.append(tf.random_uniform([3], seed=3).numpy())
    wanted = [0.7787855863571167, 0.8011977672576904, 0.3853874206542969, 0.24208664894104004, 0.8160603046417236, 0.7942407131195068]
    wanted += [0.6031507253646851, 0.06146085262298584, 0.7644399404525757]
    np.testing.assert_array_equal(np.concatenate(found), np.float32(wanted))
    np.testing.assert_array_equal(order, [3, 4, 5, 2, 1])


def test_other_seeds_need_no_other_program():
    def programs():
        return {id(p) for kind, of_kind in eager_graph().state.programs.items() if kind[0] == "RandomStandardNormal" for p in of_kind.values()}

    tf.random_normal([3])
    before = programs()
    for seed in (None, None, 5):
        tf.random_normal([3], seed=seed)
    assert before and programs() == before
