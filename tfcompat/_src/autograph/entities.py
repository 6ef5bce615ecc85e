"""`tensorflow.python.autograph.impl.conversion`: which objects run as they are, and the trees that functions become."""

from __future__ import annotations

import ast
import functools
import inspect
import unittest
from typing import Any

from tfcompat._src.autograph import ag_logging, config, conversion, naming, source
from tfcompat._src.autograph.api import converted_entity, function_of
from tfcompat._src.autograph.converter import Converter
from tfcompat._src.autograph.passes import EntityContext, ProgramContext
from tfcompat._src.autograph.pyct import inspect_utils, transformer


def is_whitelisted_for_graph(o: Any, check_call_override: bool = True, allow_namedtuple_subclass: bool = False) -> bool:
    """Whether AutoGraph lets an object run as it is.

    Args:
      o: a function, a class, a module or an object.
      check_call_override: whether an object is let run whose `__call__` is.
      allow_namedtuple_subclass: whether classes made from named tuples are converted.
    """
    module = functools if isinstance(o, functools.partial) else inspect.getmodule(o)
    actions = [rule.get_action(module) for rule in config.CONVERSION_RULES] if hasattr(module, "__name__") else []
    decided = next((each for each in actions if each is not config.Action.NONE), None)
    if decided is not None:
        return decided is config.Action.DO_NOT_CONVERT
    if inspect.isgeneratorfunction(o):
        ag_logging.warn("Entity %s appears to be a generator function. It will not be converted by AutoGraph.", o)
        return True
    calls = check_call_override and not inspect.isclass(o) and callable(o)
    if calls and type(o) is not type(o.__call__) and is_whitelisted_for_graph(o.__call__):
        return True
    if inspect.ismethod(o) and _belongs_to_whitelisted(o):
        return True
    if not inspect_utils.isnamedtuple(o):
        return False
    return not allow_namedtuple_subclass or not any(map(inspect_utils.isnamedtuple, o.__bases__))


def _belongs_to_whitelisted(method: object) -> bool:
    """Whether the class that defines a method is let run as it is."""
    owner = inspect_utils.getmethodclass(method)
    if owner is None:
        return False
    defining = inspect_utils.getdefiningclass(method, owner)
    return issubclass(owner, unittest.TestCase) or is_whitelisted_for_graph(defining, False, True)


def node_to_graph(node: Any, context: EntityContext) -> Any:
    """The tree of a converted function, whose operators are those of `ag__`.

    Raises:
      NotImplementedError: something in it is not supported.
    """
    refused = source.refused(node)
    if refused is not None:
        raise NotImplementedError(refused)
    return Converter(context.program.options.uses).convert(node)


def convert_entity_to_ast(o: object, program_ctx: ProgramContext) -> tuple[tuple[Any], str, transformer.EntityInfo]:
    """The tree of a converted function in a tuple, what it is called, and its EntityInfo.

    Args:
      o: a function or a method. program_ctx: the ProgramContext.

    Raises:
      NotImplementedError: a class or another object, or something that is not supported. ValueError: its source is not there.
    """
    if isinstance(o, type):
        raise NotImplementedError(f"tfcompat: convert_entity_to_ast gives trees of functions, but got the class {o}.")
    function = function_of(o)
    node = source.tree_of(function)
    namespace = inspect_utils.getnamespace(function)
    namespace[source.RUNTIME] = conversion.runtime(program_ctx.options)
    namer = naming.Namer(namespace)
    is_lambda = isinstance(node, ast.Lambda)
    name = namer.new_symbol("tf__lambda", ()) if is_lambda else namer.function_name(function.__name__)
    text, features = inspect_utils.getimmediatesource(function), inspect_utils.getfutureimports(function)
    info = transformer.EntityInfo(source_code=text, source_file="<fragment>", future_features=features, namespace=namespace)
    node = node_to_graph(node, EntityContext(namer, info, program_ctx, name))
    if is_lambda:
        node = ast.fix_missing_locations(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], node), node))
    else:
        node.name = name
    return (node,), name, info


def convert(entity: object, program_ctx: ProgramContext) -> Any:
    """A converted function, method or class.

    Raises:
      ValueError: it uses the name of the operators. ConversionError, NotImplementedError: see `to_graph`.
    """
    if source.RUNTIME in getattr(getattr(entity, "__code__", None), "co_freevars", ()):
        raise ValueError(f'entity {entity} uses the reserved symbol "{source.RUNTIME}"')
    return converted_entity(entity, program_ctx.options)
