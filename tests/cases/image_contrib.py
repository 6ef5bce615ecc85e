"""Cases of tf.contrib.image, fractional pooling and the fused convolutions."""

import numpy as np

from cases.table import F32, F64, I32, U8, Table

TABLE = Table("image_contrib")
case, error_case = TABLE.case, TABLE.error_case
IMAGE = F32(2, 6, 7, 3, low=0.0, high=1.0)
MOVES = np.array([[1, 0.1, 0.5, -0.2, 0.9, 1, 0.01, 0.02], [0.8, 0, -1, 0, 1.2, 0.3, 0, 0]], np.float32)


def image(tf):
    """tf.contrib.image, which loads when it is asked for."""
    return tf.contrib.image


def roots(tf, x):
    """The node below connected_components, which numbers anew what it gives."""
    assert image(tf).connected_components  # what loads it registers the op type
    return tf.get_default_graph().create_op("ImageConnectedComponents", [x], [tf.int64]).outputs[0]


for method in ("NEAREST", "BILINEAR"):
    case("transform_" + method, lambda tf, x, t, m=method: image(tf).transform(x, t, m), grad=False, x=IMAGE, t=MOVES)
    case("transform_bytes_" + method, lambda tf, x, t, m=method: image(tf).transform(x, t, m), grad=False, x=U8(2, 6, 7, 1, high=256), t=MOVES)
    case("rotate_" + method, lambda tf, x, m=method: image(tf).rotate(x, [0.3, -1.2], m), grad=False, partial=False, x=IMAGE)
case("transform_size", lambda tf, x, t: image(tf).transform(x, t[0], output_shape=[4, 9]), grad=False, partial=False, x=IMAGE, t=MOVES)
case(
    "transform_gradient",
    lambda tf, x: tf.gradients(image(tf).transform(x, MOVES, "BILINEAR")[0], x)[0],
    grad=False,
    partial=False,
    fetch=True,
    rtol=1e-4,
    reason="the inverse of a matrix in other last bits",
    x=IMAGE,
)
case("translate", lambda tf, x: image(tf).translate(x, [1.0, -2.0]), grad=False, partial=False, x=F32(6, 7))
case("compose", lambda tf, t: image(tf).compose_transforms(t, t[0]), partial=False, t=MOVES)
error_case("transform_rank", lambda tf, x, t: image(tf).transform(x, t), x=F32(3), t=MOVES)
error_case("transform_shape", lambda tf, x, t: image(tf).transform(x, t), x=IMAGE, t=F32(3, 8))
case("connected", lambda tf, x: image(tf).connected_components(x), grad=False, partial=False, x=I32(2, 9, 8, low=0, high=3))
case("connected_one", lambda tf, x: image(tf).connected_components(x), grad=False, partial=False, x=I32(9, 8, low=1, high=3))
case("connected_roots", roots, grad=False, x=I32(2, 6, 7, low=0, high=3))
case("connected_roots_of_strings", lambda tf, x: roots(tf, tf.as_string(x)), grad=False, x=I32(1, 5, 9, low=0, high=2))
case("bipartite", lambda tf, d: image(tf).bipartite_match(d, [3.0], 2), grad=False, d=F32(4, 5))
case("dense_image_warp", lambda tf, x, f: image(tf).dense_image_warp(x, f), grad=False, partial=False, x=IMAGE, f=F32(2, 6, 7, 2))
for order in (1, 2, 3, 4):
    case(
        "interpolate_spline_%d" % order,
        lambda tf, p, v, q, o=order: image(tf).interpolate_spline(p, v, q, o, 0.1),
        grad=False,
        partial=False,
        rtol=1e-6,
        reason="the solution of a linear system in other last bits",
        p=F64(1, 6, 2),
        v=F64(1, 6, 3),
        q=F64(1, 5, 2),
    )
case(
    "sparse_image_warp",
    lambda tf, x, a, b: image(tf).sparse_image_warp(x, a, b, num_boundary_points=2),
    grad=False,
    partial=False,
    rtol=1e-3,
    atol=1e-3,
    reason="the solution of a float32 linear system",
    x=IMAGE,
    a=F32(2, 3, 2, low=1.0, high=5.0),
    b=F32(2, 3, 2, low=1.0, high=5.0),
)

# ---- stereograms: the dots are random, which of them are alike is not ----

IMAGES = 48
"""Of two colours, two pixels that have nothing to do with each other are alike in all images once in 2**48 times."""


def alike(tf, z, **options):
    """For each pixel how many of its row have its colour in all images; nothing else tells the nodes of these apart than an unused limit."""
    images = [image(tf).single_image_random_dot_stereograms(z, normalize=False, normalize_max=float(i), **options) for i in range(IMAGES)]
    dots = tf.stack([tf.cast(i, tf.int32) for i in images], axis=-1)
    rows = tf.reshape(dots, [dots.shape[0], dots.shape[1], -1])
    return tf.reduce_sum(tf.cast(tf.reduce_all(tf.equal(rows[:, :, None], rows[:, None]), -1), tf.int32), -1), tf.reduce_all(tf.equal(dots, 0), -1)


def stereogram_case(name, z, **options):
    options = {"output_image_shape": [60, 24, 1], "output_data_window": [50, 12], "dots_per_inch": 12, "convergence_dots_size": 4, **options}
    case("stereogram_" + name, lambda tf, z: alike(tf, z, **options), grad=False, partial=False, z=z)


stereogram_case("hidden", F32(3, 5, low=-0.2, high=1.2))
stereogram_case("all_seen", F64(3, 5, low=0.0, high=1.0), hidden_surface_removal=False)
stereogram_case("integers", I32(4, 4, low=0, high=2), border_level=0.4, mu=0.5)
stereogram_case("black_and_white", F32(3, 5, low=0.0, high=1.0), number_colors=2, output_image_shape=[40, 20, 3])
stereogram_case("colours", F32(3, 5, low=0.0, high=1.0), number_colors=300, convergence_dots_size=0)
stereogram_case("dots_over_edge", F32(3, 5, low=0.0, high=1.0), dots_per_inch=30, output_image_shape=[50, 20, 1])
for name, limits in (("range", {}), ("limits", {"normalize_max": 4.0, "normalize_min": 1.0})):
    case(
        "stereogram_" + name,
        lambda tf, z, limits=limits: tf.shape(image(tf).single_image_random_dot_stereograms(z, **limits)),
        grad=False,
        partial=False,
        z=F32(3, 5, low=0.0, high=5.0),
    )

# ---- fractional pooling, fused convolutions ----

for name in ("max", "avg"):
    for pseudo in (True, False):
        for overlapping in (True, False):
            case(
                "fractional_%s_%d%d" % (name, pseudo, overlapping),
                lambda tf, x, n=name, p=pseudo, o=overlapping: getattr(tf.nn, "fractional_%s_pool" % n)(
                    x, [1.0, 1.4, 1.7, 1.0], p, o, True, 3, 8
                ),
                partial=False,
                grad=False,
                x=F32(2, 9, 11, 3),
            )
    case(
        "fractional_%s_gradient" % name,
        lambda tf, x, n=name: tf.gradients(
            tf.square(getattr(tf.nn, "fractional_%s_pool" % n)(x, [1.0, 1.4, 1.7, 1.0], True, True, True, 3, 8)[0]), x
        )[0],
        partial=False,
        grad=False,
        x=F64(2, 9, 11, 3),
    )
    case(
        "fractional_%s_ints" % name,
        lambda tf, x, n=name: getattr(tf.nn, "fractional_%s_pool" % n)(x, [1.0, 1.4, 1.7, 1.0], True, False, True, 3, 8)[0],
        x=I32(2, 9, 11, 3),
    )
for mode in ("REFLECT", "SYMMETRIC"):
    case(
        "fused_pad_conv_" + mode,
        lambda tf, x, f, m=mode: tf.raw_ops.FusedPadConv2D(
            input=x, paddings=[[0, 0], [1, 2], [2, 1], [0, 0]], filter=f, mode=m, strides=[1, 1, 1, 1], padding="VALID"
        ),
        grad=False,
        x=F32(1, 6, 7, 3),
        f=F32(3, 3, 3, 4),
    )
    case(
        "fused_resize_conv_" + mode,
        lambda tf, x, f, m=mode: tf.raw_ops.FusedResizeAndPadConv2D(
            input=x, size=[9, 5], paddings=[[0, 0], [1, 2], [2, 1], [0, 0]], filter=f, mode=m, strides=[1, 2, 2, 1],
            padding="SAME",
        ),
        grad=False,
        x=F32(1, 6, 7, 3),
        f=F32(3, 3, 3, 4),
    )
