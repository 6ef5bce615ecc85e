"""NaN, infinities and zeros of both signs in operations that compare."""

import numpy as np

from cases.table import Table

TABLE = Table("extremes")
case = TABLE.case

NAN, INF = np.nan, np.inf
FLOATS = ("float16", "float32", "float64")

# ---- of two numbers ----

for _dtype in FLOATS:
    case(
        f"larger_and_smaller_{_dtype}",
        lambda tf, x, y: [tf.maximum(x, y), tf.minimum(x, y), tf.maximum(x[:, None], y[0]), tf.minimum(x[2], y)],
        x=np.array([NAN, 1, NAN, 3, -INF] * 3, _dtype), y=np.array([1, NAN, NAN, INF, 2] * 3, _dtype),
    )  # fmt: skip
    case(
        f"clip_{_dtype}",
        lambda tf, x, limits: [
            tf.raw_ops.ClipByValue(t=x, clip_value_min=limits[i], clip_value_max=limits[j]) for i, j in ((0, 1), (0, 2), (1, 2), (2, 1))
        ],
        x=np.array([1, NAN, 9, -INF], _dtype), limits=np.array([NAN, 4, 2], _dtype), grad=False,
    )  # fmt: skip
case(
    "clip_integers",
    lambda tf, x: tf.raw_ops.ClipByValue(t=x, clip_value_min=8, clip_value_max=4),
    x=np.array([1, 5, 9], np.int32),
)
case("clip_by_value", lambda tf, x: [tf.clip_by_value(x, NAN, 1.0), tf.clip_by_value(x, -1.0, NAN), tf.clip_by_value(x, 2.0, -2.0)],
     x=np.array([NAN, INF, -INF, 0.5, 3], np.float32))  # fmt: skip


# ---- of segments and rows of variables ----

ROWS = np.array([[NAN, 2, NAN], [1, NAN, NAN], [3, 1, -INF], [NAN, NAN, NAN], [-INF, NAN, INF]])
for _dtype in FLOATS:
    for _name in ("max", "min"):
        case(
            f"segment_{_name}_{_dtype}", lambda tf, x, ids, name=_name: getattr(tf, f"segment_{name}")(x, ids),
            x=ROWS.astype(_dtype), ids=np.array([0, 0, 0, 2, 3], np.int32),
        )  # fmt: skip
        case(
            f"unsorted_segment_{_name}_{_dtype}",
            lambda tf, x, ids, name=_name: getattr(tf, f"unsorted_segment_{name}")(x, ids, 3),
            x=np.concatenate([ROWS, ROWS[::-1] + 1]).astype(_dtype), ids=np.array([0, 1, 0, -1, 0, 1, 1, 0, 1, 1], np.int32),
        )  # fmt: skip


def _scattered(tf, name, resource, start, ids, values):
    variable = tf.get_variable("v", initializer=start, use_resource=resource)
    with tf.control_dependencies([variable.initializer]):
        return getattr(variable, f"scatter_{name}")(tf.IndexedSlices(values, ids))


for _name in ("max", "min"):
    for _resource in (False, True):
        case(
            f"scatter_{_name}_{'resource' if _resource else 'ref'}",
            lambda tf, ids, values, name=_name, resource=_resource: _scattered(
                tf, name, resource, np.array([NAN, 0, -INF, INF, 5], np.float32), ids, values
            ),
            ids=np.array([0, 1, 1, 2, 3, 4], np.int32), values=np.array([1, NAN, 2, NAN, NAN, 7], np.float32),
            partial=False, grad=False,
        )  # fmt: skip


# ---- of windows ----

IMAGE = np.array([[NAN, 1, 5, 2], [3, INF, NAN, NAN], [NAN, NAN, -INF, NAN], [NAN, NAN, NAN, -INF]], np.float32)
for _padding in ("SAME", "VALID"):
    case(
        f"max_pool_{_padding}",
        lambda tf, x, padding=_padding: tf.nn.max_pool(x, 2, 2, padding),
        x=IMAGE[None, :, :, None],
    )
    case(
        f"max_pool3d_{_padding}", lambda tf, x, padding=_padding: tf.nn.max_pool3d(x, 2, 2, padding),
        x=np.stack([IMAGE, IMAGE])[None, ..., None],
    )  # fmt: skip
    case(
        f"dilation2d_{_padding}",
        lambda tf, x, filters, padding=_padding: tf.nn.dilation2d(x, filters, [1, 1, 1, 1], [1, 1, 1, 1], padding),
        x=IMAGE[None, :, :, None], filters=np.array([[0, 1], [NAN, 2]], np.float32)[..., None],
    )  # fmt: skip
    case(
        f"dilation2d_nan_{_padding}",
        lambda tf, x, filters, padding=_padding: tf.nn.dilation2d(x, filters, [1, 1, 1, 1], [1, 1, 1, 1], padding),
        x=np.full((1, 1, 3, 1), NAN, np.float32), filters=np.zeros((1, 3, 1), np.float32),
    )  # fmt: skip
case(
    "max_pool3d_near_ties", lambda tf, x: tf.nn.max_pool3d(x, [1, 1, 1, 2, 1], [1, 1, 1, 2, 1], "VALID"),
    x=np.array([1, 1 + 1e-6, 1, 1 + 2e-5, 1e-6, 2e-6, INF, INF], np.float32).reshape(1, 1, 1, -1, 1),
)  # fmt: skip


# ---- order ----

for _dtype in FLOATS:
    case(
        f"top_k_{_dtype}", lambda tf, x: [part for k in (1, 2, 4) for part in tf.nn.top_k(x, k)],
        x=np.array([[0, -0.0, 1, INF, -INF, 0], [-0.0, 0, -0.0, 0, 3, NAN]], _dtype), grad=False,
    )  # fmt: skip
    case(
        f"argsort_{_dtype}",
        lambda tf, x: tf.argsort(x),
        x=np.array([0, -0.0, 1, INF, -INF, -0.0, 0], _dtype),
        grad=False,
    )
case(
    "top_1_of_nan",
    lambda tf, x: list(tf.nn.top_k(x)),
    x=np.array([[NAN, 1, 2], [1, NAN, 0], [NAN, NAN, NAN]], np.float32),
    grad=False,
)
case("bucketize", lambda tf, x: tf.raw_ops.Bucketize(input=x, boundaries=[-1.0, 0.0, INF]), grad=False,
     x=np.array([NAN, INF, -INF, -0.0, 0.0], np.float32))  # fmt: skip
for _side in ("left", "right"):
    case(
        f"searchsorted_{_side}", lambda tf, row, x, side=_side: tf.searchsorted(row, x, side=side), grad=False, partial=False,
        row=np.array([-INF, -1, 0, 2, INF], np.float32), x=np.array([NAN, INF, -INF, -0.0], np.float32),
    )  # fmt: skip


# ---- boxes, colours, casts ----

BOXES = np.array(
    [
        [0, 0, 1, 1],
        [0, 0, 1, NAN],
        [NAN, NAN, NAN, NAN],
        [0, 0, 1, 0.9],
        [0, 0, INF, 1],
        [2, 2, 3, 3],
        [2, NAN, 3, 3],
        [3, 3, 2, 2],
    ],
    np.float32,
)
for _threshold in (0.0, 0.5):
    case(
        f"non_max_suppression_{_threshold}",
        lambda tf, boxes, scores, threshold=_threshold: tf.image.non_max_suppression(boxes, scores, 8, threshold),
        boxes=BOXES, scores=np.array([3, 4, 2, 7, 1, 8, 5, 6], np.float32), grad=False, partial=False,
    )  # fmt: skip
case(
    "rgb_to_hsv",
    lambda tf, x: tf.image.rgb_to_hsv(x),
    x=np.array([[NAN, 0.7, 0.3], [0.2, NAN, 0.1], [0.1, INF, 0.5]], np.float32),
    grad=False,
)
case("cast_to_uint32", lambda tf, x: [tf.cast(x, tf.uint32), tf.cast(tf.cast(x, tf.float64), tf.uint32)], grad=False,
     x=np.array([NAN, INF, -1.5, -3e9, 3e9, 4294967296.0, 9.3e18], np.float32))  # fmt: skip
