"""What contrib.learn's canned classifiers and regressors have in common: predictions by kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.contrib.layers.feature_column_ops import parse_feature_columns_from_examples
from tfcompat._src.contrib.learn import export
from tfcompat._src.contrib.learn.estimator import Estimator
from tfcompat._src.contrib.learn.keys import PredictionKey
from tfcompat._src.contrib.learn.metric_spec import MetricSpec

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class CannedEstimator(Estimator):
    """An Estimator that gives one prediction."""

    _DEFAULT_OUTPUT = _EXPORTED = PredictionKey.SCORES
    _SIGNATURE: Callable = staticmethod(export.regression_signature_fn)
    _feature_columns: Any

    def _predict_one(self, key: str, x: Any, input_fn: Any, batch_size: Any, as_iterable: bool) -> Any:
        """One prediction of each example, as an iterator or an array."""
        found = Estimator.predict(
            self, x=x, input_fn=input_fn, batch_size=batch_size, outputs=[key], as_iterable=as_iterable
        )
        return (prediction[key] for prediction in found) if as_iterable else found[key]

    def predict(self, x=None, input_fn=None, batch_size=None, outputs=None, as_iterable=True) -> Any:
        """The predictions `outputs`, dicts; without them the classes or scores alone. Arguments as Estimator.predict."""
        if not outputs:
            return self._predict_one(self._DEFAULT_OUTPUT, x, input_fn, batch_size, as_iterable)
        return super().predict(
            x=x, input_fn=input_fn, batch_size=batch_size, outputs=outputs, as_iterable=as_iterable
        )

    def export(
        self, export_dir, input_fn=None, input_feature_key=None, use_deprecated_input_fn=True, signature_fn=None,
        default_batch_size=1, exports_to_keep=None,
    ) -> Any:  # fmt: skip
        """Exports the model with the signature of its kind, and an input parsed by its columns; arguments as Estimator.export."""

        def parsed(unused_estimator: object, examples: TensorLike) -> Any:
            return parse_feature_columns_from_examples(examples, self._feature_columns)

        return super().export(
            export_dir=export_dir, input_fn=input_fn or parsed, input_feature_key=input_feature_key,
            use_deprecated_input_fn=use_deprecated_input_fn, signature_fn=signature_fn or self._SIGNATURE,
            prediction_key=self._EXPORTED, default_batch_size=default_batch_size, exports_to_keep=exports_to_keep,
        )  # fmt: skip


class CannedClassifier(CannedEstimator):
    """An Estimator that classifies."""

    _DEFAULT_OUTPUT, _EXPORTED = PredictionKey.CLASSES, PredictionKey.PROBABILITIES
    _SIGNATURE = staticmethod(export.classification_signature_fn_with_prob)

    def predict_classes(self, x=None, input_fn=None, batch_size=None, as_iterable=True) -> Any:
        """The class of each example; arguments as Estimator.predict."""
        return self._predict_one(PredictionKey.CLASSES, x, input_fn, batch_size, as_iterable)

    def predict_proba(self, x=None, input_fn=None, batch_size=None, as_iterable=True) -> Any:
        """The probabilities of each example's classes; arguments as Estimator.predict."""
        return self._predict_one(PredictionKey.PROBABILITIES, x, input_fn, batch_size, as_iterable)


class CannedRegressor(CannedEstimator):
    """An Estimator of numbers."""

    def predict_scores(self, x=None, input_fn=None, batch_size=None, as_iterable=True) -> Any:
        """The numbers of each example; arguments as Estimator.predict."""
        return self._predict_one(PredictionKey.SCORES, x, input_fn, batch_size, as_iterable)


class ScoringRegressor(CannedRegressor):
    """A CannedRegressor whose metrics that are mere functions are of the scores."""

    def evaluate(
        self, x=None, y=None, input_fn=None, feed_fn=None, batch_size=None, steps=None, metrics=None, name=None,
        checkpoint_path=None, hooks=None,
    ) -> Any:  # fmt: skip
        """The metrics of the model; arguments as Evaluable.evaluate."""
        keyed = {
            key if isinstance(metric, MetricSpec) or isinstance(key, tuple) else (key, PredictionKey.SCORES): metric
            for key, metric in (metrics or {}).items()
        }
        return super().evaluate(
            x=x, y=y, input_fn=input_fn, feed_fn=feed_fn, batch_size=batch_size, steps=steps, metrics=keyed, name=name,
            checkpoint_path=checkpoint_path, hooks=hooks,
        )  # fmt: skip
