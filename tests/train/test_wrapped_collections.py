"""Lists and dicts as attributes of trackable objects: changes go both ways, and those that cannot be restored are refused."""

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
