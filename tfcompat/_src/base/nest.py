"""tf.nest: nested structures of lists, tuples, named tuples, mappings, attrs objects and composite tensors.

All other values are leaves. Mappings are traversed in the order of their sorted keys. With `expand_composites=True` the components
of composite tensors (and of their TypeSpecs) are traversed too. Error texts are 1.15's.
"""

from __future__ import annotations

import collections
import collections.abc
import enum
import functools
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.base.composite_tensor import CompositeTensor, Expandable
from tfcompat._src.base.export import export

_STRUCTURES_HAVE_MISMATCHING_LENGTHS = (
    "The two structures don't have the same sequence length. Input structure has length {input_length}, while shallow "
    "structure has length {shallow_length}."
)
_INPUT_TREE_SMALLER_THAN_SHALLOW_TREE = (
    "The input_tree has fewer elements than the shallow_tree. Input structure has length {input_size}, while shallow "
    "structure has length {shallow_size}."
)
_STRUCTURES_HAVE_MISMATCHING_TYPES = (
    "The two structures don't have the same sequence type. Input structure has type {input_type}, while shallow "
    "structure has type {shallow_type}."
)
_SHALLOW_TREE_HAS_INVALID_KEYS = (
    "The shallow_tree's keys are not a subset of the input_tree's keys. The shallow_tree has the following keys that "
    "are not in the input_tree: {}."
)
_IF_SHALLOW_IS_SEQ_INPUT_MUST_BE_SEQ = (
    "If shallow structure is a sequence, input must also be a sequence. Input has type: {}."
)


# ---- kinds of values ----


class _Kind(enum.Enum):
    """How a value is traversed and rebuilt."""

    LEAF = 0
    SEQUENCE = 1
    NAMEDTUPLE = 2
    MAPPING = 3
    VIEW = 4
    ATTRS = 5
    COMPOSITE = 6


def _find_kind(cls: type) -> _Kind:
    """Returns the kind of a class. A class may match several tests, so their order matters: 1.15's."""
    if issubclass(cls, Expandable) and cls._expands:
        return _Kind.COMPOSITE
    if issubclass(cls, collections.abc.Mapping):
        return _Kind.MAPPING
    if issubclass(cls, collections.abc.MappingView):
        return _Kind.VIEW
    if hasattr(cls, "__attrs_attrs__"):
        return _Kind.ATTRS
    if issubclass(cls, tuple) and all(isinstance(f, str) for f in getattr(cls, "_fields", (None,))):
        return _Kind.NAMEDTUPLE
    if issubclass(cls, collections.abc.Sequence) and not issubclass(cls, (str, bytes)):
        return _Kind.SEQUENCE
    return _Kind.LEAF


# issubclass with abstract base classes is slow, so kinds are cached by type.
_kind_of_type: Callable[[type], _Kind] = functools.lru_cache(maxsize=4096)(_find_kind)


def _kind(value: object, expand_composites: bool) -> _Kind:
    kind = _kind_of_type(type(value))
    return _Kind.LEAF if kind is _Kind.COMPOSITE and not expand_composites else kind


@export("nest.is_nested")
def is_nested(seq: object) -> bool:
    """Returns whether `seq` is a structure: a sequence (not str or bytes), a mapping, a mapping view or an attrs object."""
    return _kind(seq, False) is not _Kind.LEAF


is_sequence = is_nested


def is_sequence_or_composite(seq: object) -> bool:
    """Returns whether `seq` is a structure, a composite tensor or the TypeSpec of one."""
    return _kind(seq, True) is not _Kind.LEAF


def _is_attrs(value: object) -> bool:
    return hasattr(type(value), "__attrs_attrs__")


def _is_mapping(value: object) -> bool:
    return isinstance(value, collections.abc.Mapping)


def _is_namedtuple(value: object, strict: bool = False) -> bool:
    """Whether `value` is a named tuple; with `strict`, of a class made by `namedtuple`, not of a subclass."""
    return _kind_of_type(type(value)) is _Kind.NAMEDTUPLE and (not strict or type(value).__base__ is tuple)


def _same_namedtuples(a: Any, b: Any) -> bool:
    return type(a).__name__ == type(b).__name__ and type(a)._fields == type(b)._fields


def _items(structure: Any, kind: _Kind) -> list[tuple[Any, Any]]:
    """Returns the (key, child) pairs of a structure in traversal order."""
    if kind is _Kind.MAPPING:
        return [(key, structure[key]) for key in sorted(structure)]
    if kind is _Kind.NAMEDTUPLE:
        return list(zip(structure._fields, structure))
    if kind is _Kind.ATTRS:
        return [(a.name, getattr(structure, a.name)) for a in type(structure).__attrs_attrs__]
    if kind is _Kind.COMPOSITE:
        return [(structure._nest_key(), structure._nest_components())]
    return list(enumerate(structure))


def _children(structure: Any, kind: _Kind) -> Any:
    """Returns the children of a structure in traversal order."""
    if kind is _Kind.SEQUENCE or kind is _Kind.NAMEDTUPLE or kind is _Kind.VIEW:
        return structure
    if kind is _Kind.MAPPING:
        return [structure[key] for key in sorted(structure)]
    return [child for _, child in _items(structure, kind)]


def _sequence_like(instance: Any, args: list[Any]) -> Any:
    """Returns a structure of the type of `instance` with the children `args`, which are in traversal order."""
    kind = _kind_of_type(type(instance))
    if kind is _Kind.MAPPING:
        values = dict(zip(sorted(instance), args, strict=True))
        pairs = [(key, values[key]) for key in instance]  # the original order, which an OrderedDict keeps
        if isinstance(instance, collections.defaultdict):
            return type(instance)(instance.default_factory, pairs)
        return type(instance)(pairs)
    # Their constructors take one argument per field, those of lists and tuples one iterable.
    if kind is _Kind.NAMEDTUPLE or kind is _Kind.ATTRS:
        return type(instance)(*args)
    if kind is _Kind.COMPOSITE:
        return instance._nest_spec()._from_components(args[0])
    # Views and ranges cannot be made of values.
    if kind is _Kind.VIEW or isinstance(instance, range):
        return list(args)
    return type(instance)(args)


# ---- flatten, compare, pack ----


def _flatten_into(structure: object, expand_composites: bool, leaves: list[Any]) -> None:
    """Appends the leaves of a structure to `leaves`."""
    kind = _kind(structure, expand_composites)
    if kind is _Kind.LEAF:
        leaves.append(structure)
        return
    for child in _children(structure, kind):
        _flatten_into(child, expand_composites, leaves)


@export("nest.flatten")
def flatten(structure: object, expand_composites: bool = False) -> list[Any]:
    """Returns the leaves of a structure as a list, `[structure]` for a leaf; raises TypeError if keys cannot be sorted."""
    leaves: list[Any] = []
    _flatten_into(structure, expand_composites, leaves)
    return leaves


class _Dot:
    """A leaf in the printed outline of a structure."""

    def __repr__(self) -> str:
        return "."


_DOT = _Dot()


def _outline(structure: object, expand_composites: bool) -> str:
    """Returns the text of a structure with "." for each leaf."""
    return str(map_structure(lambda _: _DOT, structure, expand_composites=expand_composites))


def _described(value: object) -> str:
    return f"type={type(value).__name__} str={value}"


def _check_same_type(a: Any, b: Any) -> None:
    """Raises TypeError unless two structures are containers of matching types, ValueError if two mappings have different keys."""
    # As in 1.15, named tuples match by name and fields, mappings by keys whatever their types, and lists with subclasses of list.
    if _is_namedtuple(a, strict=True) and _is_namedtuple(b, strict=True):
        same = _same_namedtuples(a, b)
    elif _is_mapping(a) and _is_mapping(b):
        if set(a) != set(b):
            raise ValueError(
                "The two dictionaries don't have the same set of keys. First structure has keys "
                f"{_described(list(a))}, while second structure has keys {_described(list(b))}"
            )
        same = True
    else:
        same = type(a) is type(b) or (isinstance(a, list) and isinstance(b, list))
    if not same:
        raise TypeError(
            f"The two namedtuples don't have the same sequence type. First structure {_described(a)} has type "
            f"{type(a).__name__}, while second structure {_described(b)} has type {type(b).__name__}"
        )


def _check_compatible_specs(a: Expandable, b: Expandable) -> None:
    """Raises ValueError unless two composite tensors (or TypeSpecs) have a common type."""
    try:
        a._nest_spec().most_specific_compatible_type(b._nest_spec())
    except (TypeError, ValueError) as error:
        raise ValueError(f"Incompatible CompositeTensor TypeSpecs: {_described(a)} vs. {_described(b)} -- {error}") from error


def _assert_same(a: Any, b: Any, check_types: bool, expand_composites: bool) -> None:
    """Raises unless two structures are nested alike; the message tells the first difference."""
    kind_a, kind_b = _kind(a, expand_composites), _kind(b, expand_composites)
    if (kind_a is _Kind.LEAF) != (kind_b is _Kind.LEAF):
        # The message names the container first, whichever argument it is.
        nested, leaf = (b, a) if kind_a is _Kind.LEAF else (a, b)
        raise ValueError(
            f'Substructure "{_described(nested)}" is a sequence, while substructure "{_described(leaf)}" is not'
        )
    if kind_a is _Kind.LEAF:
        return
    if kind_a is _Kind.COMPOSITE and kind_b is _Kind.COMPOSITE:
        # A composite tensor may be compared with a TypeSpec; then only the specs count.
        if check_types and isinstance(a, CompositeTensor) and isinstance(b, CompositeTensor):
            _check_same_type(a, b)
        _check_compatible_specs(a, b)
    elif check_types:
        _check_same_type(a, b)
    # The common children come first: 1.15 reports a difference inside them rather than that of the lengths.
    children_a, children_b = list(_children(a, kind_a)), list(_children(b, kind_b))
    for child_a, child_b in zip(children_a, children_b):
        _assert_same(child_a, child_b, check_types, expand_composites)
    if len(children_a) != len(children_b):
        raise ValueError(
            "The two structures don't have the same number of elements. "
            f"First structure: {_described(a)}. Second structure: {_described(b)}"
        )


@export("nest.assert_same_structure")
def assert_same_structure(nest1: object, nest2: object, check_types: bool = True, expand_composites: bool = False) -> None:
    """Checks that two structures are nested alike.

    Mappings of any types match each other, as do lists and their subclasses.

    Raises:
      ValueError: nesting, keys or numbers of elements differ.
      TypeError: the types of containers differ, and `check_types` is True.
    """
    try:
        _assert_same(nest1, nest2, check_types, expand_composites)
    except (ValueError, TypeError) as error:
        raise type(error)(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {_described(nest1)}\n\nSecond structure: {_described(nest2)}\n\n"
            f"More specifically: {error}\n"
            f"Entire first structure:\n{_outline(nest1, expand_composites)}\n"
            f"Entire second structure:\n{_outline(nest2, expand_composites)}"
        ) from None


def _pack(structure: object, kind: _Kind, leaves: Iterator[Any], expand_composites: bool) -> Any:
    """Rebuilds a structure with the next leaves of an iterator."""
    args = []
    for child in _children(structure, kind):
        child_kind = _kind(child, expand_composites)
        args.append(next(leaves) if child_kind is _Kind.LEAF else _pack(child, child_kind, leaves, expand_composites))
    return _sequence_like(structure, args)


@export("nest.pack_sequence_as")
def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Returns a structure nested like `structure` with the leaves `flat_sequence`, in the order of `flatten`.

    Raises:
      TypeError: `flat_sequence` is not a sequence. ValueError: it does not have one element per leaf.
    """
    if not is_nested(flat_sequence):
        raise TypeError("flat_sequence must be a sequence")
    kind = _kind(structure, expand_composites)
    if kind is _Kind.LEAF:
        if len(flat_sequence) != 1:
            raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(flat_sequence)} > 1")
        return flat_sequence[0]
    # Counted first, so that a wrong number of leaves raises before anything is built.
    wanted = len(flatten(structure, expand_composites))
    if wanted != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {wanted} elements, but flat_sequence had {len(flat_sequence)} "
            f"elements.  Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return _pack(structure, kind, (flat_sequence[i] for i in range(wanted)), expand_composites)


@export("nest.map_structure")
def map_structure(func: Callable[..., Any], *structure: object, **kwargs: bool) -> Any:
    """Applies `func` to corresponding leaves of structures that are nested alike; returns a structure of the results.

    Args:
      func: a function of one leaf of each structure.
      *structure: the structures.
      **kwargs: `check_types` (True by default) and `expand_composites` (False by default).

    Raises:
      TypeError: `func` is not callable, or types of containers differ.
      ValueError: there is no structure, the structures differ, or a keyword is unknown.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types = kwargs.pop("check_types", True)
    expand_composites = kwargs.pop("expand_composites", False)
    if kwargs:
        unknown = "`, `".join(kwargs)
        raise ValueError(
            f"Only valid keyword arguments are `check_types` and `expand_composites`, not: `{unknown}`"
        )
    # Structures are compared before `func` is called for any leaf.
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=check_types, expand_composites=expand_composites)
    leaves = [flatten(s, expand_composites) for s in structure]
    return pack_sequence_as(structure[0], [func(*x) for x in zip(*leaves)], expand_composites)


# ---- paths, and structures that are deeper than another ----


def _yield_paths_up_to(shallow: object, value: object, expand_composites: bool, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields (path, part of `value`) for each leaf of `shallow`."""
    kind = _kind(shallow, expand_composites)
    if kind is _Kind.LEAF:
        yield path, value
        return
    children = dict(_items(value, _kind(value, expand_composites)))
    for key, child in _items(shallow, kind):
        yield from _yield_paths_up_to(child, children[key], expand_composites, (*path, key))


def flatten_with_tuple_paths_up_to(
    shallow_tree: object,
    input_tree: object,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> list[tuple[Any, ...]]:
    """Returns the elements of `flatten_up_to` with their paths: [((key, ...), element), ...]."""
    assert_shallow_structure(shallow_tree, input_tree, check_types, expand_composites, check_subtrees_length)
    return list(_yield_paths_up_to(shallow_tree, input_tree, expand_composites))


def flatten_up_to(
    shallow_tree: object,
    input_tree: object,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> list[Any]:
    """Returns the parts of `input_tree` at the leaves of `shallow_tree`; raises as `assert_shallow_structure`."""
    pairs = flatten_with_tuple_paths_up_to(
        shallow_tree, input_tree, check_types, expand_composites, check_subtrees_length
    )
    return [value for _, value in pairs]


def _check_shallow_type(shallow: object, value: object) -> None:
    if _is_namedtuple(shallow) and _is_namedtuple(value):
        same = _same_namedtuples(shallow, value)
    else:
        same = isinstance(value, type(shallow)) or (_is_mapping(shallow) and _is_mapping(value))
    if not same:
        raise TypeError(
            _STRUCTURES_HAVE_MISMATCHING_TYPES.format(input_type=type(value), shallow_type=type(shallow))
        )


def _check_shallow_length(shallow_length: int, input_length: int, check_subtrees_length: bool) -> None:
    if check_subtrees_length and input_length != shallow_length:
        raise ValueError(
            _STRUCTURES_HAVE_MISMATCHING_LENGTHS.format(input_length=input_length, shallow_length=shallow_length)
        )
    if input_length < shallow_length:
        raise ValueError(
            _INPUT_TREE_SMALLER_THAN_SHALLOW_TREE.format(input_size=input_length, shallow_size=shallow_length)
        )


def assert_shallow_structure(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> None:
    """Checks that `input_tree` is nested like `shallow_tree`, down to the leaves of `shallow_tree`.

    Raises:
      TypeError: the types of containers differ, and `check_types` is True, or `input_tree` has a leaf where `shallow_tree` has a
        container.
      ValueError: lengths or keys differ.
    """
    kind = _kind(shallow_tree, expand_composites)
    if kind is _Kind.LEAF:
        return
    input_kind = _kind(input_tree, expand_composites)
    if input_kind is _Kind.LEAF:
        raise TypeError(_IF_SHALLOW_IS_SEQ_INPUT_MUST_BE_SEQ.format(type(input_tree)))
    if kind is _Kind.COMPOSITE or input_kind is _Kind.COMPOSITE:
        if kind is not input_kind:
            raise TypeError(
                _STRUCTURES_HAVE_MISMATCHING_TYPES.format(input_type=type(input_tree), shallow_type=type(shallow_tree))
            )
        _check_compatible_specs(shallow_tree, input_tree)
    elif check_types:
        _check_shallow_type(shallow_tree, input_tree)
    # Lengths are compared before keys, so that a missing key in a shorter mapping is reported as a length, as in 1.15.
    items, input_items = _items(shallow_tree, kind), dict(_items(input_tree, input_kind))
    _check_shallow_length(len(items), len(input_items), check_subtrees_length)
    if _is_mapping(shallow_tree) and _is_mapping(input_tree):
        missing = [key for key, _ in items if key not in input_items]
        if missing:
            raise ValueError(_SHALLOW_TREE_HAS_INVALID_KEYS.format(missing))
    for (_, child), input_child in zip(items, _matching(items, input_items)):
        assert_shallow_structure(child, input_child, check_types, expand_composites, check_subtrees_length)


def _matching(items: list[Any], input_items: dict[Any, Any]) -> list[Any]:
    """Returns the children for the keys of `items`; all children by position if a key is missing, as between a list and a named tuple."""
    by_key = all(key in input_items for key, _ in items)
    return [input_items[key] for key, _ in items] if by_key else list(input_items.values())


def map_structure_with_tuple_paths_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """Applies `func(path, *elements)` to the parts of `inputs` at the leaves of `shallow_tree`; returns a structure of the results.

    Args:
      shallow_tree: the structure whose leaves end the traversal.
      func: a function of a path, a tuple of keys, and of one part of each input.
      *inputs: structures nested like `shallow_tree` down to its leaves.
      **kwargs: `check_types` (True by default), `expand_composites` (False) and `check_subtrees_length` (True); others go to `func`.

    Raises:
      TypeError, ValueError: as `assert_shallow_structure`; ValueError also if there are no inputs.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    check_types = kwargs.pop("check_types", True)
    expand_composites = kwargs.pop("expand_composites", False)
    check_subtrees_length = kwargs.pop("check_subtrees_length", True)
    flat = [
        flatten_with_tuple_paths_up_to(shallow_tree, tree, check_types, expand_composites, check_subtrees_length)
        for tree in inputs
    ]
    results = [func(pairs[0][0], *(value for _, value in pairs), **kwargs) for pairs in zip(*flat)]
    return pack_sequence_as(shallow_tree, results, expand_composites)


def map_structure_up_to(shallow_tree: object, func: Callable[..., Any], *inputs: object, **kwargs: object) -> Any:
    """Applies `func(*elements)` to the parts of `inputs` at the leaves of `shallow_tree`; see `map_structure_with_tuple_paths_up_to`."""
    return map_structure_with_tuple_paths_up_to(
        shallow_tree, lambda _, *values, **extra: func(*values, **extra), *inputs, **kwargs
    )


def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: object, **kwargs: object) -> Any:
    """Applies `func(path, *leaves)`, the path a tuple of keys, to corresponding leaves."""
    return map_structure_with_tuple_paths_up_to(structure[0], func, *structure, **kwargs)


def map_structure_with_paths(func: Callable[..., Any], *structure: object, **kwargs: object) -> Any:
    """Applies `func(path, *leaves)`, the path a string of keys joined by "/", to corresponding leaves."""
    return map_structure_with_tuple_paths(
        lambda path, *values, **extra: func("/".join(map(str, path)), *values, **extra), *structure, **kwargs
    )


def flatten_with_tuple_paths(structure: object, expand_composites: bool = False) -> list[tuple[Any, ...]]:
    """Returns the leaves with their paths: [((key, ...), leaf), ...]."""
    return list(_yield_paths_up_to(structure, structure, expand_composites))


def flatten_with_joined_string_paths(
    structure: object, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """Returns the leaves with their paths as strings: [("key/...", leaf), ...]."""
    pairs = flatten_with_tuple_paths(structure, expand_composites)
    return [(separator.join(map(str, path)), leaf) for path, leaf in pairs]


def yield_flat_paths(nest: object, expand_composites: bool = False) -> Iterator[tuple[Any, ...]]:
    """Yields the paths of the leaves, as tuples of keys."""
    for path, _ in _yield_paths_up_to(nest, nest, expand_composites):
        yield path


# ---- other conversions ----


def replace_composites_with_components(structure: object) -> Any:
    """Returns the structure with every composite tensor replaced by the nested structure of its components."""
    if isinstance(structure, CompositeTensor):
        return replace_composites_with_components(structure._to_components())
    if not is_nested(structure):
        return structure
    return map_structure(replace_composites_with_components, structure)


def flatten_dict_items(dictionary: Any) -> dict[Any, Any]:
    """Returns a flat dict: the leaves of a key that is a structure map to the leaves of its value, other keys to their values.

    Raises:
      TypeError: the argument is not a mapping.
      ValueError: a key and its value have different numbers of leaves, or a key occurs twice.
    """
    if not _is_mapping(dictionary):
        raise TypeError("input must be a dictionary")
    # The keys (a, b) with the values (x, y) become a: x, b: y.
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        keys, values = (flatten(key), flatten(value)) if is_nested(key) else ([key], [value])
        if len(keys) != len(values):
            raise ValueError(
                f"Could not flatten dictionary. Key had {len(keys)} elements, but value had {len(values)} elements. "
                f"Key: {keys}, value: {values}."
            )
        for new_key, new_value in zip(keys, values):
            if new_key in flat:
                raise ValueError(f"Could not flatten dictionary: key {new_key} is not unique.")
            flat[new_key] = new_value
    return flat


def get_traverse_shallow_structure(traverse_fn: Callable[..., Any], structure: object, expand_composites: bool = False) -> Any:
    """Returns a shallow structure of bools, whose containers are those parts of `structure` that `traverse_fn` enters.

    Args:
      traverse_fn: a function of a substructure that returns a bool, or a structure of bools of depth 1 with one for each child.
      structure: the structure.
      expand_composites: whether composite tensors are structures.

    Raises:
      TypeError: `traverse_fn` returns something else.
    """
    to_traverse = traverse_fn(structure)
    kind = _kind(structure, expand_composites)
    if kind is _Kind.LEAF:
        if not isinstance(to_traverse, bool):
            raise TypeError(f"traverse_fn returned structure: {to_traverse} for non-structure: {structure}")
        return to_traverse
    # `traverse_fn` decides for all children at once, or for each of them.
    children = list(_children(structure, kind))
    if is_nested(to_traverse):
        assert_shallow_structure(to_traverse, structure, expand_composites=expand_composites)
        choices = list(_children(to_traverse, _kind(to_traverse, expand_composites)))
        if not all(isinstance(choice, bool) for choice in choices):
            raise TypeError(
                f"traverse_fn didn't return a depth=1 structure of bools.  saw: {to_traverse} "
                f" for structure: {structure}"
            )
    elif not isinstance(to_traverse, bool):
        raise TypeError(f"traverse_fn returned a non-bool scalar: {to_traverse} for input: {structure}")
    elif not to_traverse:
        return False
    else:
        choices = [True] * len(children)
    # A child that is not entered becomes a leaf False of the result, however deep it is.
    walked = [
        get_traverse_shallow_structure(traverse_fn, child, expand_composites) if choice else False
        for choice, child in zip(choices, children)
    ]
    return _sequence_like(structure, walked)
