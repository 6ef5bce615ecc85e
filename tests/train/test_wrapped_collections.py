"""Lists and dicts as attributes of trackable objects: changes go both ways, and those that cannot be restored are refused."""

import collections
import copy
import json
import pickle

import numpy as np
import pytest

import tfcompat as tf


def holder(value):
    found = tf.train.Checkpoint()
    found.held = value
    return found


def test_the_original_list_sees_what_is_appended_to_the_attribute():
    original = []
    root = holder(original)
    root.held.append(3)
    assert original == [3]


@pytest.mark.parametrize("change", [lambda x: x.append(tf.train.Checkpoint()), lambda x: x.clear()])
def test_a_list_changed_from_outside_is_not_saved(change):
    original = [tf.train.Checkpoint()]
    root = holder(original)
    change(original)
    with pytest.raises(ValueError, match="The wrapped list was modified"):
        tf.contrib.checkpoint.list_objects(root)


def test_a_dict_changed_from_outside_is_not_saved():
    original = {"a": tf.train.Checkpoint()}
    root = holder(original)
    root.held["b"] = 1
    assert original["b"] == 1
    original["c"] = 2
    with pytest.raises(ValueError, match="The wrapped dictionary was modified"):
        tf.contrib.checkpoint.list_objects(root)


def test_a_list_with_a_replaced_element_is_not_saved():
    root = holder([])
    root.held.insert(0, 1)
    with pytest.raises(ValueError, match="A list element was replaced"):
        tf.contrib.checkpoint.list_objects(root)


def test_a_template_has_its_variables_as_dependencies():
    with tf.Graph().as_default():
        template = tf.make_template("part", lambda: tf.get_variable("v", [1]))
        variable = template()
        assert [d.name for d in template._checkpoint_dependencies] == ["v"]
        assert template._checkpoint_dependencies[0].ref is variable


# ---- wrappers; expected values are those of TensorFlow 1.15.5 ----


def variable():
    return tf.Variable(1.0, use_resource=True)


def names(root):
    """The names of all dependencies below `root`, depth first."""
    return [(d.name, names(d.ref)) if names(d.ref) else d.name for d in root._checkpoint_dependencies]


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict])
def test_layers_of_a_dict_are_layers_of_the_model_in_the_order_of_keys(kind):
    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.held = kind([("z", tf.keras.layers.Dense(1)), ("a", tf.keras.layers.Dense(2))])

        def call(self, x):
            return self.held["a"](self.held["z"](x))

    with tf.Graph().as_default():
        model = Model()
        model(tf.zeros([1, 4]))
        assert [w.shape.as_list() for w in model.weights] == [[1, 2], [2], [4, 1], [1]]
        assert isinstance(model.held, kind) and list(model.held) == ["z", "a"]


def test_dependencies_are_named_by_keys_and_positions():
    with tf.Graph().as_default():
        root = holder([variable(), [variable()], {"q": variable()}, (variable(),), 3])
        root.other = collections.OrderedDict([("b", variable()), ("a", [variable()])])
        assert names(root) == [("held", ["0", ("1", ["0"]), ("2", ["q"])]), ("other", ["b", ("a", ["0"])])]


def test_the_wrappers_share_the_original_in_both_directions():
    inner, outer = [1], {"a": 1}
    root = holder([inner])
    root.other = outer
    inner.append(2)
    outer["b"] = 2
    assert root.held == [[1, 2]] and root.other == {"a": 1, "b": 2}
    assert repr(root.held) == "ListWrapper([ListWrapper([1, 2])])"
    assert repr(root.other) == "DictWrapper({'a': 1, 'b': 2})" and str(root.other) == "{'a': 1, 'b': 2}"


def test_an_ordered_dict_keeps_its_own_methods():
    root = holder(collections.OrderedDict([("z", 1), ("y", 2)]))
    root.held.move_to_end("z")
    assert list(root.held) == ["y", "z"] and repr(root.held).startswith("DictWrapper(OrderedDict(")
    root.held.mark = 1
    assert root.held.__wrapped__.mark == 1
    with pytest.raises(AttributeError, match="'dict' object has no attribute 'mark'"):
        holder({}).held.mark = 1


@pytest.mark.parametrize(("value", "name"), [([1], "ListWrapper"), ({}, "DictWrapper")])
def test_wrappers_cannot_be_hashed(value, name):
    with pytest.raises(TypeError, match=f"unhashable type: '{name}'"):
        hash(holder(value).held)


def test_wrapped_lists_calculate_and_compare_as_lists_do():
    held = holder([1, 2]).held
    for found, expected in (([0] + held, [0, 1, 2]), (held + [3], [1, 2, 3]), (2 * held, [1, 2, 1, 2]), (held.copy(), [1, 2])):
        assert type(found) is type(held) and found == expected
    assert held < [2] and [0] < held and held[:1] == [1] and json.dumps(held) == "[1, 2]" and np.array(held).tolist() == [1, 2]
    held[1:2] = [8, 9]
    held.reverse()
    assert held == [9, 8, 1] and held.pop() == 1
    held *= 0
    assert repr(held) == "ListWrapper([])"


def test_copies_and_pickles_of_wrappers():
    held, entries = holder([1, [2]]).held, holder(collections.OrderedDict(a=[1])).held
    assert all(type(f(held)) is type(held) for f in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))))
    assert type(pickle.loads(pickle.dumps(entries))) is collections.OrderedDict
    copied = copy.deepcopy(entries)
    assert repr(copied).startswith("DictWrapper(OrderedDict(") and copied["a"] is not entries["a"]
    copied["a"].append(2)
    assert entries["a"] == [1]


def _replace(x):
    x.held[0] = variable()


def _put(x):
    x.other[3] = variable()


REFUSED = [
    (_replace, "A list element was replaced"), (lambda x: x.held.pop(), "A list element was replaced"),
    (lambda x: x.held.sort(), "A list element was replaced"), (lambda x: x.held.__imul__(0), "The wrapped list was modified"),
    (lambda x: x.other.pop("a"), "The wrapped dictionary was modified"), (_put, "contains a non-string key which maps"),
    (lambda x: x.other.setdefault("b", 1), "The wrapped dictionary was modified"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_changes_that_creation_cannot_repeat_are_refused_when_saving(change, message):
    with tf.Graph().as_default():
        root = holder([variable()])
        root.other = {"a": variable()}
        names(root)
        change(root)
        with pytest.raises(ValueError, match=message):
            names(root)


def test_changes_that_can_be_saved():
    with tf.Graph().as_default():
        root = holder([variable(), 2])
        root.held[1] = variable()
        root.held *= 2
        root.other = {"a": variable(), 1: 3, "b": variable()}
        root.other["a"] = variable()
        del root.other["b"]
        assert names(root) == [("held", ["0", "1", "2", "3"]), ("other", ["a", "b"])]


def test_what_is_no_dependency_is_not_wrapped():
    no_dependency = tf.contrib.checkpoint.NoDependency
    with tf.Graph().as_default():
        root = holder([no_dependency([1]), no_dependency(variable())])
        root.other = {}
        root.other[3] = no_dependency(variable())
        root.held.append(no_dependency({}))
        assert [type(x) for x in (root.held[0], root.held[2])] == [list, dict] and not names(root.held) + names(root.other)


def test_lists_and_mappings_of_contrib_compare_by_identity():
    kinds = tf.contrib.checkpoint
    assert kinds.List([]) != kinds.List([]) and kinds.Mapping() != {} and len({kinds.List([]), kinds.List([])}) == 2
    with pytest.raises(ValueError, match="multiplying in place by -3 removes elements"):
        kinds.List([tf.train.Checkpoint()]).__imul__(-3)
    with pytest.raises(ValueError, match="may be stored in a List object. Got 4"):
        kinds.Mapping({"3": 4})


def test_names_are_made_unique_in_order():
    names_made = tf.contrib.checkpoint.UniqueNameTracker()
    for name in ("a", "a", "a_1", "a"):
        names_made.track(tf.train.Checkpoint(), name)
    assert names(names_made) == ["a", "a_1", "a_1_1", "a_2"]


def test_a_trace_serves_plain_and_wrapped_arguments():
    with tf.Graph().as_default():
        traced = tf.function(lambda d, xs: d["x"] + xs[0])
        one = tf.constant(1.0)
        plain = traced.get_concrete_function({"x": one}, [one])
        assert traced.get_concrete_function(holder(collections.OrderedDict(x=one)).held, holder([one]).held) is plain


def test_functions_in_lists_and_dicts_are_saved_with_the_model(tmp_path):
    def adds(n):
        return tf.function(lambda x: x + n, input_signature=[tf.TensorSpec([], tf.float32)])

    with tf.Graph().as_default(), tf.Session() as session:
        module = tf.Module()
        module.by_name, module.in_order = {"a": adds(1.0)}, [adds(2.0)]
        tf.saved_model.save(module, str(tmp_path))
        loaded = tf.compat.v2.saved_model.load(str(tmp_path))
        assert session.run([loaded.by_name["a"](1.0), loaded.in_order[0](1.0)]) == [2.0, 3.0]
