"""`tensorflow.python.autograph.core.converter`: what passes that convert functions share.

tfcompat converts functions in one pass of its own (see converter.py); these are for passes that programs write.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from tfcompat._src.autograph.options import ConversionOptions
from tfcompat._src.autograph.pyct import anno, ast_util, cfg, compiler, qual_names, transformer
from tfcompat._src.autograph.pyct.static_analysis import activity, liveness, reaching_definitions


class ProgramContext(NamedTuple):
    """What all conversions of a program share: the options, and the module with AutoGraph's functions."""

    options: ConversionOptions
    autograph_module: Any


class EntityContext(transformer.Context):
    """The conversion of one function or class.

    Args:
      namer: a Namer. entity_info: an EntityInfo. program_ctx: the ProgramContext. target_name: what the result is called.
    """

    def __init__(self, namer: object, entity_info: transformer.EntityInfo, program_ctx: ProgramContext, target_name: str | None = None) -> None:
        super().__init__(entity_info)
        self.namer, self.program, self.target_name = namer, program_ctx, target_name


class Base(transformer.Base):
    """A pass that converts one function.

    Args:
      ctx: the EntityContext.
    """

    def __init__(self, ctx: EntityContext) -> None:
        super().__init__(ctx)
        self._used = False
        self._depth = 0

    def get_definition_directive(self, node: Any, directive: Any, arg: str, default: Any) -> Any:
        """What the directives of the definitions that reach a symbol say of an argument.

        Args:
          node: the symbol. directive: the function that was called as a directive. arg: the name of its argument.
          default: given where no directive says anything.

        Raises:
          ValueError: they say different things.
        """
        directives = [each.directives.get(directive, {}) for each in anno.getanno(node, anno.Static.ORIG_DEFINITIONS, ())]
        found = [each[arg] for each in directives if arg in each]
        if not found:
            return default
        for other in found[1:]:
            if not ast_util.matches(found[0], other):
                texts = ", ".join(compiler.ast_to_source(each).strip() for each in (other, found[0]))
                name = anno.getanno(node, anno.Basic.QN)
                raise ValueError(f"{name} has ambiguous annotations for {directive.__name__}({arg}): {texts}")
        return found[0]

    def visit(self, node: Any) -> Any:
        """What takes the place of a node; ValueError where the pass is used for a second tree."""
        if not self._depth and self._used:
            raise ValueError("converter objects cannot be reused")
        self._used = True
        self._depth += 1
        try:
            return super().visit(node)
        finally:
            self._depth -= 1


class AnnotatedDef(reaching_definitions.Definition):
    """A definition of a symbol with the arguments of the directives that were called for it, by directive."""

    def __init__(self) -> None:
        super().__init__()
        self.directives: dict[Any, dict[str, Any]] = {}


class AgAnno(enum.Enum):
    """What passes say of nodes."""

    DIRECTIVES = "The directives that were called for the statement."

    def __repr__(self) -> str:
        return self.name


def standard_analysis(node: Any, context: EntityContext, is_initial: bool = False) -> Any:
    """A tree whose nodes say which symbols they read, where those were defined, and which are needed later.

    Args:
      node: the tree, which is changed. context: the EntityContext.
      is_initial: whether it is the user's code; then the nodes keep the definitions of it.
    """
    graphs = cfg.build(node)
    node = activity.resolve(qual_names.resolve(node), context, None)
    node = reaching_definitions.resolve(node, context, graphs, AnnotatedDef)
    node = liveness.resolve(node, context, graphs)
    if is_initial:
        anno.dup(node, {anno.Static.DEFINITIONS: anno.Static.ORIG_DEFINITIONS})
    return node


def apply_(node: Any, context: EntityContext, converter_module: Any) -> Any:
    """A tree changed by the function `transform` of a module, after an analysis of it."""
    return converter_module.transform(standard_analysis(node, context), context)
