"""tf.contrib.learn.ExportStrategy: how an Estimator is exported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tfcompat._src.base.export import export
from tfcompat._src.estimator.util import fn_args


@export("contrib.learn.ExportStrategy")
class ExportStrategy(NamedTuple):
    """A function that exports an Estimator, and its name.

    Args:
      name: name of the folder.
      export_fn: function of an Estimator, a folder, and perhaps `checkpoint_path`, `eval_result` and `strip_default_attrs`.
      strip_default_attrs: whether attributes with default values are left out.
    """

    name: str
    export_fn: Callable
    strip_default_attrs: bool | None = None

    def export(self, estimator: object, export_path: object, checkpoint_path: object = None, eval_result: object = None) -> Any:
        """What `export_fn` gives; ValueError where it takes `eval_result` without `checkpoint_path`."""
        names = fn_args(self.export_fn)
        if "eval_result" in names and "checkpoint_path" not in names:
            raise ValueError("An export_fn accepting eval_result must also accept checkpoint_path.")
        known = {
            "checkpoint_path": checkpoint_path, "eval_result": eval_result, "strip_default_attrs": self.strip_default_attrs,
        }  # fmt: skip
        return self.export_fn(estimator, export_path, **{key: value for key, value in known.items() if key in names})
