"""tf.variable_scope and tf.get_variable."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import tfcompat._src.variables.messages  # noqa: F401  (collections of variables can be written to files)
from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import (
    add_to_collection,
    executing_eagerly,
    executing_eagerly_outside_functions,
    get_collection,
    get_collection_ref,
    get_default_graph,
    graph_from_inputs,
    name_scope,
)  # fmt: skip
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.platform import logging
from tfcompat._src.variables.policies import VariableAggregation, VariableSynchronization
from tfcompat._src.variables.ref_variable import RefVariable
from tfcompat._src.variables.resource_variable import ResourceVariable
from tfcompat._src.variables.store import AUTO_REUSE, VariableStore, resource_variables_enabled
from tfcompat._src.variables.variable import VariableMetaclass

_VARSTORE_KEY = ("__variable_store",)
_VARSCOPESTORE_KEY = ("__varscope",)
VARIABLE_STORES = (_VARSTORE_KEY, _VARSCOPESTORE_KEY)
"""The collections that hold the variables and the open scope of tf.get_variable."""


@export("no_regularizer")
def no_regularizer(_: object) -> None:
    """A regularizer that adds no loss; stops the scope's regularizer from being used."""
    return None


@export("VariableScope")
class VariableScope:
    """The defaults that tf.get_variable uses inside a scope.

    Args:
      reuse: True (variables must exist), AUTO_REUSE (they may), or None/False (they must not).
      name: prefix of variable names.
      initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource, constraint: defaults
      of the
        arguments of tf.get_variable.
      name_scope: the name scope of the operations made in this scope.
    """

    def __init__(
        self, reuse, name="", initializer=None, regularizer=None, caching_device=None, partitioner=None,
        custom_getter=None, name_scope="", dtype=dtypes.float32, use_resource=None, constraint=None,
    ) -> None:  # fmt: skip
        self._name, self._reuse, self._name_scope = name, reuse, name_scope
        self._initializer, self._regularizer, self._constraint = initializer, regularizer, constraint
        self._caching_device, self._partitioner, self._custom_getter = caching_device, partitioner, custom_getter
        self._dtype, self._use_resource = dtype, use_resource

    name = property(lambda self: self._name)
    original_name_scope = property(lambda self: self._name_scope)
    reuse = property(lambda self: self._reuse)
    initializer = property(lambda self: self._initializer)
    dtype = property(lambda self: self._dtype)
    use_resource = property(lambda self: self._use_resource)
    regularizer = property(lambda self: self._regularizer)
    caching_device = property(lambda self: self._caching_device)
    partitioner = property(lambda self: self._partitioner)
    custom_getter = property(lambda self: self._custom_getter)
    constraint = property(lambda self: self._constraint)

    def reuse_variables(self) -> None:
        """From now on variables of this scope must exist."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        self._initializer = initializer

    def set_dtype(self, dtype: object) -> None:
        self._dtype = dtype

    def set_use_resource(self, use_resource: bool | None) -> None:
        self._use_resource = use_resource

    def set_regularizer(self, regularizer: object) -> None:
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: object) -> None:
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: object) -> None:
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: object) -> None:
        self._custom_getter = custom_getter

    def get_collection(self, name: str) -> list:
        """The items of a graph collection whose names begin with this scope's."""
        return get_collection(name, self._name + "/" if self._name else "")

    def trainable_variables(self) -> list:
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list:
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list:
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(
        self, var_store, name, shape=None, dtype=None, initializer=None, regularizer=None, reuse=None, trainable=None,
        collections=None, caching_device=None, partitioner=None, validate_shape=True, use_resource=None,
        custom_getter=None,
        constraint=None, synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE,
    ) -> Any:  # fmt: skip
        """The variable `name` of this scope in `var_store`; arguments left out come from the scope. See
        tf.get_variable."""
        with name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                given = convert_to_tensor(initializer).dtype.base_dtype
                if given != dtype:
                    raise ValueError(f"Initializer type '{given}' and explicit dtype '{dtype}' don't match.")
            return var_store.get_variable(
                f"{self._name}/{name}" if self._name else name, shape=shape, trainable=trainable,
                collections=collections,
                validate_shape=validate_shape, synchronization=synchronization, aggregation=aggregation,
                dtype=_first(dtype, self._dtype), initializer=_first(initializer, self._initializer),
                regularizer=_first(regularizer, self._regularizer), reuse=_first(reuse, None if executing_eagerly() else self._reuse),
                caching_device=_first(caching_device, self._caching_device),
                partitioner=_first(partitioner, self._partitioner),
                use_resource=_first(use_resource, self._use_resource),
                custom_getter=_first(custom_getter, self._custom_getter),
                constraint=_first(constraint, self._constraint),
            )  # fmt: skip

    def get_partitioned_variable(self, var_store, name, shape, dtype, initializer, partitioner, **options) -> Any:
        """The parts of a whole called `name` below this scope; ValueError where the scope has a custom getter."""
        if self._custom_getter is not None:
            raise ValueError(
                "Private access to _get_partitioned_variable is not allowed when a custom getter is set.  Current "
                "custom getter: "
                f"{self._custom_getter}.  It is likely that you're using create_partitioned_variables.  If so, "
                "consider instead "
                "using get_variable with a non-empty partitioner parameter instead."
            )
        with name_scope(None):
            return var_store._get_partitioned_variable(
                "/".join(n for n in (self._name, name) if n), partitioner, shape, dtype,
                _first(initializer, self._initializer),
                self._regularizer, self._reuse, caching_device=self._caching_device, use_resource=self._use_resource,
                constraint=self._constraint, **options,
            )  # fmt: skip


def _first(given: object, default: object) -> Any:
    return default if given is None else given


class _ScopeStore(threading.local):
    """The open variable scope of a graph in this thread, and how often each scope name was opened."""

    def __init__(self) -> None:
        self.current_scope = VariableScope(False)
        self.variable_scopes_count: dict[str, int] = {}

    def open_variable_scope(self, name: str) -> None:
        self.variable_scopes_count[name] = self.variable_scopes_count.get(name, 0) + 1

    def close_variable_subscopes(self, name: str) -> None:
        for key in self.variable_scopes_count:
            if key.startswith(name + "/"):
                self.variable_scopes_count[key] = 0

    def variable_scope_count(self, name: str) -> int:
        return self.variable_scopes_count.get(name, 0)

    def unique_name(self, prefix: str) -> str:
        """`prefix`, or `prefix_1`... where a scope of that name was open before."""
        outer = self.current_scope.name
        base = f"{outer}/{prefix}" if outer else prefix
        if not self.variable_scope_count(base):
            return prefix
        index = 1
        while self.variable_scope_count(f"{base}_{index}"):
            index += 1
        return f"{prefix}_{index}"


def _of_graph(key: tuple, make: Callable) -> Any:
    found = get_collection(key)
    if not found:
        found = [make()]
        add_to_collection(key, found[0])
    return found[0]


def get_variable_scope_store() -> _ScopeStore:
    return _of_graph(_VARSCOPESTORE_KEY, _ScopeStore)


def get_variable_store() -> VariableStore:
    """The store that tf.get_variable uses in the default graph."""
    return _of_graph(_VARSTORE_KEY, VariableStore)


@contextlib.contextmanager
def with_variable_store(store: VariableStore) -> Iterator[None]:
    """tf.get_variable uses `store` inside."""
    collection = get_collection_ref(_VARSTORE_KEY)
    old = list(collection)
    collection[:] = [store]
    try:
        yield
    finally:
        collection[:] = old


@export("get_variable_scope")
def get_variable_scope() -> VariableScope:
    """The variable scope that is open."""
    return get_variable_scope_store().current_scope


@export("get_variable")
def get_variable(
    name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None, collections=None,
    caching_device=None,
    partitioner=None, validate_shape=True, use_resource=None, custom_getter=None, constraint=None,
    synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE,
) -> Any:  # fmt: skip
    """Finds or makes the variable `name` of the open variable scope.

    Args:
      name: name below the scope's.
      shape: of a new variable, or what a found one must be compatible with.
      dtype: element type; by default the scope's (float32).
      initializer: function `(shape, dtype, partition_info)`, its class, or a value; by default the scope's, else
        Glorot's uniform for floating types and zeros for others.
      regularizer: function of the variable that gives a loss for REGULARIZATION_LOSSES.
      trainable: whether optimizers change it; by default True.
      collections: graph collections to join; by default GLOBAL_VARIABLES.
      caching_device: a device where reads are cached.
      partitioner: function of shape and dtype that gives the number of parts per dimension.
      validate_shape: whether the initial value's shape must be known.
      use_resource: whether to make a resource variable.
      custom_getter: called with the getter and all arguments in place of the getter.
      constraint: function that optimizers apply after an update.
      synchronization, aggregation: for distributed variables.

    Returns:
      a variable, or a PartitionedVariable.

    Raises:
      ValueError: it exists and the scope does not reuse, it does not exist and the scope reuses, or shape or dtype
      differ.
    """
    return get_variable_scope().get_variable(
        get_variable_store(), name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
        trainable=trainable, collections=collections, caching_device=caching_device, partitioner=partitioner,
        validate_shape=validate_shape, use_resource=use_resource, custom_getter=custom_getter, constraint=constraint,
        synchronization=synchronization, aggregation=aggregation,
    )  # fmt: skip


@export("get_local_variable")
def get_local_variable(
    name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=False, collections=None,
    caching_device=None,
    partitioner=None, validate_shape=True, use_resource=None, custom_getter=None, constraint=None,
    synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE,
) -> Any:  # fmt: skip
    """As tf.get_variable, for the collection LOCAL_VARIABLES; never trainable, as in 1.15."""
    return get_variable(
        name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=False,
        collections=[*(collections or ()), GraphKeys.LOCAL_VARIABLES], caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape, use_resource=use_resource, custom_getter=custom_getter, constraint=constraint,
        synchronization=synchronization, aggregation=aggregation,
    )  # fmt: skip


def _around(custom_getter: Callable, outer: Callable | None) -> Callable:
    """A getter that calls `custom_getter`, whose `getter` is the outer scope's."""
    if outer is None:
        return custom_getter

    def wrapped(getter: Callable, *args: Any, **kwargs: Any) -> Any:
        return custom_getter(functools.partial(outer, getter), *args, **kwargs)

    return wrapped


_SETTINGS = ("initializer", "regularizer", "caching_device", "partitioner", "custom_getter", "dtype", "use_resource")


class pure_variable_scope:
    """The variable scope without a name scope; its arguments are those of `variable_scope`, but for the default dtype."""

    def __init__(
        self,
        name_or_scope: Any,
        reuse: object = None,
        initializer: object = None,
        regularizer: object = None,
        caching_device: object = None,
        partitioner: object = None,
        custom_getter: Callable | None = None,
        old_name_scope: str | None = None,
        dtype: object = dtypes.float32,
        use_resource: bool | None = None,
        constraint: object = None,
    ) -> None:
        self._name_or_scope, self._reuse, self._old_name_scope, self._constraint = name_or_scope, reuse, old_name_scope, constraint
        self._settings = dict(
            initializer=initializer, regularizer=regularizer, caching_device=caching_device, partitioner=partitioner,
            custom_getter=custom_getter, dtype=dtype, use_resource=use_resource,
        )  # fmt: skip
        self._store = get_variable_scope_store()

    def __enter__(self) -> VariableScope:
        self._old = self._store.current_scope
        if isinstance(self._name_or_scope, VariableScope):
            parent = self._name_or_scope
            self._name, reuse, self._scope_name = parent.name, self._reuse or parent.reuse, parent.original_name_scope
            self._store.open_variable_scope(self._name)
            self._old_counts: dict | None = dict(self._store.variable_scopes_count)
        else:
            parent = self._old
            self._name = f"{parent.name}/{self._name_or_scope}" if parent.name else self._name_or_scope
            reuse = self._reuse or parent.reuse
            self._scope_name = _first(self._old_name_scope, self._name_or_scope)
            self._old_counts = None
            self._store.open_variable_scope(self._name)
        self._entered = self._store.current_scope = self._make(parent, reuse)
        return self._entered

    def _make(self, parent: VariableScope, reuse: object) -> VariableScope:
        found = {key: _first(self._settings.get(key), getattr(parent, key)) for key in _SETTINGS}
        if self._settings.get("custom_getter") is not None:
            found["custom_getter"] = _around(self._settings["custom_getter"], parent.custom_getter)
        return VariableScope(reuse, self._name, name_scope=self._scope_name, constraint=self._constraint, **found)

    def __exit__(self, *exc_info: Any) -> None:
        if self._store.current_scope is not self._entered:
            raise RuntimeError("Improper nesting of variable_scope.")
        if self._old_counts is None:
            self._store.close_variable_subscopes(self._name)
        else:
            self._store.variable_scopes_count = self._old_counts
        self._store.current_scope = self._old


@export("variable_scope")
class variable_scope:
    """A scope for the variables of tf.get_variable, and a name scope of the same name.

    Args:
      name_or_scope: a name below the open scope, a VariableScope to go back to, or None.
      default_name: made unique and used where `name_or_scope` is None.
      values: tensors from which the graph is taken.
      initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource, constraint: defaults of
        tf.get_variable inside.
      reuse: True (variables must exist), AUTO_REUSE (they may), or None (as the outer scope).
      auxiliary_name_scope: False opens no name scope.

    Raises:
      TypeError: there is no name, or it is of another kind. ValueError: `reuse` is none of these values.
    """

    def __init__(
        self, name_or_scope, default_name=None, values=None, initializer=None, regularizer=None, caching_device=None,
        partitioner=None, custom_getter=None, reuse=None, dtype=None, use_resource=None, constraint=None,
        auxiliary_name_scope=True,
    ) -> None:  # fmt: skip
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse not in (True, False, None, AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope}")
        self._name_or_scope, self._default_name = name_or_scope, default_name
        self._reuse = reuse or None
        self._constraint, self._auxiliary_name_scope = constraint, auxiliary_name_scope
        self._settings = dict(
            initializer=initializer, regularizer=regularizer, caching_device=caching_device, partitioner=partitioner,
            custom_getter=custom_getter, dtype=dtype, use_resource=use_resource,
        )  # fmt: skip
        self._graph = graph_from_inputs(values or ())
        self._exits: list[contextlib.ExitStack] = []
        self._default: str | None = None

    def __enter__(self) -> VariableScope:
        with contextlib.ExitStack() as exits:
            if not get_default_graph().building_function:
                exits.enter_context(self._graph.as_default())
            scope = self._enter(exits)
            self._exits.append(exits.pop_all())
        return scope

    def _enter(self, exits: contextlib.ExitStack) -> VariableScope:
        target = self._name_or_scope
        if target is not None and not isinstance(target, (VariableScope, str)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        if target is None and self._reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        if target is None:
            wanted = self._default_name
        else:
            wanted = target if isinstance(target, str) else target.name.split("/")[-1]
        old_name_scope = None
        if not self._auxiliary_name_scope:
            outer = get_default_graph().get_name_scope()
            old_name_scope = exits.enter_context(name_scope(outer + "/" if outer else None))
        elif wanted:
            old_name_scope = exits.enter_context(name_scope(wanted))
        if target is None:
            target = self._default = self._default or get_variable_scope_store().unique_name(wanted)
        return exits.enter_context(
            pure_variable_scope(target, self._reuse, old_name_scope=old_name_scope, constraint=self._constraint, **self._settings)
        )

    def __exit__(self, *exc_info: Any) -> None:
        self._exits.pop().__exit__(*exc_info)


@export("variable_op_scope")
@contextlib.contextmanager
def variable_op_scope(
    values: Iterable[Any], name_or_scope: Any, default_name: str | None = None, initializer: object = None,
    regularizer: object = None,
    caching_device: object = None, partitioner: object = None, custom_getter: object = None, reuse: object = None,
    dtype: object = None, use_resource: bool | None = None, constraint: object = None,
) -> Iterator[VariableScope]:  # fmt: skip
    """Deprecated order of arguments of `variable_scope`."""
    logging.warn(
        "tf.variable_op_scope(values, name, default_name) is deprecated, use tf.variable_scope(name, default_name, "
        "values)"
    )
    with variable_scope(
        name_or_scope, default_name=default_name, values=values, initializer=initializer, regularizer=regularizer,
        caching_device=caching_device, partitioner=partitioner, custom_getter=custom_getter, reuse=reuse, dtype=dtype,
        use_resource=use_resource, constraint=constraint,
    ) as scope:  # fmt: skip
        yield scope


@export("create_partitioned_variables")
def create_partitioned_variables(
    shape: list[int], slicing: list[int], initializer: object, dtype: object = dtypes.float32, trainable: bool = True,
    collections: list | None = None, name: str | None = None, reuse: object = None,
) -> list:  # fmt: skip
    """The parts of a variable, as a list.

    Args:
      shape: of the whole.
      slicing: number of parts per dimension; at most one is more than 1.
      initializer: a Tensor of the whole shape, or an initializer that is called for each part.
      dtype: element type, where `initializer` is no Tensor.
      trainable, collections: as in tf.get_variable.
      name: name of the whole; by default "PartitionedVariable", made unique.
      reuse: whether the parts must exist.

    Raises:
      ValueError: `shape` and `slicing` do not fit.
    """
    if len(shape) != len(slicing):
        raise ValueError(
            f"The 'shape' and 'slicing' of a partitioned Variable must have the length: shape: {shape}, slicing: "
            f"{slicing}"
        )
    if len(shape) < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1: shape: {shape}")
    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope:
        return list(scope.get_partitioned_variable(
            get_variable_store(), None, shape, dtype, initializer, lambda **unused: slicing, trainable=trainable,
            collections=collections,
        ))  # fmt: skip


def default_variable_creator(
    next_creator: Callable | None = None, use_resource: bool | None = None, expected_shape: object = None,
    trackable_parent: object = None, **arguments: object,
) -> Any:
    """Makes the variable: a ResourceVariable or a RefVariable, as the argument, the scope or the default says.

    `trackable_parent`, whose dependency it is, is for outer creators (see `capture_dependencies`).
    """
    if next_creator is not None:
        raise ValueError("default_variable_creator is the last creator: it has no next one.")
    if use_resource is None:
        use_resource = get_variable_scope().use_resource
    if use_resource is None:
        use_resource = resource_variables_enabled()
    if use_resource or executing_eagerly_outside_functions():
        return ResourceVariable(**arguments)
    return RefVariable(expected_shape=expected_shape, **arguments)


VariableMetaclass.default_creator = staticmethod(default_variable_creator)
