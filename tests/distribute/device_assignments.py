"""Assignments of replicas to meshes of TPU cores; imports under both Pythons."""

import itertools

import numpy as np

MESHES = (((2, 2, 2), 8), ((4, 4, 2), 8), ((3, 2, 2), 4), ((8, 8, 2), 8), ((1, 4, 2), 4))
SHAPES = (None, (1, 1, 2), (2, 2, 2), (2, 1, 1), (1, 2, 2))


def topology(tf, mesh, per_task):
    places = np.array(list(itertools.product(*map(range, mesh)))).reshape(-1, per_task, 3)
    return tf.contrib.tpu.Topology(mesh_shape=mesh, device_coordinates=places)


def assigned(tf, found, shape, stride, count):
    try:
        return tf.tpu.experimental.DeviceAssignment.build(found, shape, stride, count).core_assignment.tolist()
    except ValueError as e:
        return str(e)


def outcomes(tf):
    """The cores of each replica, or the error, by mesh, shape, stride and number of replicas."""
    found = {}
    for mesh, per_task in MESHES:
        cores = topology(tf, mesh, per_task)
        for shape, stride, count in itertools.product(SHAPES, (None, (1, 2, 1)), (0, 1, 2, 3, 4, 6, 8, 16)):
            found[repr((mesh, shape, stride, count))] = assigned(tf, cores, shape, stride, count)
    return found
