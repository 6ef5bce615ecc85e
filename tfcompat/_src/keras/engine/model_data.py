"""Brings what a user gives to fit, evaluate and predict into the form of a model's inputs, which it may be built by."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import nest
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.base.trackable import no_automatic_dependency_tracking
from tfcompat._src.data import structure
from tfcompat._src.graph.scopes import executing_eagerly, executing_eagerly_outside_functions
from tfcompat._src.keras.backend.session import learning_phase
from tfcompat._src.keras.backend.values import is_placeholder
from tfcompat._src.keras.engine import training_data, training_datasets, training_endpoint
from tfcompat._src.keras.engine.compiled_loss import CompiledLoss
from tfcompat._src.keras.engine.node import int_shape
from tfcompat._src.keras.engine.training_data import has_tensors
from tfcompat._src.keras.utils.generic_utils import to_list
from tfcompat._src.keras.utils.sequences import is_generator_or_sequence
from tfcompat._src.nodes.tensor_spec import TensorSpec


class ModelData(CompiledLoss):
    """A compiled network that checks and orders its data."""

    # ---- data ----

    def _validate_or_infer_batch_size(self, batch_size: int | None, steps: int | None, x: Any) -> int | None:
        if is_generator_or_sequence(x) or training_datasets.is_dataset(x):
            if batch_size is not None:
                raise ValueError(
                    "The `batch_size` argument must not be specified for the given input type. "
                    f"Received input: {x}, batch_size: {batch_size}"
                )
            return None
        layers = super().layers
        static = training_data.get_static_batch_size(layers[0]) if layers else None
        if static is not None:
            if batch_size is not None and batch_size != static:
                raise ValueError(
                    f"The `batch_size` argument value {batch_size} is incompatible with the specified batch size of "
                    f"your Input Layer: {static}"
                )
            batch_size = static if steps is None else batch_size
        by_samples = self._distribution_strategy is not None and not executing_eagerly()
        return 32 if batch_size is None and steps is None and not by_samples else batch_size

    def _standardize_user_data(
        self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, batch_size: int | None = None,
        check_steps: bool = False, steps_name: str = "steps", steps: int | None = None,
    ) -> tuple[Any, Any, Any]:  # fmt: skip
        """Inputs, targets and weights as lists in the order of the placeholders; the model is built where it is not.

        Of a dataset or iterator they are the tensors that each run gives new values.
        """
        checks_targets = not (executing_eagerly() and has_tensors(y))
        if executing_eagerly() and not training_datasets.is_dataset(x):
            x, y, sample_weight = training_datasets.numpy_of((x, y, sample_weight))
        flows = training_datasets.is_dataset(x) or training_datasets.is_iterator(x)
        if flows:
            training_datasets.validate_dataset_input(x, y, sample_weight)
            x, y, sample_weight = training_datasets.first_element(x)
        elif check_steps:
            training_data.check_steps_argument(x, steps, steps_name)
        given_inputs: list[Any] = []
        builds, is_dict = not self.inputs, isinstance(self.inputs, dict)
        if builds:
            given_inputs, is_dict = self._build_model_with_inputs(x, flows)
        compiles = not self._is_compiled and bool(self.optimizer)
        if compiles:
            self._compile_from_inputs(given_inputs, y, x, y, flows)
        if builds and compiles and not flows and has_tensors(given_inputs):
            return [], [], None
        shapes = self._feed_input_shapes if self._is_graph_network else None
        x = training_data.standardize_input_data(
            x, self._feed_input_names, shapes, check_batch_axis=False, exception_prefix="input"
        )
        x = [training_data.to_dense_or_sparse_tensor(a, b) for a, b in zip(x, self._feed_inputs)]
        for given, wanted in zip(x, nest.flatten(self.inputs)):
            nest.assert_same_structure(structure.type_spec_from_value(given), wanted, expand_composites=True)
        y, weights = self._standardize_targets(x, y, sample_weight, class_weight, checks_targets)
        if self.stateful and batch_size and not flows and x[0].shape[0] % batch_size:
            raise ValueError(
                "In a stateful network, you should only pass inputs with a number of samples that can be divided by "
                f"the batch size. Found: {x[0].shape[0]} samples"
            )
        return dict(zip(self._feed_input_names, x)) if is_dict else x, y, weights

    def _standardize_targets(
        self, x: list[Any], y: Any, sample_weight: Any, class_weight: Any, checks_targets: bool
    ) -> tuple[list, Any]:  # fmt: skip
        if y is None:
            return [], None
        training_endpoint.prepare_sample_weight_modes(self._training_endpoints, self.sample_weight_mode)
        names, modes = self._feed_output_names, self._sample_weight_modes
        y = training_data.standardize_input_data(y, names, None, check_batch_axis=False, exception_prefix="target")
        weights = [
            training_data.standardize_weights(*row)
            for row in zip(
                y,
                training_data.standardize_sample_weights(sample_weight, names),
                training_data.standardize_class_weights(class_weight, names),
                modes,
            )
        ]
        training_data.check_array_lengths(x, y, weights)
        if self._is_graph_network and checks_targets and not self.run_eagerly:
            training_data.check_loss_and_target_compatibility(y, self._feed_loss_fns, self._feed_output_shapes)
        unweighted = all(mode is None for mode in modes) and all(w is None for w in weights)
        return y, None if unweighted else weights

    def _build_model_with_inputs(self, inputs: Any, flows: bool) -> tuple[list[Any], bool]:
        """Gives a model without inputs those of `inputs`, placeholders where they flow; a list of them, and whether they are a dict."""
        training_data.validate_input_types(inputs, inputs)
        if isinstance(inputs, (list, tuple)):
            values = list(inputs)
        else:
            values = [inputs[k] for k in sorted(inputs)] if isinstance(inputs, dict) else [inputs]
        for value in values:
            if training_data.is_composite(value):
                raise ValueError(
                    "All SparseTensor and RaggedTensor inputs must be explicitly declared using a keras.Input() with "
                    f"sparse=True or ragged=True. We found an undeclared input {value}. For Sequential models, please "
                    "add a keras.Input() as your first Layer. For subclassed models, please call self._set_inputs() on "
                    "your input set, which you can create using keras.Input() for each input to your model."
                )
        if flows:
            self._set_inputs(nest.map_structure(lambda x: TensorSpec(x.shape, x.dtype), inputs))
        else:
            self._set_inputs(training_data.cast_if_floating_dtype(inputs) if has_tensors(inputs) else inputs)
        return values, isinstance(inputs, dict)

    def _compile_from_inputs(
        self, all_inputs: list[Any], target: Any, orig_inputs: Any, orig_target: Any, flows: bool
    ) -> None:
        """Compiles a model that had no outputs before."""
        if target is not None:
            if has_tensors(target):
                target = training_data.cast_if_floating_dtype_and_mismatch(target, self.outputs)
            training_data.validate_input_types(target, orig_target, allow_dict=False, field_name="target")
            all_inputs += list(target) if isinstance(target, (list, tuple)) else [target]
        kinds = {has_tensors(v) for v in all_inputs}
        if len(kinds) > 1:
            raise ValueError(
                "Do not pass inputs that mix Numpy arrays and TensorFlow tensors. "
                f"You passed: x={orig_inputs}; y={orig_target}"
            )
        tensors = None
        if target is not None and not flows:
            tensors = [v for v in to_list(list(target) if isinstance(target, tuple) else target) if has_tensors(v)]
        self.compile(
            optimizer=self.optimizer, loss=self.loss, metrics=self._compile_metrics,
            weighted_metrics=self._compile_weighted_metrics, loss_weights=self.loss_weights, target_tensors=tensors,
            sample_weight_mode=self.sample_weight_mode, run_eagerly=self._run_eagerly,
        )  # fmt: skip

    def _set_inputs(self, inputs: Any, outputs: Any = None, training: Any = None) -> None:
        """Gives a model without inputs placeholders like `inputs`, and the outputs of its call on them."""
        inputs = self._set_input_attrs(inputs)
        if outputs is None:
            arguments = {}
            if training is None and not executing_eagerly_outside_functions():
                training = learning_phase()
            if self._expects_training_arg and training is not None:
                arguments["training"] = training
            try:
                outputs = self(inputs, **arguments)
            except NotImplementedError:
                if not self.dynamic:
                    raise
        self._set_output_attrs(outputs)

    @no_automatic_dependency_tracking
    def _set_input_attrs(self, inputs: Any) -> Any:
        if self.inputs:
            raise ValueError("Model inputs are already set.")
        if type(self).__name__ == "Sequential" and not self.built:
            self._build_input_shape = (None, *_sizes_of_sample(inputs, self.layers[:1]))
        model_inputs = training_data.ModelInputs(inputs)
        inputs = model_inputs.get_symbolic_inputs()
        self.inputs = model_inputs.get_symbolic_inputs(return_single_as_list=True)
        self.input_names = model_inputs.get_input_names()
        fed = [(name, value) for name, value in model_inputs.as_dict() if is_placeholder(value)]
        self._feed_input_names = [name for name, _ in fed]
        self._feed_inputs = [value for _, value in fed]
        self._feed_input_shapes = [int_shape(value) for _, value in fed]
        return inputs

    @no_automatic_dependency_tracking
    def _set_output_attrs(self, outputs: Any) -> None:
        self.outputs = nest.flatten(outputs)
        self.output_names = training_data.generic_output_names(self.outputs)
        self.built = True


def _sizes_of_sample(inputs: Any, first_layer: list[Any]) -> tuple:
    if isinstance(inputs, dict):
        if any(getattr(layer, "_is_feature_layer", False) for layer in first_layer):
            return ()
        raise ValueError(
            "Passing a dictionary input to a Sequential Model which doesn't have FeatureLayer as the first layer is an "
            "error."
        )
    shape = inputs if isinstance(inputs, TensorShape) else getattr(inputs, "shape", np.shape(inputs))
    return tuple(shape.as_list() if isinstance(shape, TensorShape) else shape)[1:]
