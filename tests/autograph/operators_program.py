"""What the operators of converted code do with values, in graphs and in Python; run under `tfcompat run`, and under TensorFlow 1.15.5 for
what is expected."""

import ast
import sys
import types

import tensorflow as tf
from tensorflow.python.autograph.core import config, converter, function_wrappers, naming
from tensorflow.python.autograph.lang import special_functions
from tensorflow.python.autograph.operators import (
    control_flow,
    data_structures,
    exceptions,
    py_builtins,
    slices,
    special_values,
    symbols,
)
from tensorflow.python.autograph.pyct import compiler, parser, qual_names, transformer
from tensorflow.python.autograph.pyct.common_transformers import anf
from tensorflow.python.autograph.utils import context_managers, misc, py_func, tensor_list, tensors, testing, type_check
from tensorflow.python.framework import auto_control_deps

nodes = sys.modules.get("gast") or ast  # 1.15 has trees of gast
NO_STATE = {"get_state": lambda: (), "set_state": lambda _: None}


def show(name, make):
    """Prints what a function gives in a graph of its own, or what it raises."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        try:
            found = make()
            session.run(tf.compat.v1.global_variables_initializer())
            leaves = tf.nest.flatten(found)
            values = [session.run(each) if tf.is_tensor(each) else each for each in leaves]
            values = [each.tolist() if hasattr(each, "tolist") else each for each in values]
            staged = [tf.is_tensor(each) for each in leaves]
            print(name, type(found).__name__ if isinstance(found, (tuple, list)) else "", values, staged)
        except Exception as error:  # noqa: BLE001
            print(name, type(error).__name__, str(error).split("\n")[0].split(" (<tf.Tensor")[0][:150])


class Box:
    pass


def attribute(box, field):
    return {"get_state": lambda: (getattr(box, field),), "set_state": lambda state: setattr(box, field, state[0])}


# ---- if ----


def branches(test, body, orelse, **more):
    return lambda: control_flow.if_stmt(test(), body, orelse, **NO_STATE, **more)


def on():
    return tf.constant(True)


def named(*names):
    return {"basic_symbol_names": names, "composite_symbol_names": ()}


show("if one", branches(on, lambda: 1, lambda: -1))
show("if several", branches(on, lambda: (1, 2), lambda: (-1, -2)))
show("if nested", branches(on, lambda: ({"a": 1}, [2, 3]), lambda: ({"a": 4}, [5, 6])))
show("if python", branches(lambda: [], lambda: 1, lambda: "no"))
show("if eager none", branches(lambda: None, lambda: 1, lambda: special_values.Undefined("x") and 3))
show("if undefined", branches(on, lambda: (1, special_values.Undefined("x")), lambda: (1, 2)))
show("if undefined else", branches(on, lambda: (1,), lambda: (special_values.Undefined("y"),)))
show("if no return", branches(on, lambda: 1, lambda: special_values.UndefinedReturnValue()))
show("if dtypes", branches(on, lambda: (1,), lambda: (1.0,), **named("a")))
show("if structures", branches(on, lambda: (1,), lambda: ([1, 2],), **named("a")))
show("if names fit", branches(on, lambda: (1, 2), lambda: (3, 4), **named("a", "b")))


def changed_attribute():
    box = Box()
    box.field = tf.constant(1)

    def body():
        box.field *= 10
        return (5,)

    found = control_flow.if_stmt(tf.constant(True), body, lambda: (6,), **attribute(box, "field"))
    return found, box.field


show("if attribute", changed_attribute)


# ---- while ----


def loop(test, body, start, **more):
    return lambda: control_flow.while_stmt(test, body, init_vars=start() if callable(start) else start, **NO_STATE, **more)


show("while", loop(lambda i, s: tf.less(i, 5), lambda i, s: (i + 1, s + i), (0, 0)))
show("while python", loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + i), lambda: (0, tf.constant(0))))
show("while never", loop(lambda i: False, lambda i: (i + 1,), (7,)))
show("while undefined", loop(lambda i, s: tf.less(i, 5), lambda i, s: (i + 1, s), (0, special_values.Undefined("s"))))
show("while no return", loop(lambda i, s: tf.less(i, 5), lambda i, s: (i + 1, s), (0, special_values.UndefinedReturnValue())))
show("while dtype", loop(lambda i: tf.less(i, 5), lambda i: (tf.cast(i, tf.float32),), (0,), **named("i")))
show("while structure", loop(lambda i, s: tf.less(i, 5), lambda i, s: (i + 1, (s, s)), (0, 1), **named("i", "s")))
show(
    "while shape",
    loop(lambda i, s: tf.less(i, 5), lambda i, s: (i + 1, tf.concat([s, s], 0)), lambda: (0, tf.constant([1])), **named("i", "s")),
)
show("while options", loop(lambda i: tf.less(i, 50), lambda i: (i + 1,), (0,), opts={"maximum_iterations": 3}))


def while_attribute():
    box = Box()
    box.field = tf.constant(0)

    def body(i):
        box.field += i
        return (i + 1,)

    found = control_flow.while_stmt(lambda i: tf.less(i, 5), body, init_vars=(0,), **attribute(box, "field"))
    return found, box.field


show("while attribute", while_attribute)


# ---- for ----


def each(items, body, start, test=None, **more):
    return lambda: control_flow.for_stmt(
        items(), test, body, init_vars=start() if callable(start) else start, **NO_STATE, **more
    )


def zero():
    return (tf.constant(0, tf.int64),)


def digits(i, s):
    return (s * 10 + i,)


show("for tensor", each(lambda: tf.constant([1, 2, 3]), digits, (0,)))
show("for tensor test", each(lambda: tf.constant([1, 2, 3, 4]), digits, (0,), lambda s: s < 10))
show("for tensor test first", each(lambda: tf.constant([1, 2, 3]), digits, (5,), lambda s: s < 1))
show("for range", each(lambda: tf.range(2, 9, 3), digits, (0,)))
show("for range back", each(lambda: tf.range(9, 2, -3), digits, (0,)))
show("for range test", each(lambda: tf.range(9), digits, (0,), lambda s: s < 100))
show("for dataset", each(lambda: tf.compat.v1.data.Dataset.range(4), digits, zero))
show("for dataset test", each(lambda: tf.compat.v1.data.Dataset.range(9), digits, zero, lambda s: s < 10))
show("for python", each(lambda: range(4), digits, (0,)))
show("for python test", each(lambda: range(9), digits, (0,), lambda s: s < 10))
show("for python test first", each(lambda: [1], digits, (5,), lambda s: s < 1))
show("for nothing", each(lambda: [], digits, (0,)))
show("for undefined", each(lambda: tf.constant([1]), lambda i, s: (i,), (special_values.Undefined("s"),)))
show("for dtype", each(lambda: tf.constant([1]), lambda i, s: (tf.cast(i, tf.float32),), (0,), **named("s")))


class OwnLoop:
    def _autograph_for_loop(self, extra_test, body, init_vars):
        return body("item", *init_vars)


show("for own loop", each(OwnLoop, lambda i, s: (i, s), (3,)))
show("for own loop undefined", each(OwnLoop, lambda i, s: (i, s), (special_values.Undefined("v"),)))


# ---- lists ----

new_list, append = data_structures.new_list, data_structures.list_append
POP, POP_INT = data_structures.ListPopOpts(None, None), data_structures.ListPopOpts(tf.int32, ())


def stacked(values, dtype=tf.int32, otherwise=lambda found: ("otherwise", found)):
    return data_structures.list_stack(values, data_structures.ListStackOpts(dtype, otherwise))


def popped():
    values, last = data_structures.list_pop(append(append(new_list(), 3), 4), None, POP_INT)
    return stacked(values), last


show("list new", lambda: new_list([1, 2]))
show("list empty", lambda: tf.is_tensor(new_list()))
show("list append", lambda: stacked(append(append(new_list(), 1), 2)))
show("list append python", lambda: append([1], 2))
show("list append array", lambda: stacked(append(tf.TensorArray(tf.int32, 0, dynamic_size=True), 5)))
show("list append tensor", lambda: append(tf.constant(1), 2))
show("list pop", popped)
show("list pop python", lambda: data_structures.list_pop([1, 2, 3], 0, POP))
show("list pop last", lambda: data_structures.list_pop([1, 2, 3], None, POP))
show("list pop at", lambda: data_structures.list_pop(new_list(), 1, POP_INT))
show("list pop type", lambda: data_structures.list_pop(new_list(), None, POP))
show("list pop shape", lambda: data_structures.list_pop(new_list(), None, data_structures.ListPopOpts(tf.int32, None)))
show("list pop array", lambda: data_structures.list_pop(tf.TensorArray(tf.int32, 1), None, POP_INT))
show("list stack type", lambda: stacked(new_list(), None))
show("list stack tensor", lambda: stacked(tf.constant([1, 2])))
show("list stack python", lambda: stacked([1, 2]))
show("list of", lambda: stacked(data_structures.tf_tensor_list_new([1, 2])))
show("list of rows", lambda: stacked(data_structures.tf_tensor_list_new(tf.constant([[1], [2]]))))
show("list of type", lambda: data_structures.tf_tensor_list_new([1, 2], tf.float32))
show("list of shape", lambda: data_structures.tf_tensor_list_new([1, 2], element_shape=(2,)))
show("list of types", lambda: data_structures.tf_tensor_list_new([1, 2.0], tf.int32))
show("list rows shape", lambda: data_structures.tf_tensor_list_new(tf.constant([1]), element_shape=()))
show("array of", lambda: stacked(data_structures.tf_tensor_array_new([1, 2])))
show("array of type", lambda: data_structures.tf_tensor_array_new([1], tf.float32))
show("array of types", lambda: data_structures.tf_tensor_array_new([1, 2.0]))
show("array of shapes", lambda: data_structures.tf_tensor_array_new([1, [2]]))
show("array of shape", lambda: data_structures.tf_tensor_array_new([1], element_shape=(2,)))
show("array of nothing", lambda: data_structures.tf_tensor_array_new([]))
show("tensor_list", lambda: stacked(special_functions.tensor_list([1, 2])))
show("tensor_list array", lambda: stacked(special_functions.tensor_list((1, 2), use_tensor_array=True)))
show("tensor_list empty", lambda: special_functions.tensor_list([]))
show("tensor_list number", lambda: special_functions.tensor_list(3))
show("stack", lambda: special_functions.stack(append(new_list(), 1), tf.int32))
show("stack strict", lambda: special_functions.stack([1]))
show("stack lenient", lambda: special_functions.stack([1], strict=False))
show("staging", lambda: [special_functions.match_staging_level(1, like) for like in (2, tf.constant(2))])


def wrapped_list():
    values = tensor_list.TensorList((), tf.int32)
    for item in (1, 2, 3):
        values.append(item)
    last = values.pop()
    values[0] = tf.constant(7)
    count = values.count()
    first, second = values[0], values[1]
    values.clear()
    return last, count, first, second, values.count()


show("TensorList", wrapped_list)
show("dynamic append", lambda: tensor_list.dynamic_list_append([1], 2))


# ---- items ----


def item(target, i, dtype=None):
    return lambda: slices.get_item(target(), i, slices.GetItemOpts(dtype))


show("get python", item(lambda: [1, 2], 1))
show("get tensor", item(lambda: tf.constant([1, 2]), 1))
show("get text", item(lambda: tf.constant("abc"), 1))
show("get texts", item(lambda: tf.constant(["abc", "d"]), 1))
show("get list", item(lambda: append(new_list(), 4), 0, tf.int32))
show("get list type", item(lambda: append(new_list(), 4), 0))
show("get array", item(lambda: tf.TensorArray(tf.int32, 2).unstack([8, 9]), 1))
show("set python", lambda: slices.set_item([1, 2], 0, 5))
show("set tensor", lambda: slices.set_item(tf.constant([1, 2]), 0, 5))
show("set list", lambda: stacked(slices.set_item(append(append(new_list(), 1), 2), 1, 5)))
show("set array", lambda: slices.set_item(tf.TensorArray(tf.int32, 2).unstack([8, 9]).identity(), 1, 3) is None)


# ---- assert, abs, frames ----


def refused():
    with tf.control_dependencies([exceptions.assert_stmt(tf.constant(False), lambda: ["is", tf.constant(3)])]):
        return tf.constant(1)


show("assert", lambda: exceptions.assert_stmt(tf.constant(True), lambda: "never").type)
show("assert tensor", refused)
show("assert python", lambda: exceptions.assert_stmt(False, lambda: "message"))
show("assert no function", lambda: exceptions.assert_stmt(True, "message"))
show("abs", lambda: [py_builtins.abs_(x) for x in (-1, tf.constant(-2), tf.constant(3 + 4j))])
SCOPE = function_wrappers.FunctionScope("f", "scope", converter.STANDARD_OPTIONS)


def evaluated(a):
    scope = SCOPE
    del scope

    def inner():
        scope = SCOPE
        b = 5  # noqa: F841
        return py_builtins.eval_in_original_context(eval, ("b",), scope)

    return inner()


show("eval", lambda: evaluated(1))
show("eval given", lambda: py_builtins.eval_in_original_context(eval, ("c + 1", {"c": 2}, {}), here()))


def here():
    return SCOPE


class Parent:
    def name(self):
        return "parent"


class Child(Parent):
    def name(self):
        scope = SCOPE
        found = py_builtins.super_in_original_context(super, (), scope).name()
        return found, __class__.__name__

    def given(self):
        return py_builtins.super_in_original_context(super, (Child, self), None).name()


show("super", lambda: (Child().name(), Child().given()))


# ---- symbols ----


def computed(symbol):
    found = symbol.maybe_compute_value()
    return symbol.name, ("undefined", found.symbol_name) if special_values.is_undefined(found) else found


holder = types.SimpleNamespace(a=1, none=None, items=[4, 5])
of_holder = symbols.ValueSymbol("h", holder)
of_items = symbols.AttributeAccessSymbol(of_holder, "items")
nowhere = symbols.ValueSymbol("n", special_values.Undefined("n"))
for symbol in (
    symbols.ValueSymbol("x", 3), symbols.AttributeAccessSymbol(of_holder, "a"), symbols.AttributeAccessSymbol(of_holder, "none"),
    symbols.AttributeAccessSymbol(of_holder, "b"), symbols.AttributeAccessSymbol(nowhere, "b"), of_items,
    symbols.SubscriptSymbol(of_items, symbols.ValueSymbol("i", 1)), symbols.SubscriptSymbol(of_items, symbols.ValueSymbol("i", 9)),
    symbols.SubscriptSymbol(of_items, nowhere), symbols.SubscriptSymbol(nowhere, of_items),
):  # fmt: skip
    print(computed(symbol))
missing = special_values.UndefinedReturnValue()
print(special_values.retval(missing), special_values.retval(2), special_values.is_undefined(missing))
print(special_values.is_undefined_return(missing), special_values.is_undefined_return(None))


# ---- utils ----

show("is_tensor", lambda: [type_check.is_tensor(1, tf.constant(1)), type_check.is_tensor(1, "a"), type_check.is_tensor()])
show("is_range", lambda: [tensors.is_range_tensor(x) for x in (tf.range(3), tf.constant([1]), 1)])
show("is_list", lambda: [tensors.is_tensor_list(x) for x in (new_list(), tf.constant(1), [])])
show("is_array", lambda: [tensors.is_tensor_array(x) for x in (tf.TensorArray(tf.int32, 1), new_list(), [])])
show("is_dense", lambda: [tensors.is_dense_tensor(x) for x in (tf.constant(1), tf.SparseTensor([[0]], [1], [1]), 1)])
show("capitalize", lambda: [misc.capitalize_initial(x) for x in ("", "a", "abC", "Ab")])
show("alias", lambda: misc.alias_tensors(tf.constant(3)))
show("alias several", lambda: list(misc.alias_tensors(tf.constant(3), "a", [1])))
show("alias nothing", misc.alias_tensors)
RANGES = [(0, 5, 2), (0, 6, 2), (5, 0, -2), (0, 5, -1), (3, 3, 1)]
show("range lengths", lambda: [misc.get_range_len(*map(tf.constant, each)) for each in RANGES])


def ordered():
    v = tf.compat.v1.get_variable("v", (), tf.int32, tf.zeros_initializer(), use_resource=True)
    with context_managers.control_dependency_on_returns(v.assign(4)), context_managers.control_dependency_on_returns(None):
        return v.read_value()


show("on returns", ordered)
show("py_func", lambda: py_func.wrap_py_func(lambda a, b, c: a + b + c, tf.int32, (1, tf.constant(2)), {"c": tf.constant(3)}))
show("py_func several", lambda: py_func.wrap_py_func(lambda a: (a, 2.0), (py_func.MatchDType(0), tf.float32), (tf.constant(2),)))
show("py_func match", lambda: py_func.wrap_py_func(lambda a: a, py_func.MatchDType(0), (1,)))
show("py_func dummy", lambda: py_func.wrap_py_func(lambda a: None, None, (tf.constant(2),), use_dummy_return=True))
show("py_func both", lambda: py_func.wrap_py_func(lambda a: a, tf.int32, (1,), use_dummy_return=True))
fake = testing.fake_tf()
print(type(fake).__name__, fake.__name__, callable(fake.add), callable(fake.reduce_sum), callable(fake.Graph))


# ---- names, rules, scopes ----

namer = naming.Namer({"tf__f", "g", "a_1", "TfFooBar"})
print([namer.function_name(each) for each in ("f", "f", "a.b", ("a.b", "c"))], namer.class_name("foo.bar"), namer.class_name(("foo", "x")))
print([namer.new_symbol(each, ()) for each in ("g", "g", "a", "a", "a_1", "b_7", "b_7", "x_y")])
print(namer.new_symbol("m", ["m", qual_names.QN("m_1"), qual_names.QN(qual_names.QN("m_2"), attr="m_3")]), sorted(namer.generated_names))
show("namer symbols", lambda: namer.new_symbol("m", [1]))
rules = config.DoNotConvert("a.b"), config.Convert("a")
print([str(each) for each in rules], [[each.get_action(types.ModuleType(m)).name for each in rules] for m in ("a", "a.b", "a.b.c", "a.bc")])
print([any(each.matches(m) for each in config.CONVERSION_RULES) for m in ("numpy.random", "collections", "tensorflow", "sonnet")])


def scoped(name, *features):
    options = converter.ConversionOptions(optional_features=features or None)
    with function_wrappers.FunctionScope(name, "scope", options) as scope:
        found = tf.constant(1, name="c")
        return found.name, scope.name, scope.mark_return_value({"a": found})["a"] is found


FEATURE = converter.Feature
show("scope", lambda: scoped("f"))
show("scope name", lambda: scoped("f", FEATURE.NAME_SCOPES))
show("scope hidden name", lambda: scoped("_f", FEATURE.NAME_SCOPES))
show("scope marks", lambda: scoped("f", FEATURE.AUTO_CONTROL_DEPS))
show("scope of lambda", lambda: function_wrappers.with_function_scope(
    lambda scope: (scope.name, tf.constant(1, name="c").name), "s", converter.ConversionOptions(optional_features=FEATURE.NAME_SCOPES)
))  # fmt: skip


def in_order():
    v = tf.compat.v1.get_variable("v", (), tf.int32, tf.zeros_initializer(), use_resource=True)
    with auto_control_deps.AutomaticControlDependencies() as dependencies:
        v.assign(2)
        v.assign_add(3)
        found = dependencies.mark_as_return(tf.constant(1))
        second = dependencies.mark_as_return(v.read_value())
        v.assign_add(10)
    with tf.control_dependencies([found]):
        return second, v.read_value()


show("order", in_order)


# ---- A-normal form ----


def normal(text, rules=None):
    node = parser.parse_str(text)
    info = transformer.EntityInfo(source_code=text, source_file="<text>", future_features=(), namespace={})
    try:
        made = anf.transform(node, transformer.Context(info), rules)
        print(compiler.ast_to_source(made, include_encoding_marker=False).strip())
    except ValueError as error:
        print(type(error).__name__, str(error))


def edges(*patterns):
    return [(pattern if pattern is anf.ANY else anf.ASTEdgePattern(*pattern), rule) for pattern, rule in patterns]


normal("def f(x, y):\n  a = g(x + 1, h(y))\n  return a * (x + y)")
normal("def f(x):\n  if g(x) > 2:\n    return g(g(x))\n  else:\n    x = -(-x)\n  return x")
normal("def f(x):\n  for i in g(x + 1):\n    print(i + 1)\n  return [x, [x, g(x)]]")
normal("def f(x):\n  with g(h(x)) as y:\n    y.a.b(k=x[1 + x])\n  return {x: g(1), y: 3}")
normal("def f(x):\n  x[g(1)] = h(2)\n  x.a += g(h(3))\n  del x[g(4)]\n  raise g(5)")
normal("def f(x):\n  return x[g(1):h(2)] + g(*h(x), k=1)")
normal("def f(x):\n  while x:\n    x = g(x - 1)\n  assert x\n  return x and y")
for text in (
    "while g(x):\n  pass", "assert g(x)", "x = a and g(b)", "x = lambda: g(1)", "x = a if g(b) else c", "x = [i for i in y]",
    "x = {i for i in y}", "x = {i: i for i in y}", "x = g(i for i in y)", "x = a < b < c",
):  # fmt: skip
    normal(text)
normal("def f(x):\n  return g(1, x + 2)", edges((anf.ANY, anf.REPLACE)))
normal("def f(x):\n  return g(x + 2)", edges((anf.ANY, anf.LEAVE)))
normal("def f(x):\n  if x + 1:\n    return x + 2", edges(((nodes.If, "test", anf.ANY), anf.REPLACE)))
normal("def f(x):\n  return g(h(x), x + 1)", edges(((anf.ANY, anf.ANY, nodes.BinOp), anf.LEAVE), ((nodes.Call, "args", anf.ANY), anf.REPLACE)))
normal("def f(x):\n  return g(x + 1, x - 1)", edges((anf.ANY, lambda parent, field, child: isinstance(getattr(child, "op", None), nodes.Sub))))
