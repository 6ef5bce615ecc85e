"""Models from their configurations."""

from __future__ import annotations

import json
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.keras.engine import registry
from tfcompat._src.keras.utils import generic_utils

try:
    import yaml
except ImportError:
    yaml = None


def _required_yaml() -> Any:
    if yaml is None:
        raise ImportError("Requires yaml module installed (`pip install pyyaml`).")
    return yaml


@registry.provides("dump_yaml")
def dump_yaml(config: Any, **kwargs: Any) -> str:
    """A configuration as YAML; ImportError without PyYAML."""
    return _required_yaml().dump(config, **kwargs)


@export("keras.models.model_from_config")
def model_from_config(config, custom_objects=None) -> Any:
    """The model of a configuration.

    Args:
      config: dict with "class_name" and "config".
      custom_objects: dict from names to classes and functions.

    Raises:
      TypeError: `config` is a list. ValueError: a class is unknown.
    """
    if isinstance(config, list):
        raise TypeError(
            "`model_from_config` expects a dictionary, not a list. Maybe you meant to use "
            "`Sequential.from_config(config)`?"
        )
    return registry.get("layers.deserialize")(config, custom_objects=custom_objects)


@export("keras.models.model_from_json")
def model_from_json(json_string, custom_objects=None) -> Any:
    """The model that `to_json` described."""
    with generic_utils.loading(safe=False):
        return model_from_config(json.loads(json_string), custom_objects=custom_objects)


@export("keras.models.model_from_yaml")
def model_from_yaml(yaml_string, custom_objects=None) -> Any:
    """The model that `to_yaml` described; ImportError without PyYAML."""
    with generic_utils.loading(safe=False):
        return model_from_config(_required_yaml().safe_load(yaml_string), custom_objects=custom_objects)
