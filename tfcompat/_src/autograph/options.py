"""What a conversion does: its optional features, and whether it converts the functions that a function calls."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

from tfcompat._src.autograph.pyct import parser
from tfcompat._src.base.export import export


@export("autograph.experimental.Feature", "contrib.autograph.Feature")
class Feature(enum.Enum):
    """Optional features of a conversion.

    ALL: all of them. AUTO_CONTROL_DEPS: what acts runs in the order of the code. ASSERT_STATEMENTS: `assert` on tensors.
    BUILTIN_FUNCTIONS: `print` of tensors. EQUALITY_OPERATORS: `==` and `!=` compare the elements of tensors.
    LISTS: lists as TensorLists, and assignment to elements of tensors. NAME_SCOPES: a name scope for each function.
    """

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        return tuple(cls)

    @classmethod
    def all_but(cls, exclude: Feature | Iterable[Feature]) -> tuple[Feature, ...]:
        excluded = {exclude} if isinstance(exclude, Feature) else set(exclude)
        return tuple(each for each in cls if each not in excluded | {cls.ALL})


@export("contrib.autograph.ConversionOptions")
class ConversionOptions:
    """What a conversion does.

    Args:
      recursive: whether the functions that a function calls are converted.
      user_requested: whether the function is converted though it belongs to a library.
      internal_convert_user_code: whether functions are converted at all, and not only the built-in ones replaced.
      optional_features: Features: None, one, or several.
    """

    def __init__(
        self, recursive: bool = False, user_requested: bool = False, internal_convert_user_code: bool = True,
        optional_features: Any = Feature.ALL,
    ) -> None:  # fmt: skip
        self.recursive, self.user_requested = bool(recursive), bool(user_requested)
        self.internal_convert_user_code = bool(internal_convert_user_code)
        given = () if optional_features is None else optional_features
        self.optional_features = frozenset((given,) if isinstance(given, Feature) else given)

    def as_tuple(self) -> tuple:
        return self.recursive, self.user_requested, self.internal_convert_user_code, self.optional_features

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConversionOptions) and self.as_tuple() == other.as_tuple()

    def __hash__(self) -> int:
        return hash(self.as_tuple())

    def uses(self, feature: Feature) -> bool:
        return feature in self.optional_features or Feature.ALL in self.optional_features

    def call_options(self) -> ConversionOptions:
        """The options for the functions that a function calls."""
        return ConversionOptions(self.recursive, False, self.recursive, self.optional_features)

    def to_ast(self) -> Any:
        """The syntax tree of an expression of `ag__` that gives these options."""
        if self == STANDARD_OPTIONS:
            return parser.parse_expression("ag__.STD")
        features = ", ".join(f"ag__.Feature.{each.name}" for each in sorted(self.optional_features, key=lambda each: each.name))
        return parser.parse_expression(
            f"ag__.ConversionOptions(recursive={self.recursive}, user_requested={self.user_requested}, "
            f"optional_features=({features}), internal_convert_user_code={self.internal_convert_user_code})"
        )


STANDARD_OPTIONS = ConversionOptions(recursive=True, optional_features=None)
