"""Walks through public objects, and decorators that leave objects out of documents."""

import enum
import types

import pytest

from tfcompat._src.tools import doc_controls, public_objects


class Colour(enum.Enum):
    RED = 1
    CRIMSON = 1


def walked(root, wrap=lambda visit: visit):
    found = {}
    public_objects.traverse(root, wrap(lambda path, parent, children: found.update({path: (parent, [name for name, _ in children])})))
    return found


def test_walk_visits_modules_and_classes_once_below_themselves():
    module = types.ModuleType("m")
    module.Colour, module.itself, module.number, module.sys = Colour, module, 3, __import__("sys")
    found = walked(module)
    assert found[""][0] is module and "number" in found[""][1] and "itself" in found[""][1]
    assert found["Colour"][0] is Colour and {"RED", "CRIMSON"} <= set(found["Colour"][1])
    assert not {"itself", "number", "sys"} & set(found)
    assert walked(3) == {}


def test_children_that_are_taken_out_are_not_walked_through():
    module = types.ModuleType("m")
    module.Colour = Colour
    found = []
    public_objects.traverse(module, lambda path, parent, children: (found.append(path), children.clear()))
    assert found == [""]


def test_public_visitor_leaves_private_names_out():
    module, inner = types.ModuleType("m"), types.ModuleType("inner")
    module._hidden, module.Colour, module.inner, module.core, inner.secret = inner, Colour, inner, inner, Colour
    visitor = None

    def wrap(visit):
        nonlocal visitor
        visitor = public_objects.PublicAPIVisitor(visit)
        visitor.private_map["tf.inner"] = ["secret"]
        return visitor

    found = walked(module, wrap)
    assert {"", "Colour", "inner"} <= set(found) and not any(path.startswith(("core", "_hidden")) for path in found)
    assert "core" in found[""][1] and "_hidden" not in found[""][1] and "secret" not in found["inner"][1]
    assert "RED" in found["Colour"][1] and "__class__" not in found["Colour"][1]
    with pytest.raises(RuntimeError, match=r"Modules nested too deep:\nroot.a.b.c.d.e.f.g.h.i.j.k\n"):
        visitor.set_root_name("root")
        visitor("a.b.c.d.e.f.g.h.i.j.k", module, [])


class Base:
    @doc_controls.do_not_generate_docs
    def here(self):
        pass

    @doc_controls.do_not_doc_inheritable
    def everywhere(self):
        pass

    @doc_controls.for_subclass_implementers
    def below(self):
        pass

    @property
    @doc_controls.do_not_doc_inheritable
    def value(self):
        return 1


class Child(Base):
    def here(self):
        pass

    def everywhere(self):
        pass

    def below(self):
        pass


@pytest.mark.parametrize(
    "name, base, child", [("here", True, False), ("everywhere", True, True), ("below", False, True), ("value", True, True), ("__init__", False, False)]
)
def test_members_left_out_of_documents(name, base, child):
    """The table of doc_controls' decorators in TensorFlow 1.15."""
    assert (doc_controls.should_skip_class_attr(Base, name), doc_controls.should_skip_class_attr(Child, name)) == (base, child)


def test_members_that_a_class_lacks():
    assert doc_controls.should_skip_class_attr(Base, "name")
    with pytest.raises(AttributeError):
        doc_controls.should_skip_class_attr(Base, "absent")
    assert doc_controls.should_skip(Base.here) and not doc_controls.should_skip(Base.below)
