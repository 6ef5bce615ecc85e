"""tf.contrib.specs: networks of a line of text, their descriptions, and parameters."""

import random

import numpy as np

from cases.table import F32, Table

TABLE = Table("contrib_specs")
case, error_case = TABLE.case, TABLE.error_case
SUMS = "sums in another order"


NETWORKS = {
    "layers": "net = Cr(6, [3, 3]) | Mp([2, 2]) | Flat | Fs(5)",
    "power": "net = (Ct(3, [2, 2]) | Ap([2, 2])) ** 2",
    "power_of_nothing": "net = Cr(2, [1, 1]) ** 0 | Tanh",
    "numbered": "c_ = Cl(_1=[3, 3]); net = c_(4) | c_(2)",
    "remembered": "net = Cs([1, 1])(3) | Expand(1) | Squeeze(_0=[1])",
    "sum": "net = Cl(2, [1, 1]) + Cl(2, [1, 1]) * Cs(2, [1, 1])",
    "joined": "net = Conc(3, Cl(2, [1, 1]), Relu, Sig)",
    "shared": "f = Shared(Cr(4, 3)); net = f | f | Dws(3)",
    "reordered": "net = Transpose([0, 3, 1, 2]) | Reshape([2, 4, -1]) | Smax | Unit(1) | Id",
    "normalized": "net = Bn(is_training=True) | Lrn(2) | Dwm(2) | Fl(3)",
    "variable": "net = Flat | (Fx(3) + Var('shift', [3])) | Fm(2)",
    "import": "f_ = Import('from operator import neg as f'); net = f_ | External('operator', 'abs') | Fr(2)",
    "environment": "net = Ft(width) | Do(0.5, is_training=False) | Idx()",
}


def net(tf, x, spec):
    tf.contrib.specs.Shared.shared_number = 1  # a process counts them: a row is not to hang on the rows before it
    return tf.contrib.specs.create_net(spec, x, {"width": 3})


for _name, _spec in NETWORKS.items():
    case(
        "net_" + _name, lambda tf, x, s=_spec: net(tf, x, s), x=F32(2, 6, 6, 4),
        seed=3, rtol=1e-5, atol=1e-5, reason=SUMS, partial=False,
    )  # fmt: skip


def described(tf, x, spec):
    lines, kit = [], tf.contrib.specs
    kit.Shared.shared_number = 2
    y = kit.create_net(spec, x)
    kit.tf_print(y, printer=lines.append)
    kit.tf_parameter_summary(y, printer=lines.append)
    kit.tf_parameter_summary(y, printer=lines.append, combine=False)
    lines += [kit.tf_structure(y), kit.tf_structure(y.op, include_shapes=True), kit.tf_spec_structure(spec, input_shape=[1, 6, 6, 4])]
    lines.append("%s %s" % (kit.tf_num_params(y), [t.name for t in kit.tf_left_split(y.op)[1]]))
    return {"lines": lines}


def lines(tf, session, out, feed):
    return np.array([line.encode() for line in out["lines"]], object)


for _name in ("layers", "sum", "shared", "joined"):
    case("described_" + _name, lambda tf, x, s=NETWORKS[_name]: described(tf, x, s), x=F32(2, 6, 6, 4), run=lines, partial=False)


def parameters(tf, text):
    random.seed(5)
    found = tf.contrib.specs.eval_params(text, {"limit": 3})
    return tf.constant([float(found[name]) for name in sorted(found)], tf.float64)


case("params", lambda tf: parameters(tf, "a = Uf(); b = Ui(1, 9); c = Lf(1, 100); d = Li(1, 100); e = Nt(0, 1, 0.1); f = sin(limit) + pi"))
error_case("keyword", lambda tf, x: tf.contrib.specs.create_net("import os; net = Relu", x), x=F32(2, 3))
error_case("no_net", lambda tf, x: tf.contrib.specs.create_net("n = Relu", x), x=F32(2, 3))
error_case("name_of_shared", lambda tf, x: tf.contrib.specs.create_net("net = Shared(Relu, name='a')", x), x=F32(2, 3))
error_case("scope_of_shared", lambda tf, x: tf.contrib.specs.create_net("net = Shared(Relu, scope='a')", x), x=F32(2, 3))
error_case("not_a_function", lambda tf, x: tf.contrib.specs.create_net("net = Fun(3)", x), x=F32(2, 3))
error_case("import_without_f", lambda tf, x: tf.contrib.specs.create_net("net = Import('g = 1')", x), x=F32(2, 3))
error_case("unknown_word", lambda tf, x: tf.contrib.specs.create_net("net = Ci(3)", x), x=F32(2, 3))
