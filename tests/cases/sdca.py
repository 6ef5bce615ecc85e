"""Dual coordinate ascent: steps of examples without common features, so that their order does not matter; fingerprints."""

import numpy as np

from cases.table import Table

TABLE = Table("sdca")
case, error_case = TABLE.case, TABLE.error_case

FEATURES = dict(
    sparse_example_indices=[np.array([0, 0, 1, 2])], sparse_feature_indices=[np.array([10, 20, 30, 40])],
    sparse_feature_values=[np.array([1.0, -2.0, 0.5, 3.0], np.float32)],
    dense_features=[np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, -1]], np.float32)],
    sparse_indices=[np.array([40, 10, 20, 30])], sparse_weights=[np.array([0.5, -0.3, 0.05, 0.2], np.float32)],
    dense_weights=[np.array([0.4, -0.1, 0.9], np.float32)],
)  # fmt: skip


def step(tf, loss, labels, duals=(0, 0, 0), l1=0.1, partitions=1, adaptative=False, **changed):
    state = np.zeros([3, 4], np.float32)
    state[:, 0] = duals
    options = dict(FEATURES, example_weights=np.array([1.0, 2.0, 0.5], np.float32), example_labels=np.array(labels, np.float32))
    options.update(example_state_data=state, loss_type=loss, l1=l1, l2=0.5, num_loss_partitions=partitions, num_inner_iterations=1)
    options.update(changed)
    found = tf.train.sdca_optimizer(adaptative=adaptative, **options)
    return [found[0], list(found[1]), list(found[2])]


LOSSES = dict(
    logistic_loss=((0, 1, 1), (0, 0.3, 0.5)), squared_loss=((2.0, -1, 0.5), (0, 0.3, -0.5)), hinge_loss=((0, 1, 1), (0, 0.3, 0.5)),
    smooth_hinge_loss=((0, 1, 1), (-0.2, 0.3, 0.5)), poisson_loss=((0, 1, 3), (-0.5, 0.3, 0.5)),
)  # fmt: skip
for _loss, (_labels, _duals) in sorted(LOSSES.items()):
    case(_loss, lambda tf, a=_loss, b=_labels, c=_duals: step(tf, a, b, c), grad=False)
    case(_loss + "_parts", lambda tf, a=_loss, b=_labels, c=_duals: step(tf, a, b, c, l1=0.0, partitions=3), grad=False)
    case(_loss + "_impossible", lambda tf, a=_loss, b=_labels: step(tf, a, b, (5.0, -4.0, 6.0)), grad=False)
case("ones", lambda tf: step(tf, "squared_loss", (1.0, 2, 3), sparse_feature_values=[]), grad=False)
NONE = dict((key, []) for key in FEATURES)
SPARSE = dict(dense_features=[], dense_weights=[])
case("sparse", lambda tf: step(tf, "squared_loss", (1.0, 2, 3), **SPARSE), grad=False)
for _name, _changed in (
    ("unknown", dict(sparse_feature_indices=[np.array([10, 20, 30, 41])])), ("twice", dict(sparse_feature_indices=[np.array([10, 10, 30, 40])])),
    ("few_weights", dict(dense_weights=[np.array([0.4, 0.1], np.float32)])), ("state", dict(example_state_data=np.zeros([2, 4], np.float32))),
    ("nothing", NONE), ("label", dict(example_labels=np.array([2.0, 1, 1], np.float32))), ("loss", dict(loss_type="nope")),
):  # fmt: skip
    error_case(_name, lambda tf, c=_changed: step(tf, "logistic_loss", (1, 1, 1), **c))
error_case("negative_label", lambda tf: step(tf, "poisson_loss", (-1, 1, 1)))


def shrunk(tf, session, outputs, feed):
    session.run(tf.global_variables_initializer())
    session.run(outputs[-1])
    return session.run(outputs[:-1])


def variables(tf):
    found = [tf.Variable([1.0, -0.05, -3.0], use_resource=False), tf.Variable([[0.2, 0.5]], use_resource=False)]
    return [v.read_value() for v in found] + [tf.train.sdca_shrink_l1(found, 0.1, 0.4)]


case("shrink", variables, run=shrunk)
RANDOM = np.random.RandomState(0)
LENGTHS = list(range(40)) + [63, 64, 100, 127, 128, 129, 143, 144, 145, 160, 200, 255, 256, 257, 271, 272, 273, 300, 400, 527, 528]
TEXTS = np.array([RANDOM.randint(0, 256, n).astype(np.uint8).tobytes() for n in LENGTHS], object)
case("fingerprints", lambda tf, x: tf.train.sdca_fprint(x), grad=False, x=TEXTS)
error_case("fingerprint_rank", lambda tf, x: tf.train.sdca_fprint(x), x=TEXTS[:, None])
