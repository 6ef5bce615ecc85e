"""tf.contrib.predictor: models as Python functions from arrays to arrays."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.contrib.learn.saved_model_export_utils import (
    DEFAULT_INPUT_ALTERNATIVE_KEY,
    get_input_alternatives,
    get_output_alternatives,
)
from tfcompat._src.estimator.estimator import Estimator
from tfcompat._src.graph.graph import Graph
from tfcompat._src.platform import logging
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model import files, loader
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from tfcompat._src.train.checkpoint_management import latest_checkpoint
from tfcompat._src.train.monitored_session import ChiefSessionCreator, MonitoredSession

DEFAULT_TAGS = "serve"
_ALTERNATIVE_KEY = "default_input_alternative:{}"


class Predictor(abc.ABC):
    """A graph with a session: calling it feeds some tensors by key and fetches others.

    A subclass sets `_graph`, `_session`, `_feed_tensors` and `_fetch_tensors`.
    """

    _graph: Any
    _session: SessionLike
    _feed_tensors: dict[str, Any]
    _fetch_tensors: dict[str, Any]

    @property
    def graph(self) -> Any:
        return self._graph

    @property
    def session(self) -> Any:
        return self._session

    @property
    def feed_tensors(self) -> dict[str, Any]:
        return self._feed_tensors

    @property
    def fetch_tensors(self) -> dict[str, Any]:
        return self._fetch_tensors

    def __repr__(self) -> str:
        return f"{type(self).__name__} with feed tensors {self._feed_tensors} and fetch_tensors {self._fetch_tensors}"

    def __call__(self, input_dict: dict[str, Any]) -> dict[str, Any]:
        """The values of the fetched tensors, by key.

        Args:
          input_dict: values of the tensors to feed, by key; one that is lacking or None is not fed.

        Raises:
          ValueError: a key is not one of `feed_tensors`.
        """
        unexpected = set(input_dict) - set(self.feed_tensors)
        if unexpected:
            raise ValueError(f"Got unexpected keys in input_dict: {unexpected}\nexpected: {set(self.feed_tensors)}")
        feeds = {tensor: input_dict[key] for key, tensor in self.feed_tensors.items() if input_dict.get(key) is not None}
        return self._session.run(fetches=self.fetch_tensors, feed_dict=feeds)


def get_meta_graph_def(saved_model_dir: str, tags: str) -> Any:
    """The MetaGraphDef of a SavedModel with exactly these tags, separated by commas; ValueError where there is none."""
    found = files.with_tags(files.read_saved_model(saved_model_dir), [tag.strip() for tag in tags.split(",")])
    if found is None:
        raise ValueError(f"Could not find MetaGraphDef with tags {tags}")
    return found


def _signature(key: str | None, export_dir: str, tags: str) -> Any:
    key = key or DEFAULT_SERVING_SIGNATURE_DEF_KEY
    signatures = get_meta_graph_def(export_dir, tags).signature_def
    if key in signatures:
        return signatures[key]
    other = _ALTERNATIVE_KEY.format(key)
    if other not in signatures:
        raise ValueError(f'Got signature_def_key "{key}". Available signatures are {list(signatures)}.')
    logging.warning('Could not find signature def "%s". Using "%s" instead', key, other)
    return signatures[other]


class SavedModelPredictor(Predictor):
    """A SavedModel in a session of its own; arguments are those of `from_saved_model`."""

    def __init__(
        self, export_dir: str, signature_def_key: str | None = None, signature_def: Any = None,
        input_names: dict[str, str] | None = None, output_names: dict[str, str] | None = None, tags: str | None = None,
        graph: Graph | None = None, config: object = None,
    ) -> None:  # fmt: skip
        if (input_names is None) != (output_names is None):
            raise ValueError("input_names and output_names must both be specified or both be unspecified.")
        if sum(given is not None for given in (signature_def_key, signature_def, input_names)) > 1:
            raise ValueError(
                "You must specify at most one of signature_def_key OR signature_def OR(input_names AND output_names)."
            )
        tags = tags or DEFAULT_TAGS
        self._graph = graph or Graph()
        with self._graph.as_default():
            self._session = Session(config=config)
            loader.load(self._session, tags.split(","), export_dir)
        if input_names is None or output_names is None:
            if signature_def is None:
                signature_def = _signature(signature_def_key, export_dir, tags)
            input_names = {key: info.name for key, info in signature_def.inputs.items()}
            output_names = {key: info.name for key, info in signature_def.outputs.items()}
        self._feed_tensors = {key: self._graph.get_tensor_by_name(name) for key, name in input_names.items()}
        self._fetch_tensors = {key: self._graph.get_tensor_by_name(name) for key, name in output_names.items()}


@export("contrib.predictor.from_saved_model")
def from_saved_model(
    export_dir: str, signature_def_key: str | None = None, signature_def: object = None, input_names: dict[str, str] | None = None,
    output_names: dict[str, str] | None = None, tags: str | None = None, graph: Graph | None = None, config: object = None,
) -> SavedModelPredictor:  # fmt: skip
    """A Predictor of a SavedModel.

    Args:
      export_dir: the folder of the SavedModel.
      signature_def_key: the signature that says what to feed and fetch; by default "serving_default".
      signature_def: a SignatureDef message in its place.
      input_names: names of the tensors to feed, by key, and output_names: of those to fetch; in its place.
      tags: of the graph, separated by commas; by default "serve".
      graph: the graph to load into; by default a new one. config: ConfigProto of the session.

    Raises:
      ValueError: there is no such signature or graph, or more than one of the choices is given.
    """
    return SavedModelPredictor(
        export_dir, signature_def_key=signature_def_key, signature_def=signature_def, input_names=input_names,
        output_names=output_names, tags=tags, graph=graph, config=config,
    )  # fmt: skip


class CoreEstimatorPredictor(Predictor):
    """An Estimator's model with its latest checkpoint; arguments are those of `from_estimator`."""

    def __init__(
        self, estimator: Estimator, serving_input_receiver_fn: Callable, output_key: str | None = None,
        graph: Graph | None = None, config: object = None,
    ) -> None:  # fmt: skip
        self._graph = graph or Graph()
        with self._graph.as_default():
            receiver = serving_input_receiver_fn()
            signature = _signature_of_estimator(estimator, receiver, output_key or DEFAULT_SERVING_SIGNATURE_DEF_KEY)
            creator = ChiefSessionCreator(config=config, checkpoint_dir=estimator.model_dir)
            self._session = MonitoredSession(session_creator=creator)
        self._feed_tensors = {key: self._graph.get_tensor_by_name(info.name) for key, info in signature.inputs.items()}
        self._fetch_tensors = {key: self._graph.get_tensor_by_name(info.name) for key, info in signature.outputs.items()}


def _signature_of_estimator(estimator: Estimator, receiver: Any, output_key: str) -> Any:
    outputs = estimator.model_fn(receiver.features, None, ModeKeys.PREDICT, estimator.config).export_outputs
    if output_key not in outputs:
        raise KeyError(f"output_key must be one of {outputs.keys()}; got {output_key}")
    return outputs[output_key].as_signature_def(receiver.receiver_tensors)


@export("contrib.predictor.from_estimator")
def from_estimator(
    estimator: Estimator, serving_input_receiver_fn: Callable, output_key: str | None = None, graph: Graph | None = None,
    config: object = None,
) -> CoreEstimatorPredictor:  # fmt: skip
    """A Predictor of an Estimator.

    Args:
      estimator: the Estimator.
      serving_input_receiver_fn: function that gives a ServingInputReceiver.
      output_key: the name of the export output to compute, by default "serving_default".
      graph: the graph to build in; by default a new one. config: ConfigProto of the session.

    Raises:
      TypeError: `estimator` is no tf.estimator.Estimator. KeyError: there is no such output.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"Expected estimator to be of type tf.estimator.Estimator, but got type {type(estimator)}.")
    return CoreEstimatorPredictor(estimator, serving_input_receiver_fn, output_key=output_key, graph=graph, config=config)


class ContribEstimatorPredictor(Predictor):
    """The model of an Estimator of contrib.learn; arguments are those of `from_contrib_estimator`."""

    def __init__(
        self, estimator: Any, prediction_input_fn: Callable, input_alternative_key: str | None = None,
        output_alternative_key: str | None = None, graph: Graph | None = None, config: object = None,
    ) -> None:  # fmt: skip
        self._graph = graph or Graph()
        with self._graph.as_default():
            inputs = prediction_input_fn()
            model = estimator._get_predict_ops(inputs.features)
            path = latest_checkpoint(estimator.model_dir)
            creator = ChiefSessionCreator(config=config, checkpoint_filename_with_path=path)
            self._session = MonitoredSession(session_creator=creator)
        alternatives, _ = get_input_alternatives(inputs)
        self._feed_tensors = alternatives[input_alternative_key or DEFAULT_INPUT_ALTERNATIVE_KEY]
        outputs, key = get_output_alternatives(model, output_alternative_key)
        _, self._fetch_tensors = outputs[key]


@export("contrib.predictor.from_contrib_estimator")
def from_contrib_estimator(
    estimator: object, prediction_input_fn: Callable, input_alternative_key: str | None = None,
    output_alternative_key: str | None = None, graph: Graph | None = None, config: object = None,
) -> Predictor:  # fmt: skip
    """A Predictor of a tf.contrib.learn.Estimator.

    Args:
      estimator: the Estimator.
      prediction_input_fn: function that gives InputFnOps.
      input_alternative_key: which input to feed; by default the serialized Examples.
      output_alternative_key: which output to compute, where there are several.
      graph: the graph to build in; by default a new one. config: ConfigProto of the session.

    Raises:
      TypeError: `estimator` is a tf.estimator.Estimator.
    """
    if isinstance(estimator, Estimator):
        raise TypeError(
            "Expected estimator to be of type tf.contrib.learn.Estimator, but got type tf.estimator.Estimator. "
            "You likely want to call from_estimator."
        )
    return ContribEstimatorPredictor(
        estimator, prediction_input_fn, input_alternative_key=input_alternative_key,
        output_alternative_key=output_alternative_key, graph=graph, config=config,
    )  # fmt: skip
