"""tensorflow.tools.common.test_module1 and test_module2: classes that tests of `traverse` walk through."""

from __future__ import annotations


class ModuleClass2:
    """A class that another module uses."""

    def __model_class1_method__(self) -> None:
        """Does nothing."""


class ModuleClass1:
    """A class that holds an instance of another's."""

    def __init__(self) -> None:
        self._m2 = ModuleClass2()

    def __model_class1_method__(self) -> None:
        """Does nothing."""
