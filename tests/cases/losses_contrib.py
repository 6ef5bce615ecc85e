"""tf.contrib.losses and its metric learning."""

from cases.table import F32, I32, I64, Table

TABLE = Table("losses_contrib")
case, error_case = TABLE.case, TABLE.error_case

P, L = F32(4, 3), F32(4, 3)
SHARE, BINARY = F32(4, 3, low=0.1, high=0.9), F32(4, 3, low=0.0, high=1.0)
WEIGHTS = F32(4, low=0.0, high=2.0)

for name in ("absolute_difference", "mean_squared_error", "mean_pairwise_squared_error"):
    case(name, lambda tf, p, y, name=name: getattr(tf.contrib.losses, name)(p, y), partial=False, p=P, y=L)
    case(
        name + "_weighted",
        lambda tf, p, y, w, name=name: getattr(tf.contrib.losses, name)(p, y, w),
        partial=False,
        p=P,
        y=L,
        w=WEIGHTS,
    )
case("log_loss", lambda tf, p, y: tf.contrib.losses.log_loss(p, y), partial=False, p=SHARE, y=BINARY)
case("hinge_loss", lambda tf, p, y: tf.contrib.losses.hinge_loss(p, y), partial=False, p=P, y=BINARY)
case("cosine_distance", lambda tf, p, y: tf.contrib.losses.cosine_distance(p, y, 1), partial=False, p=P, y=L)
for name in ("sigmoid_cross_entropy", "softmax_cross_entropy"):
    case(
        name,
        lambda tf, p, y, name=name: getattr(tf.contrib.losses, name)(p, y, 0.5, 0.1),
        partial=False,
        p=P,
        y=BINARY,
    )
case(
    "sparse_softmax_cross_entropy",
    lambda tf, p, y: tf.contrib.losses.sparse_softmax_cross_entropy(p, y),
    partial=False,
    p=P,
    y=I64(4, 1, low=0, high=3),
)
case(
    "total_loss",
    lambda tf, p, y: (
        tf.contrib.losses.absolute_difference(p, y),
        tf.contrib.losses.mean_squared_error(p, y),
        tf.contrib.losses.get_total_loss(),
    ),
    partial=False,
    p=P,
    y=L,
)
for name in ("triplet_semihard_loss", "lifted_struct_loss"):
    case(
        name,
        lambda tf, y, p, name=name: getattr(tf.contrib.losses.metric_learning, name)(y, p),
        partial=False,
        grad=False,
        y=[0, 1, 0, 1],
        p=P,
    )
case(
    "npairs_loss",
    lambda tf, y, a, p: tf.contrib.losses.metric_learning.npairs_loss(y, a, p),
    partial=False,
    y=I32(4, low=0, high=2),
    a=P,
    p=L,
)
case(
    "contrastive_loss",
    lambda tf, y, a, p: tf.contrib.losses.metric_learning.contrastive_loss(y, a, p),
    partial=False,
    y=I32(4, low=0, high=2),
    a=P,
    p=L,
)
