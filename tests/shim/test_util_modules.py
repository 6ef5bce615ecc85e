"""Modules of tensorflow.python.util and framework that scripts import: decorators, stacks, collections, notices."""

import gc
import sys
import types

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base import tf_stack, traceable_stack
from tfcompat._src.platform import logging
from tfcompat._src.shim.internal import (
    all_util,
    decorator_utils,
    deprecation,
    error_interpolation,
    function_utils,
    keyword_args,
    lock_util,
    object_identity,
    serialization,
    tf_decorator,
    tf_export,
    tf_inspect,
    tf_should_use,
)


@pytest.fixture
def logged(monkeypatch):
    found = []
    for name in ("warning", "error", "fatal"):
        monkeypatch.setattr(logging, name, lambda text, *values, name=name: found.append((name, text % values if values else text)))
    return found


def test_deprecated_logs_once_and_edits_the_docstring(logged):
    @deprecation.deprecated("2020-01-02", "Use g.")
    def f(x):
        """First line.

        Rest.
        """
        return x

    assert [f(1), f(2)] == [1, 2] and len(logged) == 1
    assert "is deprecated and will be removed after 2020-01-02.\nInstructions for updating:\nUse g." in logged[0][1]
    assert __file__ in logged[0][1]
    assert f.__doc__ == (
        "First line. (deprecated)\n\nWarning: THIS FUNCTION IS DEPRECATED. It will be removed after 2020-01-02.\n"
        "Instructions for updating:\nUse g.\n\nRest."
    )
    with deprecation.silence():
        deprecation.deprecated(None, "x", warn_once=False)(len)("a")
    assert len(logged) == 1


@pytest.mark.parametrize(("date", "instructions"), [("20-1-1", "x"), (None, "")])
def test_deprecated_checks_date_and_instructions(date, instructions):
    with pytest.raises(ValueError):
        deprecation.deprecated(date, instructions)


def test_deprecated_args_warns_of_values_that_are_not_ok(logged):
    @deprecation.deprecated_args(None, "Drop b.", ("b", None))
    def f(a, b=None):
        return a, b

    f(1), f(1, None), f(1, b=None)
    assert not logged
    assert f(1, 2) == (1, 2) and f(1, b=3) == (1, 3)
    assert len(logged) == 1 and "with b is deprecated" in logged[0][1]
    with pytest.raises(ValueError, match=r"not present in the function signature: \['c'\]"):
        deprecation.deprecated_args(None, "x", "c")(f)


def test_deprecated_arg_values_and_alias(logged):
    @deprecation.deprecated_arg_values(None, "x", a=True)
    def f(a):
        return a

    f(False)
    assert not logged
    f(True)

    class New:
        def __init__(self, x):
            self.x = x

    old = deprecation.deprecated_alias("m.Old", "m.New", New)
    assert old(3).x == 3 and issubclass(old, New) and tf_inspect.getfullargspec(old.__init__).args == ["self", "x"]
    assert [text.split(":", 2)[2] for _, text in logged][1].endswith(" The name m.Old is deprecated. Please use m.New instead.\n")


def test_arguments_names_and_code_of_functions():
    class Callable:
        def __call__(self, a, b):
            return a, b

        def method(self, c, **options):
            return c, options

    assert function_utils.fn_args(lambda x, y: 0) == ("x", "y")
    assert function_utils.fn_args(Callable()) == ("a", "b")
    assert function_utils.fn_args(Callable().method) == ("c",)
    assert function_utils.has_kwargs(Callable().method) and not function_utils.has_kwargs(Callable())
    assert function_utils.get_func_name(Callable().method) == "Callable.method"
    assert function_utils.get_func_code(Callable()) is Callable.__call__.__code__
    with pytest.raises(ValueError, match="must be callable"):
        function_utils.get_func_name(3)
    with pytest.raises(ValueError, match="Must use keyword args to call len"):
        keyword_args.keyword_args_only(len)("a")
    with pytest.raises(ValueError, match="property appears before"):
        decorator_utils.validate_callable(property(len), "d")


def test_rewrap_replaces_the_target_that_a_decorator_calls():
    def target(x):
        return x

    def wrapper(x):
        return wrapper.__wrapped__(x) + 1

    decorated = tf_decorator.make_decorator(target, wrapper)
    assert decorated(1) == 2 and tf_decorator.unwrap(decorated)[1] is target
    assert tf_decorator.rewrap(decorated, target, lambda x: 10 * x) is decorated and decorated(1) == 11


def test_group_lock_lets_one_group_in():
    lock = lock_util.GroupLock(num_groups=2)
    with lock.group(0), lock.group(0):
        assert lock._group_member_counts == [2, 0]
    assert lock._group_member_counts == [0, 0]
    with pytest.raises(ValueError, match="between 0 and num_groups=2"):
        lock.acquire(2)


def test_identity_collections_compare_with_is():
    a, b = [1], [1]
    assert len(object_identity.ObjectIdentitySet([a, b, a])) == 2
    table = object_identity.ObjectIdentityDictionary()
    table[a], table[b] = 1, 2
    assert (table[a], table[b]) == (1, 2) and object_identity.Reference(a) != object_identity.Reference(b)

    class Thing:
        pass

    weak, thing = object_identity.ObjectIdentityWeakSet(), Thing()
    weak.add(thing)
    assert thing in weak and len(weak) == 1
    del thing
    gc.collect()
    assert len(weak) == 0
    with pytest.raises(TypeError, match="Cannot compare wrapped object with unwrapped"):
        object_identity.Reference(a) == a


def test_json_types():
    assert serialization.get_json_type(np.float32(2)) == 2.0 and serialization.get_json_type(np.array([1, 2])) == [1, 2]
    assert serialization.get_json_type(tf.TensorShape([1, None])) == [1, None] and serialization.get_json_type(tf.Dimension(3)) == 3
    assert serialization.get_json_type(int) == "int"
    with pytest.raises(TypeError, match="Not JSON Serializable"):
        serialization.get_json_type({1})


def test_unused_results_complain(logged):
    def make():
        return tf_should_use._add_should_use_warning(tf.constant(2))

    with tf.Graph().as_default():
        make()
        gc.collect()
        assert [kind for kind, _ in logged] == ["error"] and "Object was never used" in logged[0][1]
        used, marked = make(), make()
        with tf.Session() as session:
            assert session.run([used, used + 1]) == [2, 3]
        marked.mark_used()
        del used, marked
        gc.collect()
    assert len(logged) == 1


def test_exported_names():
    @tf_export.tf_export("a.f", "b.f", v1=["old.f"])
    def f():
        pass

    assert tf_export.get_canonical_name_for_symbol(f) == "a.f"
    assert tf_export.get_v2_names(f) == ["a.f", "b.f"] and tf_export.get_v1_names(f) == ["old.f"]
    with pytest.raises(tf_export.SymbolAlreadyExposedError):
        tf_export.tf_export("c.f")(f)
    with pytest.raises(tf_export.InvalidSymbolNameError):
        tf_export.tf_export("estimator.f")


def test_stack_blocks_rename_and_hide_frames():
    class Elsewhere(tf_stack.StackTraceMapper):
        def get_effective_source_map(self):
            return {(__file__, here.lineno): ("x.py", 7, "g")}

    here = tf_stack.extract_stack(limit=1)[0]
    with Elsewhere():
        frames = [tf_stack.extract_stack(limit=1)[0] for _ in "a"]
    assert here.name == "test_stack_blocks_rename_and_hide_frames" and frames[0].filename == __file__

    def inner():
        return tf_stack.extract_stack(limit=3)

    with tf_stack.CurrentModuleFilter():
        assert [frame.filename for frame in inner()].count(__file__) == 1

    stack = traceable_stack.TraceableStack()
    assert stack.push_obj("a") == traceable_stack.TraceableObject.SUCCESS
    assert [(each.obj, each.filename) for each in stack.peek_traceable_objs()] == [("a", __file__)]
    assert stack.push_obj("b", offset=1000) == traceable_stack.TraceableObject.HEURISTIC_USED
    assert list(stack.peek_objs()) == ["b", "a"] and stack.pop_obj() == "b" and len(stack.copy()) == 1


def test_messages_say_where_nodes_were_made():
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:0"):
            a = tf.constant(1.0, name="a")
        with tf.colocate_with(a):
            tf.constant(2.0, name="b")
    assert error_interpolation.parse_message("x{{node a}}y") == (["x", "y"], [("node", "a")])
    said = error_interpolation.interpolate("{{node a}}!", graph)
    assert said.startswith("node a (defined at ") and __file__.rpartition("/")[2] in said and said.endswith(") !")
    devices = error_interpolation.interpolate("{{colocation_node a}}", graph)
    assert f"with tf.device(/cpu:0): <{__file__}:" in devices
    assert f"with tf.colocate_with(a): <{__file__}:" in error_interpolation.interpolate("{{colocation_node b}}", graph)
    assert error_interpolation.interpolate("{{node none}}", graph) == "{{node none}}"


def test_undocumented_names_are_removed_and_revealed(monkeypatch):
    module = types.ModuleType("some.module", "First line.\n\n@@documented\n@@missing\n @@indented\n")
    vars(module).update(documented=1, other=2, allowed=3, _private=4, indented=5)
    monkeypatch.setitem(sys.modules, "some.module", module)
    assert all_util.make_all("some.module") == ["documented"]
    all_util.remove_undocumented("some.module", ["allowed"])
    assert sorted(n for n in vars(module) if not n.startswith("__")) == ["_private", "allowed", "documented"]
    all_util.reveal_undocumented("some.module.other")
    assert module.other == 2
    target = types.ModuleType("target")
    all_util.reveal_undocumented("some.module.indented", target)
    assert target.indented == 5 and not hasattr(module, "indented")
    with pytest.raises(LookupError, match="Symbol some.module.allowed is not a hidden symbol"):
        all_util.reveal_undocumented("some.module.allowed")
