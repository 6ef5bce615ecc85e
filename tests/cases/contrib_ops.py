"""Op types of tf.contrib: periodic_resample."""

from cases.table import F32, F64, I32, U8, Table

TABLE = Table("contrib_ops")
case, error_case = TABLE.case, TABLE.error_case


def resample(tf, x, shape):
    return tf.contrib.periodic_resample.periodic_resample(x, shape)


SHAPES = {
    "2d": ((3, 4), [6, None]),
    "truncated": ((3, 4), [5, None]),
    "first": ((8, 3), [None, 6]),
    "3d": ((2, 2, 4), [4, 4, None]),
    "middle": ((2, 9, 2), [3, None, 5]),
    "4d": ((2, 2, 2, 8), [4, 4, 4, None]),
    "same": ((2, 3), [2, None]),
}
for _name, (_sizes, _shape) in sorted(SHAPES.items()):
    case("resample_" + _name, lambda tf, x, s=_shape: resample(tf, x, s), x=I32(*_sizes))
case("resample_gradient", lambda tf, x: resample(tf, x, [4, 6, None]), partial=False, x=F64(2, 3, 4))
case("resample_shapes", lambda tf, x: resample(tf, x, [4, 4, None]), fetch=False, x=F32(2, 2, 4))
for _name, _x, _shape in (
    ("smaller", F32(1, 2, 2, 4), [None, 4, 4, 1]), ("rank", F32(1, 2, 2, 4), [None, 4, 4]), ("none", F32(2, 4), [4, 2]),
    ("two", F32(2, 4), [None, None]), ("no_room", F32(2, 2), [5, None]), ("dtype", U8(2, 4), [4, None]),
):  # fmt: skip
    error_case("resample_" + _name, lambda tf, x, s=_shape: resample(tf, x, s), x=_x)
