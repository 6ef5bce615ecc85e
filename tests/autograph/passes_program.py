"""What the context of conversions says; run under `tfcompat run`, and under TensorFlow 1.15.5 for what is expected."""

import collections
import functools
import io
import unittest

import tensorflow as tf
from tensorflow.python.autograph.core import converter, converter_testing
from tensorflow.python.autograph.impl import api, conversion
from tensorflow.python.autograph.pyct import anno, compiler, templates

PROGRAM = converter.ProgramContext(converter.ConversionOptions(recursive=True), api)


def function(x):
    return x + 1 if x > 0 else x


def generator():
    yield 1


class Callable:
    def __call__(self, x):
        return x

    def method(self):
        return 1


class Case(unittest.TestCase):
    def runTest(self):
        return None


Pair = collections.namedtuple("Pair", "a b")


class OwnPair(Pair):
    def first(self):
        return self.a


class Layer(tf.keras.layers.Layer):
    def call(self, x):
        return x


ASKED = (
    function, generator, Callable, Callable(), Callable().method, Case, Case().runTest, Pair, OwnPair, OwnPair(1, 2), OwnPair(1, 2).first,
    Pair(1, 2)._asdict, functools.partial(function, 1), functools.partial(tf.add, 1), tf, tf.add, tf.constant,
    collections.Counter, collections.OrderedDict().keys, Layer, Layer(), Layer().call, tf.keras.layers.Dense(1), tf.keras.layers.Dense(1).call, io.StringIO, 3, "a",
)  # fmt: skip
print([conversion.is_whitelisted_for_graph(each) for each in ASKED])
print(conversion.is_whitelisted_for_graph(OwnPair, allow_namedtuple_subclass=True), conversion.is_whitelisted_for_graph(Pair, True, True))
print(conversion.is_whitelisted_for_graph(Layer(), check_call_override=False))

lam = lambda x: -x
tf__function = 1
for each in (function, lam, Callable().method):
    nodes, name, info = conversion.convert_entity_to_ast(each, PROGRAM)
    print(len(nodes), type(nodes[0]).__name__, name, getattr(nodes[0], "name", None), info.source_file, "tf" in info.namespace, "ag__" in info.namespace)
for each in ("text", 3):
    try:
        conversion.convert_entity_to_ast(each, PROGRAM)
    except NotImplementedError as error:
        print(error)
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    made = conversion.convert(function, PROGRAM)
    print(made.__name__, session.run([made(tf.constant(each)) for each in (3, -3)]), made(5))


class Increment(converter.Base):
    """Adds one to each constant that is returned."""

    def visit_Return(self, node):
        return templates.replace("return value + 1", value=node.value)

    @classmethod
    def transform(cls, node, ctx):
        return cls(ctx).visit(node)


def directive(x, size=1):
    return x, size


class Directives(converter.Base):
    """Notes what the directives of symbols say."""

    def visit_Name(self, node):
        if type(node.ctx).__name__ != "Load":  # parameters are names in trees of gast
            return node
        for each in anno.getanno(node, anno.Static.ORIG_DEFINITIONS, ()):
            each.directives[directive] = {"size": templates.replace("a + 1", a="b")[0].value}
        found = self.get_definition_directive(node, directive, "size", None), self.get_definition_directive(node, directive, "x", "none")
        print(node.id, found[0] and compiler.ast_to_source(found[0], include_encoding_marker=False).strip().strip("()"), found[1])
        return node

    @classmethod
    def transform(cls, node, ctx):
        return cls(ctx).visit(node)


class Conflict(converter.Base):
    def visit_Name(self, node):
        for number, each in enumerate(anno.getanno(node, anno.Static.ORIG_DEFINITIONS, ())):
            each.directives[directive] = {"size": templates.replace("a + 1", a="b%d" % number)[0].value}
        try:
            self.get_definition_directive(node, directive, "size", None)
        except ValueError as error:
            print("conflict", node.id, "ambiguous annotations for directive(size)" in str(error))
        return node

    @classmethod
    def transform(cls, node, ctx):
        return cls(ctx).visit(node)


class Tests(converter_testing.TestCase):
    def runTest(self):
        return None


def passed(y):
    return y


def twice(y):
    if y:
        z = 1
    else:
        z = 2
    return z


tests = Tests()
with tests.converted(passed, Increment, {}) as module:
    print(module.passed(3), type(module.ag__).__name__, module.tf.__name__, callable(module.ag__.if_stmt))
with tests.converted(passed, (Increment, Increment), {}) as module:
    print(module.passed(3))
with tests.converted(twice, [Directives, Conflict], {"given": 4}, (passed, tf.int32)) as module:
    print(module.twice(0), module.given, module.tf.passed is passed, module.tf.int32, module.ConversionOptions is converter.ConversionOptions)
node, context = tests.prepare(passed, {})
print(context.target_name, context.info.source_file, context.info.future_features, context.program.options.recursive, context.current_origin)
print(sorted(map(str, anno.getanno(node.body[0], anno.Static.SCOPE).read)), anno.hasanno(node.body[0].value, anno.Static.ORIG_DEFINITIONS))
reused = Increment(context)
reused.visit(node)
try:
    reused.visit(node)
except ValueError as error:
    print(error)
print(converter.AgAnno.DIRECTIVES, [each.name for each in converter.AgAnno], converter.AnnotatedDef().directives)
print(converter.apply_(tests.prepare(passed, {})[0], context, Increment).name)
with tests.assertPrints("shown\n"):
    print("shown")
module = tests.make_fake_mod("fake", passed, tf.float32)
tests.attach_namespace(module, more=1)
print(module.__name__, module.more, module.float32)
try:
    tests.make_fake_mod("fake", 3)
except ValueError as error:
    print(error)
for options in (converter.STANDARD_OPTIONS, converter.ConversionOptions(optional_features=converter.Feature.LISTS, user_requested=True)):
    print("".join(compiler.ast_to_source(options.to_ast(), include_encoding_marker=False).split()))
