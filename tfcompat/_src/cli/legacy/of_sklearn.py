"""scikit-learn: modules and names that 0.20 to 1.8 removed, and keywords by their earlier names."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.cli.legacy.keywords import Tables, taking

Names = dict[Any, dict[str, Any]]


def _init(kind: Any, **changes: Any) -> Names:
    return {kind: dict(__init__=taking(kind.__init__, **changes))}


def _imputer(missing_values: object = "NaN", strategy: str = "mean", axis: int = 0, verbose: int = 0, copy: bool = True) -> Any:
    """`Imputer`, which is SimpleImputer."""
    if axis:
        raise NotImplementedError("tfcompat restores sklearn.preprocessing.Imputer for axis=0: transpose the array.")
    missing = np.nan if missing_values == "NaN" else missing_values
    return importlib.import_module("sklearn.impute").SimpleImputer(missing_values=missing, strategy=strategy, copy=copy)


def _folds(make: Callable[..., Any]) -> Callable[..., Any]:
    """A class of `sklearn.cross_validation`, which was given the data's size or labels first and gave indices when iterated."""

    def folds(of: object, n_folds: object = 3, **options: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        labels = np.zeros(of) if isinstance(of, (int, np.integer)) else np.asarray(of)
        return make(n_folds, **options).split(np.zeros(len(labels)), labels)

    return folds


def _cross_validation(module: object) -> Names:
    selection = importlib.import_module("sklearn.model_selection")

    def splits(of: int, n_iter: int = 10, **options: Any) -> Any:
        return selection.ShuffleSplit(n_iter, **options).split(np.zeros(of))

    def one_out(n: int) -> Any:
        return selection.LeaveOneOut().split(np.zeros(n))

    folds = {name: _folds(getattr(selection, name)) for name in ("KFold", "StratifiedKFold")}
    return {module: folds | dict(ShuffleSplit=splits, LeaveOneOut=one_out)}


def _squared_error(error: Callable[..., Any]) -> Callable[..., Any]:
    def mean_squared_error(y_true: object, y_pred: object, *, squared: bool = True, **options: Any) -> Any:
        found = error(y_true, y_pred, **options)
        return found if squared else np.sqrt(found)

    return mean_squared_error


def _metrics(module: Any) -> Names:
    return {module: dict(jaccard_similarity_score=module.accuracy_score)}


def _assignment(module: object) -> Names:
    def linear_assignment(X: object) -> np.ndarray:  # noqa: N803 (its name)
        return np.array(importlib.import_module("scipy.optimize").linear_sum_assignment(X)).T

    return {module: dict(linear_assignment=linear_assignment)}


def _text(module: Any) -> Names:
    return {
        kind: dict(get_feature_names=lambda self: self.get_feature_names_out().tolist())
        for kind in (module.CountVectorizer, module.TfidfVectorizer)
    }


ADDED: Tables = {
    "sklearn.cross_validation": lambda module: {},
    "sklearn.feature_extraction.text": _text,
    "sklearn.metrics": _metrics,
    "sklearn.preprocessing": lambda m: {m: dict(Imputer=_imputer)},
    "sklearn.utils.linear_assignment_": _assignment,
}

REPLACED: Tables = {
    "sklearn.cluster": lambda m: _init(m.KMeans, ignored=("n_jobs", "precompute_distances"), defaults=dict(n_init=10))
    | _init(m.MiniBatchKMeans, defaults=dict(n_init=3)) | _init(m.AgglomerativeClustering, renamed=dict(affinity="metric")),
    "sklearn.cross_validation": _cross_validation,
    "sklearn.manifold": lambda m: _init(m.TSNE, renamed=dict(n_iter="max_iter"), defaults=dict(init="random", learning_rate=200.0)),
    "sklearn.metrics": lambda m: {m: dict(mean_squared_error=_squared_error(m.mean_squared_error))},
    "sklearn.preprocessing": lambda m: _init(m.OneHotEncoder, renamed=dict(sparse="sparse_output"), ignored=("n_values", "categorical_features")),
}  # fmt: skip

MOVED = {
    "sklearn.cross_validation": "sklearn.model_selection",
    "sklearn.grid_search": "sklearn.model_selection",
    "sklearn.learning_curve": "sklearn.model_selection",
    "sklearn.externals.joblib": "joblib",
    "sklearn.externals.six": "six",
    "sklearn.externals.six.moves": "six.moves",
    "sklearn.cluster.hierarchical": "sklearn.cluster",
    "sklearn.cluster.k_means_": "sklearn.cluster",
    "sklearn.datasets.base": "sklearn.datasets",
    "sklearn.datasets.samples_generator": "sklearn.datasets",
    "sklearn.decomposition.pca": "sklearn.decomposition",
    "sklearn.ensemble.forest": "sklearn.ensemble",
    "sklearn.ensemble.gradient_boosting": "sklearn.ensemble",
    "sklearn.linear_model.base": "sklearn.linear_model",
    "sklearn.linear_model.logistic": "sklearn.linear_model",
    "sklearn.manifold.t_sne": "sklearn.manifold",
    "sklearn.metrics.classification": "sklearn.metrics",
    "sklearn.metrics.ranking": "sklearn.metrics",
    "sklearn.metrics.regression": "sklearn.metrics",
    "sklearn.metrics.scorer": "sklearn.metrics",
    "sklearn.neighbors.kd_tree": "sklearn.neighbors",
    "sklearn.neighbors.unsupervised": "sklearn.neighbors",
    "sklearn.neural_network.multilayer_perceptron": "sklearn.neural_network",
    "sklearn.preprocessing.data": "sklearn.preprocessing",
    "sklearn.preprocessing.imputation": "sklearn.impute",
    "sklearn.preprocessing.label": "sklearn.preprocessing",
    "sklearn.svm.classes": "sklearn.svm",
    "sklearn.tree.tree": "sklearn.tree",
    "sklearn.utils.linear_assignment_": "scipy.optimize",
    "sklearn.utils.testing": "sklearn.utils._testing",
}
