"""tf.contrib.learn.datasets: small data sets by name, and points in the plane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.contrib.learn.mnist import load_mnist
from tfcompat._src.contrib.learn.tables import Dataset, load_boston, load_iris

Coordinates = tuple[np.ndarray, np.ndarray]


@export("contrib.learn.datasets.synthetic.circles")
def circles(
    n_samples: int = 100, noise: float | None = None, seed: int | None = None, factor: float = 0.8, n_classes: int = 2,
    *args: object, **kwargs: object,
) -> Dataset:  # fmt: skip
    """Points on circles around the origin, one for each class.

    Args:
      n_samples: how many points.
      noise: standard deviation that is added.
      seed: of NumPy's global generator.
      factor: how much smaller the circle of the next class is.
      n_classes: how many circles.
    """
    if seed is not None:
        np.random.seed(seed)
    angles = np.linspace(0, 2 * np.pi, n_samples // n_classes)
    x, y = ([curve(angles) * factor**i for i in range(n_classes)] for curve in (np.cos, np.sin))
    extras = n_samples % n_classes
    x.append(np.cos(np.random.rand(extras) * 2 * np.pi))
    y.append(np.sin(np.random.rand(extras) * 2 * np.pi))
    return _with_labels(x, y, n_classes, n_samples, noise)


def _with_labels(
    x: list[np.ndarray], y: list[np.ndarray], n_classes: int, n_samples: int, noise: float | None
) -> Dataset:
    """Points in random order, with the number of their curve; those of curves after the last class have 0."""
    labels = np.concatenate([np.full(len(part), i % n_classes) for i, part in enumerate(x)])
    points = np.vstack((np.concatenate(x), np.concatenate(y))).T
    order = np.random.permutation(range(n_samples))
    if noise is not None:
        points += np.random.normal(scale=noise, size=points.shape)
    return Dataset(data=points[order], target=labels[order])


def _scaled(radius: np.ndarray, theta: np.ndarray, offset: float) -> Coordinates:
    x, y = radius * np.cos(theta + offset), radius * np.sin(theta + offset)
    return x / np.max(np.abs(x)), y / np.max(np.abs(y))


def _archimedes_spiral(theta: np.ndarray, theta_offset: float = 0.0, *args: object, **kwargs: object) -> Coordinates:
    return _scaled(theta, theta, theta_offset)


def _bernoulli_spiral(theta: np.ndarray, theta_offset: float = 0.0, *args: object, **kwargs: object) -> Coordinates:
    return _scaled(np.exp(kwargs.pop("exp_scale", 0.1) * theta), theta, theta_offset)


def _fermat_spiral(theta: np.ndarray, theta_offset: float = 0.0, *args: object, **kwargs: object) -> Coordinates:
    return _scaled(np.sqrt(theta), theta, theta_offset)


_SPIRALS: dict[str, Callable] = {
    "archimedes": _archimedes_spiral, "bernoulli": _bernoulli_spiral, "fermat": _fermat_spiral,
}  # fmt: skip


@export("contrib.learn.datasets.synthetic.spirals")
def spirals(
    n_samples: int = 100, noise: float | None = None, seed: int | None = None, mode: str = "archimedes",
    n_loops: float = 2, *args: object, **kwargs: object,
) -> Dataset:  # fmt: skip
    """Points on two spirals.

    Args:
      n_samples, noise, seed: as circles.
      mode: "archimedes", "bernoulli" or "fermat".
      n_loops: how often each goes around.

    Raises:
      ValueError: the mode is unknown.
    """
    if mode not in _SPIRALS:
        raise ValueError(f"Cannot generate spiral with mode {mode}")
    if seed is not None:
        np.random.seed(seed)
    theta, spiral = np.linspace(0, 2 * n_loops * np.pi, n_samples // 2), _SPIRALS[mode]
    curves = [spiral(theta, i * np.pi, *args, **kwargs) for i in range(2)]
    if n_samples % 2:
        curves.append(spiral(np.random.rand(1) * 2 * np.pi, *args, **kwargs))
    x, y = (list(part) for part in zip(*curves, strict=True))
    return _with_labels(x, y, 2, n_samples, noise)


DATASETS = export("contrib.learn.datasets.DATASETS")({"iris": load_iris, "boston": load_boston, "mnist": load_mnist})
SYNTHETIC = export("contrib.learn.datasets.SYNTHETIC")({"circles": circles, "spirals": spirals})


@export("contrib.learn.datasets.load_dataset")
def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """The data set "iris", "boston" or "mnist"; ValueError for an unknown name, NotImplementedError for "dbpedia"."""
    if name == "dbpedia":
        raise NotImplementedError("contrib.learn.datasets.load_dataset: dbpedia")
    if name not in DATASETS:
        raise ValueError(f"Name of dataset is not found: {name}")
    return DATASETS[name]()


@export("contrib.learn.datasets.make_dataset")
def make_dataset(
    name: str, n_samples: int = 100, noise: float | None = None, seed: int = 42, *args: Any, **kwargs: Any
) -> Dataset:
    """Points of "circles" or "spirals"; ValueError for another name."""
    if name not in SYNTHETIC:
        raise ValueError(f"Synthetic dataset not found or not implemeted: {name}")
    return SYNTHETIC[name](*args, n_samples=n_samples, noise=noise, seed=seed, **kwargs)
