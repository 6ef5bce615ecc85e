"""Decorators that say which objects are left out of generated documents; tf.keras' and TensorFlow's generators ask for them."""

from __future__ import annotations

from typing import Any, TypeVar

_Object = TypeVar("_Object")
_DO_NOT_DOC = "_tf_docs_do_not_document"
_DO_NOT_DOC_INHERITABLE = "_tf_docs_do_not_doc_inheritable"
_FOR_SUBCLASS_IMPLEMENTERS = "_tf_docs_tools_for_subclass_implementers"


def do_not_generate_docs(obj: _Object) -> _Object:
    """Leaves an object out; an override in a subclass is documented."""
    setattr(obj, _DO_NOT_DOC, None)
    return obj


def do_not_doc_inheritable(obj: _Object) -> _Object:
    """Leaves a member of a class out, there and in all subclasses, overrides included."""
    setattr(obj, _DO_NOT_DOC_INHERITABLE, None)
    return obj


def for_subclass_implementers(obj: _Object) -> _Object:
    """Documents a member in the class that defines it, and in no subclass."""
    setattr(obj, _FOR_SUBCLASS_IMPLEMENTERS, None)
    return obj


do_not_doc_in_subclasses = for_subclass_implementers


def _getter(obj: object) -> Any:
    return obj.fget if isinstance(obj, property) else obj


def should_skip(obj: object) -> bool:
    """Whether an object is left out by a decorator of its own."""
    return hasattr(_getter(obj), _DO_NOT_DOC) or hasattr(_getter(obj), _DO_NOT_DOC_INHERITABLE)


def should_skip_class_attr(cls: type, name: str) -> bool:
    """Whether the member `name` of a class is left out, by a decorator in the class or one of its bases."""
    if not hasattr(cls, name):
        if name in ("name", "value"):  # members of an enumeration's elements, which the enumeration itself lacks
            return True
        raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
    if should_skip(getattr(cls, name)):
        return True
    if hasattr(_getter(vars(cls).get(name)), _FOR_SUBCLASS_IMPLEMENTERS):
        return False
    inherited = [_getter(getattr(base, name, None)) for base in cls.__mro__[1:]]
    return any(hasattr(member, _DO_NOT_DOC_INHERITABLE) or hasattr(member, _FOR_SUBCLASS_IMPLEMENTERS) for member in inherited)
