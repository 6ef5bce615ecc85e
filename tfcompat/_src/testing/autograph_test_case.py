"""`tensorflow.python.autograph.core.converter_testing`: tests of passes that convert functions."""

from __future__ import annotations

import contextlib
import io
import types
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.autograph import builtins, function_wrappers, lists, naming, utils
from tfcompat._src.autograph.operators import control_flow, data_structures, exceptions, slices, special_values
from tfcompat._src.autograph.options import ConversionOptions, Feature
from tfcompat._src.autograph.passes import EntityContext, ProgramContext, standard_analysis
from tfcompat._src.autograph.pyct import compiler, origin_info, parser, pretty_printer, transformer
from tfcompat._src.testing.test_case import TestCase as BaseTestCase

_OPERATORS = (builtins, control_flow, data_structures, exceptions, slices, special_values, lists)


class TestCase(BaseTestCase):
    """A test with functions that convert a function by given passes, and run what they make."""

    dynamic_calls: list[tuple[Any, Any]]
    """The arguments and keyword arguments of all calls that converted code made."""

    @contextlib.contextmanager
    def assertPrints(self, expected_result: str) -> Iterator[None]:
        """A block that must print exactly this."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            yield
        self.assertEqual(printed.getvalue(), expected_result)

    @contextlib.contextmanager
    def compiled(self, node: Any, namespace: dict[str, Any], symbols: tuple[Any, ...] = ()) -> Iterator[types.ModuleType]:
        """A module made of a tree, which is printed where the block raises.

        Args:
          node: the tree. namespace: names that it sees. symbols: what its `tf` has, by their names.
        """
        self.dynamic_calls = []
        source = None
        try:
            module, source, source_map = compiler.ast_to_object(node, include_source_map=True)
            operators = self.make_fake_mod("fake_ag", self._converted_call(), ConversionOptions)
            for each in _OPERATORS:
                vars(operators).update({name: value for name, value in vars(each).items() if not name.startswith("__")})
            vars(operators).update(Feature=Feature, utils=utils, FunctionScope=function_wrappers.FunctionScope)
            vars(module).update(tf=self.make_fake_mod("fake_tf", *symbols), ag__=operators, ag_source_map__=source_map, **namespace)
            yield module
        except Exception:
            tree = pretty_printer.fmt(node, color=False)
            print(f"Offending AST:\n{tree}" if source is None else f"Offending compiled code:\n{source}")
            raise

    def _converted_call(self) -> Callable[..., Any]:
        """What stands for `converted_call`: it calls functions as they are, and notes that."""

        def converted_call(f: Any, options: object, args: tuple, kwargs: dict[str, Any] | None, caller_fn_scope: object) -> Any:
            self.dynamic_calls.append((args, kwargs))
            return f(*args, **(kwargs or {}))

        return converted_call

    @contextlib.contextmanager
    def converted(
        self, entity: Any, converter_module: Any, namespace: dict[str, Any], tf_symbols: tuple[Any, ...] = ()
    ) -> Iterator[types.ModuleType]:
        """A module of a function that passes changed.

        Args:
          entity: the function. converter_module: a module with a function `transform`, or a list or tuple of them.
          namespace: names that it sees. tf_symbols: what its `tf` has.
        """
        node, context = self.prepare(entity, namespace)
        modules = converter_module if isinstance(converter_module, (list, tuple)) else (converter_module,)
        for i, each in enumerate(modules):
            node = each.transform(standard_analysis(node, context, is_initial=i == 0), context)
        with self.compiled(node, namespace, tf_symbols) as module:
            yield module

    def make_fake_mod(self, name: str, *symbols: Any) -> types.ModuleType:
        """A module with objects under their own names; ValueError where one has none."""
        made = types.ModuleType(name)
        for each in symbols:
            own = getattr(each, "__name__", None) or getattr(each, "name", None)
            if own is None:
                raise ValueError(f"can not attach {each} - what should be its name?")
            setattr(made, own, each)
        return made

    def attach_namespace(self, module: Any, **ns: Any) -> None:
        """Gives a module names."""
        vars(module).update(ns)

    def prepare(self, test_fn: Any, namespace: dict[str, Any], recursive: bool = True) -> tuple[Any, EntityContext]:
        """The analyzed tree of a function, and the context of passes over it.

        Args:
          test_fn: the function. namespace: names that it sees, which gets ConversionOptions. recursive: an option of the conversion.
        """
        namespace["ConversionOptions"] = ConversionOptions
        features = ("print_function", "division")
        node, source = parser.parse_entity(test_fn, future_features=features)
        info = transformer.EntityInfo(source_code=source, source_file="<fragment>", future_features=features, namespace=namespace)
        program = ProgramContext(options=ConversionOptions(recursive=recursive), autograph_module=None)
        context = EntityContext(naming.Namer(namespace), info, program, "test_fn")
        origin_info.resolve_entity(node, source, test_fn)
        return standard_analysis(node, context, is_initial=True), context
