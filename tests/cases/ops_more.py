"""Op types of few users: Einsum, data formats, generators in variables, what needs no input, types that are gone."""

import numpy as np

from cases.table import F32, F64, I32, Table

TABLE = Table("ops_more")
case, error_case = TABLE.case, TABLE.error_case

EQUATIONS = {
    "product": ("ij,jk->ik", F64(2, 3), F64(3, 4)),
    "broadcast": ("...ij,...jk->...ik", F64(5, 2, 3), F64(3, 4)),
    "swapped": ("ij,kj->jik", F64(2, 3), F64(4, 3)),
    "diagonals": ("aab,bcc->ca", F64(2, 2, 3), F64(3, 4, 4)),
    "scalars": (",->", F64(), F64()),
    "outer": ("...,...->...", F64(3, 1), F64(1, 4)),
    "moved": ("...a,...b->ba...", F64(2, 3), F64(2, 4)),
}
for name, (equation, x, y) in EQUATIONS.items():
    case("einsum_" + name, lambda tf, x, y, e=equation: tf.raw_ops.Einsum(inputs=[x, y], equation=e), grad=False, x=x, y=y)
for name, (equation, x) in {
    "diagonal": ("ii->i", F64(3, 3)),
    "trace": ("ii->", F64(3, 3)),
    "on_diagonal": ("i->ii", F64(3)),
    "moved_diagonal": ("iij->jij", F64(3, 3, 2)),
    "any_character": ("i1->1", F64(2, 3)),
    "tail": ("...a->a...", F64(3, 4)),
    "total": ("...->...", F64(3)),
}.items():
    case("einsum_one_" + name, lambda tf, x, e=equation: tf.raw_ops.Einsum(inputs=[x], equation=e), grad=False, x=x)
for i, equation in enumerate(("a", "a->b->c", "...a...->a", "a.->a", "aa->a", "a->ab", "a,b,c->abc", "abc->a", "...abc->...")):
    error_case(
        "einsum_bad_%d" % i, lambda tf, x, e=equation: tf.raw_ops.Einsum(inputs=[x], equation=e), x=F64(2, 3)
    )
error_case("einsum_sizes", lambda tf, x, y: tf.raw_ops.Einsum(inputs=[x, y], equation="ij,jk->ik"), x=F64(2, 3), y=F64(2, 3))
error_case("einsum_no_ellipsis", lambda tf, x, y: tf.raw_ops.Einsum(inputs=[x, y], equation="...ij,...jk->ik"), x=F64(5, 2, 3), y=F64(5, 3, 2))

case("dim_map", lambda tf: tf.raw_ops.DataFormatDimMap(x=[-4, -3, -2, -1, 0, 1, 2, 3]))
case(
    "dim_map_back", lambda tf, x: tf.raw_ops.DataFormatDimMap(x=x, src_format="NCHW", dst_format="NHWC"),
    x=np.array([[0, 3], [1, -2]], np.int64),
)  # fmt: skip
case("vec_permute", lambda tf, x: tf.raw_ops.DataFormatVecPermute(x=x), x=I32(4))
case("vec_permute_pairs", lambda tf, x: tf.raw_ops.DataFormatVecPermute(x=x, src_format="NCHW", dst_format="NHWC"), x=I32(4, 2))
for i, (source, target) in enumerate((("NCW", "NHWC"), ("NHWC", "NHWW"), ("NHWC", "ABCD"), ("NHWC", "NHW"))):
    error_case(
        "formats_%d" % i, lambda tf, x, s=source, t=target: tf.raw_ops.DataFormatVecPermute(x=x, src_format=s, dst_format=t), x=I32(4)
    )
for i, sizes in enumerate(((), (2,), (5,), (4, 3), (3, 2), (1, 4, 2))):
    error_case("vec_permute_sizes_%d" % i, lambda tf, x: tf.raw_ops.DataFormatVecPermute(x=x), x=I32(*sizes))


def _generator(tf, seed=1234):
    return tf.random.experimental.Generator.from_seed(seed)


def _twice(draw):
    """Draws twice from a new generator, in one graph; returns values and the last state."""

    def build(tf):
        generator = _generator(tf)
        first = draw(tf, generator)
        with tf.control_dependencies([first]):
            second = draw(tf, generator)
        with tf.control_dependencies([second]):
            return first, second, generator.state.read_value()

    return build


def _started(tf, session, outputs, feed):
    session.run(tf.global_variables_initializer())
    return [session.run(outputs, feed) for _ in range(2)]


def _first(tf, session, outputs, feed):
    """The first samples alone: after them 1.15's binomial writes the state to memory that the variable no longer uses."""
    session.run(tf.global_variables_initializer())
    return session.run(outputs, feed)


for name, draw in {
    "normal": lambda tf, g: g.normal([3, 5], 1.0, 2.0),
    "normal_double": lambda tf, g: g.normal([7], dtype=tf.float64),
    "truncated_normal": lambda tf, g: g.truncated_normal([9]),
    "uniform": lambda tf, g: g.uniform([2, 3], -1.0, 4.0),
    "uniform_half": lambda tf, g: g.uniform([5], dtype=tf.float16),
    "uniform_int": lambda tf, g: g.uniform([6], -5, 12, tf.int32),
    "uniform_long": lambda tf, g: g.uniform([6], 0, 1 << 40, tf.int64),
    "full_int": lambda tf, g: g.uniform_full_int([5]),
    "full_int32": lambda tf, g: g.uniform_full_int([5], tf.int32),
    "scalar": lambda tf, g: g.normal([]),
    "seeds": lambda tf, g: g.make_seeds(3),
}.items():
    case("generator_" + name, _twice(draw), run=_started, rtol=2e-6, atol=1e-6, reason="C library's log and cos")

for name, draw in {
    "binomial": lambda tf, g: g.binomial([3, 4], [10.0, 20.0, 400.0], [0.8, 0.1, 0.3], tf.float32),
    "binomial_shared": lambda tf, g: g.binomial([250], 50.0, 0.4),
    "binomial_edges": lambda tf, g: g.binomial([4, 2], [0.0, 5.0, 5.0, 5.0], [0.5, 0.0, 1.0, 0.5], tf.int64),
}.items():
    case("generator_" + name, lambda tf, d=draw: d(tf, _generator(tf)), run=_first)


def _skip(tf):
    generator = _generator(tf, [1, -1, 7])
    with tf.control_dependencies([tf.raw_ops.RngSkip(resource=generator.state.handle, algorithm=1, delta=1 << 60)]):
        return generator.state.read_value(), generator.key


case("generator_skip", _skip, run=_started)
case("generator_states", lambda tf: [tf.constant(tf.random.experimental.create_rng_state(s, a)) for s in (5, 1 << 200, [1, 2, 3, 4], -1) for a in (1, 2)])


def _reset(tf):
    generator = tf.random.experimental.Generator.from_key_counter(11, [3, 4], 1)
    value = generator.uniform([2])
    with tf.control_dependencies([value]):
        copy = tf.identity(generator.state.read_value())
    return value, copy


case("generator_key_counter", _reset, run=_started)
error_case("generator_algorithm", lambda tf: tf.random.experimental.Generator.from_seed(1, alg=3))
error_case("generator_three_fry", lambda tf: tf.random.experimental.Generator.from_seed(1, alg=2).normal([2]), run=_started)
error_case("generator_range", lambda tf: _generator(tf).uniform([2], 3, 3, tf.int32), run=_started)
error_case("generator_no_maxval", lambda tf: _generator(tf).uniform([2], dtype=tf.int32))

case("fact", lambda tf: tf.raw_ops.Fact())
case("fake_param", lambda tf: tf.raw_ops.FakeParam(dtype=tf.float32, shape=[2, 3]), fetch=False)
for name in ("TensorArrayV2", "TileGrad", "BatchFFT", "TopK", "MatrixExponential"):
    error_case("removed_" + name, lambda tf, x, n=name: getattr(tf.raw_ops, n)(**{
        "TensorArrayV2": dict(size=2, dtype=tf.float32), "TileGrad": dict(input=x, multiples=[1]), "BatchFFT": dict(input=[1j]),
        "TopK": dict(input=x, k=1), "MatrixExponential": dict(input=[x]),
    }[n]), x=F32(3))  # fmt: skip
