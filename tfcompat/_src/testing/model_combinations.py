"""`tensorflow.python.distribute.model_combinations`: models by name, for combinations of tests."""

from __future__ import annotations

from tfcompat._src.testing.distribute_combinations import NamedObject
from tfcompat._src.testing.simple_models import (
    SimpleFunctionalModel,
    SimpleSequentialModel,
    SimpleSubclassModel,
    SimpleTFModuleModel,
)

simple_functional_model = NamedObject("SimpleFunctionalModel", SimpleFunctionalModel())
simple_sequential_model = NamedObject("SimpleSequentialModel", SimpleSequentialModel())
simple_subclass_model = NamedObject("SimpleSubclassModel", SimpleSubclassModel())
simple_tfmodule_model = NamedObject("SimpleTFModuleModel", SimpleTFModuleModel())
