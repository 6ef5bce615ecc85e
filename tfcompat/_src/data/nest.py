"""Structures of dataset elements: tuples, named tuples, mappings and attrs objects.

Unlike in base/nest, lists are leaves, as they become tensors. Mappings are flattened in the order of their sorted keys.
"""

from __future__ import annotations

import collections.abc
from collections.abc import Callable
from typing import Any

from tfcompat._src.nodes.sparse_tensor import SparseTensorValue


def is_sequence(value: object) -> bool:
    """Whether `value` is a structure, and not a leaf; lists and SparseTensorValues are leaves."""
    if isinstance(value, SparseTensorValue):
        return False
    return isinstance(value, (tuple, collections.abc.Mapping)) or hasattr(type(value), "__attrs_attrs__")


def _children(structure: Any) -> list[Any]:
    """Returns the direct parts of a structure."""
    if isinstance(structure, collections.abc.Mapping):
        return [structure[key] for key in sorted(structure)]
    if hasattr(type(structure), "__attrs_attrs__"):
        return [getattr(structure, a.name) for a in type(structure).__attrs_attrs__]
    return list(structure)


def _like(instance: Any, children: list[Any]) -> Any:
    """Returns a structure of the type of `instance` with other children; a mapping keeps the order of its keys."""
    if isinstance(instance, collections.abc.Mapping):
        by_key = dict(zip(sorted(instance), children))
        make: Callable[..., Any] = type(instance)  # of pairs, as dict
        return make((key, by_key[key]) for key in instance)
    if hasattr(type(instance), "__attrs_attrs__") or hasattr(instance, "_fields"):
        return type(instance)(*children)
    return type(instance)(children)


def flatten(structure: object) -> list[Any]:
    """Returns the leaves of a structure, depth first."""
    if not is_sequence(structure):
        return [structure]
    return [leaf for child in _children(structure) for leaf in flatten(child)]


def pack_sequence_as(structure: object, flat_sequence: object) -> Any:
    """Returns the leaves `flat_sequence` in the form of `structure`.

    Raises:
      TypeError: `flat_sequence` is not a list or tuple. ValueError: it does not have as many elements as `structure` has leaves.
    """
    if not isinstance(flat_sequence, (list, tuple)):
        raise TypeError("flat_sequence must be a sequence")
    wanted = len(flatten(structure))
    if wanted != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {wanted} elements, but flat_sequence had {len(flat_sequence)} elements.  "
            f"Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return _packed(structure, iter(flat_sequence))


def _packed(structure: object, leaves: Any) -> Any:
    if not is_sequence(structure):
        return next(leaves)
    return _like(structure, [_packed(child, leaves) for child in _children(structure)])


def map_structure(func: Callable[..., Any], *structure: object, check_types: bool = True) -> Any:
    """Applies `func` to the corresponding leaves of structures; returns the results in the form of the first.

    Raises:
      TypeError: `func` is not callable, or types of structures differ. ValueError: no structure is given, or structures differ.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=check_types)
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*map(flatten, structure))])


def assert_same_structure(nest1: object, nest2: object, check_types: bool = True) -> None:
    """Raises ValueError if two structures differ, or, with `check_types`, TypeError if the types of their parts do."""
    if len(flatten(nest1)) != len(flatten(nest2)):
        raise ValueError(
            f"The two structures don't have the same number of elements. First structure: {nest1}, second structure: {nest2}."
        )
    _assert_alike(nest1, nest2, check_types)


def _assert_alike(one: object, other: object, check_types: bool) -> None:
    """Compares two structures recursively; the order of keys of mappings does not matter."""
    if is_sequence(one) != is_sequence(other):
        raise ValueError(f"The two structures don't have the same nested structure. First structure: {one}, second structure: {other}.")
    if not is_sequence(one):
        return
    if check_types and type(one) is not type(other):
        raise TypeError(
            f"The two structures don't have the same sequence type. First structure has type {type(one)}, while second "
            f"structure has type {type(other)}."
        )
    if isinstance(one, collections.abc.Mapping) and isinstance(other, collections.abc.Mapping) and set(one) != set(other):
        raise ValueError(f"The two dictionaries don't have the same set of keys: {sorted(one)} and {sorted(other)}.")
    mine, theirs = _children(one), _children(other)
    if len(mine) != len(theirs):
        raise ValueError(f"The two structures don't have the same nested structure. First structure: {one}, second structure: {other}.")
    for a, b in zip(mine, theirs):
        _assert_alike(a, b, check_types)


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Raises ValueError or TypeError unless `input_tree` has the structure of `shallow_tree` down to the leaves of that."""
    if not is_sequence(shallow_tree):
        return
    if not is_sequence(input_tree):
        raise TypeError(f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(input_tree)}.")
    if check_types and not isinstance(input_tree, type(shallow_tree)):
        raise TypeError(
            f"The two structures don't have the same sequence type. Input structure has type {type(input_tree)}, while shallow "
            f"structure has type {type(shallow_tree)}."
        )
    # A subclass of the shallow structure's type is accepted. Below its leaves, anything is.
    mine, theirs = _children(shallow_tree), _children(input_tree)
    if len(mine) != len(theirs):
        raise ValueError(
            f"The two structures don't have the same sequence length. Input structure has length {len(theirs)}, while shallow "
            f"structure has length {len(mine)}."
        )
    if check_types and isinstance(shallow_tree, collections.abc.Mapping) and set(shallow_tree) != set(input_tree):
        raise ValueError(f"The two structures don't have the same keys. Input structure has keys {sorted(input_tree)}, while shallow structure has keys {sorted(shallow_tree)}.")
    for a, b in zip(mine, theirs):
        assert_shallow_structure(a, b, check_types)


def flatten_up_to(shallow_tree: object, input_tree: object) -> list[Any]:
    """Returns the parts of `input_tree` at the positions of the leaves of `shallow_tree`."""
    assert_shallow_structure(shallow_tree, input_tree)
    if not is_sequence(shallow_tree):
        return [input_tree]
    pairs = zip(_children(shallow_tree), _children(input_tree))
    return [leaf for shallow, deep in pairs for leaf in flatten_up_to(shallow, deep)]


def map_structure_up_to(shallow_tree: object, func: Callable[..., Any], *inputs: object) -> Any:
    """Applies `func` to the parts of `inputs` at the leaves of `shallow_tree`; returns the results in the form of that."""
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    parts = [flatten_up_to(shallow_tree, each) for each in inputs]
    return pack_sequence_as(shallow_tree, [func(*leaves) for leaves in zip(*parts)])
