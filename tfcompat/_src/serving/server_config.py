"""Which models are served, from where: ModelServerConfig messages, checked, and the versions that a policy picks on disk.

Rules and texts: TensorFlow Serving's model_servers/server_core.cc and sources/storage_path/file_system_storage_path_source.cc.
"""

from __future__ import annotations

import os
import re
from typing import Any

from google.protobuf import text_format

from tfcompat._src.base import errors
from tfcompat._src.platform import file_io
from tfcompat._src.proto import messages, pool

PLATFORM = "tensorflow"
_LARGEST_VERSION = 2**63 - 1
"""A folder with a larger number is none of a version, as of any other name."""


def read(path: str, kind: Any) -> Any:
    """The message of class `kind` in a file in text format; errors.InvalidArgumentError where it is none."""
    try:
        return text_format.Parse(file_io.read_file_to_string(path), kind(), descriptor_pool=pool.POOL)
    except (text_format.ParseError, UnicodeDecodeError) as e:
        raise errors.InvalidArgumentError(None, None, f"Invalid protobuf file {path}: {e}") from None


def of_one_model(name: str, base_path: str) -> Any:
    """The ModelServerConfig of a server with one model."""
    config = messages.serving.ModelServerConfig()
    config.model_config_list.config.add(name=name, base_path=os.path.abspath(base_path), model_platform=PLATFORM)
    return config


def models_of(config: Any) -> dict[str, Any]:
    """The ModelConfig of each model by name.

    Args:
      config: a ModelServerConfig.

    Raises:
      errors.InvalidArgumentError: a model is listed twice, has a relative path, or a platform that is not "tensorflow".
      errors.UnimplementedError: the configuration is a custom one.
    """
    if config.WhichOneof("config") == "custom_model_config":
        raise errors.UnimplementedError(None, None, "custom_model_config is not supported: list the models in model_config_list.")
    found: dict[str, Any] = {}
    for model in config.model_config_list.config:
        if model.name in found:
            raise _invalid(f"Illegal to list model {model.name} multiple times in config list")
        _check_platform(model)
        if not os.path.isabs(model.base_path):
            raise _invalid(f"Expected model {model.name} to have an absolute path or URI; got base_path()={model.base_path}")
        if not model.name:
            raise _invalid(f"The model at {model.base_path} has no name.")
        policy = model.model_version_policy
        if policy.WhichOneof("policy_choice") == "specific" and not policy.specific.versions:
            raise _invalid(f"Specific version policy of model {model.name} lists no version")
        found[model.name] = model
    return found


def _check_platform(model: Any) -> None:
    if model.model_type and model.model_platform:
        raise _invalid(
            "Illegal setting both ModelServerConfig::model_type (deprecated) and ModelServerConfig::model_platform, "
            f"model name is {model.name}"
        )
    if not model.model_type and not model.model_platform:
        raise _invalid(
            "Illegal setting neither ModelServerConfig::model_type (deprecated) nor ModelServerConfig::model_platform, "
            f"model name is {model.name}"
        )
    if model.model_type not in (0, 1):
        raise _invalid(f"ModelServerConfig::model_type choice {model.model_type} not supported.")
    if model.model_platform not in ("", PLATFORM):
        raise _invalid(f"Model {model.name} requests unsupported platform {model.model_platform}")


def _invalid(text: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, text)


def versions(model: Any) -> dict[int, str]:
    """The folders of the versions that a ModelConfig asks for, by number, highest first.

    Raises:
      errors.NotFoundError: its base path does not exist.
    """
    if not file_io.exists(model.base_path):
        raise errors.NotFoundError(None, None, f"Could not find base path {model.base_path} for servable {model.name}")
    found: dict[int, str] = {}
    for name in sorted(file_io.listdir(model.base_path)):
        if re.fullmatch(r"[0-9]{1,19}", name) and int(name) <= _LARGEST_VERSION:
            found.setdefault(int(name), os.path.join(model.base_path, name))
    numbers = sorted(found, reverse=True)
    policy = model.model_version_policy
    match policy.WhichOneof("policy_choice"):
        case "specific":
            numbers = [number for number in numbers if number in set(policy.specific.versions)]
        case "all":
            pass
        case _:
            numbers = numbers[: policy.latest.num_versions or 1]
    return {number: found[number] for number in numbers}
