"""What is done with a version before it is AVAILABLE, so that no request waits for the compiler: warm-up records and runs of all batch sizes.

Warm-up records: assets.extra/tf_serving_warmup_requests, a TFRecord file of PredictionLog messages, as of TensorFlow Serving.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.cluster import wire
from tfcompat._src.io import tfrecord
from tfcompat._src.platform import file_io, logging
from tfcompat._src.proto import messages
from tfcompat._src.runtime.engines import choice
from tfcompat._src.serving import inference
from tfcompat._src.serving.metrics import WARMUP_LATENCY
from tfcompat._src.serving.servable import Servable

WARMUP_FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")
MOST_RECORDS = 1000
_LIMITS = (0, 0, 3600, 3600)
"""Time limits in seconds of the runs of one size: the second without and the second with one compile; loops differ with the limit."""
_METHODS: dict[str, Callable[[Servable, Any, float], Any]] = {
    "classify_log": inference.classify, "regress_log": inference.regress, "multi_inference_log": inference.multi_inference,
}  # fmt: skip


def prepare(servable: Servable, sizes: Sequence[int] = (), replays_warmup: bool = True) -> None:
    """Runs a version before its first request.

    Args:
      servable: the version. sizes: the batch sizes that requests are padded to; none: 1 alone is run.
      replays_warmup: whether the records of its warm-up file are.

    Raises:
      errors.OpError: a warm-up record is malformed, or its request fails.
    """
    # A thread of its own: what the main thread runs is compiled by a helper, where `decided_at_once` would not hold.
    with ThreadPoolExecutor(1, "tfcompat-serving-prepare") as thread:
        thread.submit(_prepare, servable, sizes, replays_warmup).result()


def _prepare(servable: Servable, sizes: Sequence[int], replays_warmup: bool) -> None:
    with choice.decided_at_once():
        if replays_warmup:
            _replay(servable)
        for name, signature in sorted(servable.signatures.items()):
            if not signature.method_name:
                continue  # of an initial operation
            if changed := servable.changes(signature):
                logging.info("Signature %s of model %s is not prepared: %s would change what it holds", name, servable.name, ", ".join(changed))
                continue
            _run_sizes(servable, name, signature, sizes or (1,))


# ---- warm-up records ----


def _replay(servable: Servable) -> None:
    path = os.path.join(servable.path, WARMUP_FILE)
    if not file_io.exists(path):
        return
    began, status = time.monotonic(), "OK"
    try:
        for number, record in enumerate(tfrecord.tf_record_iterator(path)):
            if number == MOST_RECORDS:
                raise inference.invalid(f"Number of warmup records exceeds the maximum ({MOST_RECORDS}) at {path}")
            _answer(servable, record, number)
    except wire.FAILURES as e:
        status = messages.error.Code.Name(wire.status_of(e)[0])
        raise
    finally:
        WARMUP_LATENCY.add(servable.path, status, amount=(time.monotonic() - began) * 1e6)


def _answer(servable: Servable, record: bytes, number: int) -> None:
    try:
        log = messages.serving.PredictionLog.FromString(record)
    except DecodeError as e:
        raise inference.invalid(f"Failed to parse warmup record {number}: {e}") from None
    kind = log.WhichOneof("log_type")
    for seconds in _LIMITS:
        if kind == "predict_log":
            request = log.predict_log.request
            inputs = {key: wire.from_proto(value) for key, value in request.inputs.items()}
            inference.predict(servable, inference.signature_name(request.model_spec), inputs, request.output_filter, seconds)
        elif kind in _METHODS:
            _METHODS[kind](servable, getattr(log, kind).request, seconds)
        else:
            raise errors.UnimplementedError(None, None, f"Unsupported log_type for warmup: {kind} of record {number}")


# ---- batch sizes ----


def _run_sizes(servable: Servable, name: str, signature: Any, sizes: Sequence[int]) -> None:
    """Runs a signature with rows of zeros, or empty Examples; one whose rows have no known shape is left to its requests."""
    rows = {info.name: _row(servable, info) for info in signature.inputs.values()}
    if not rows or any(row is None for row in rows.values()):
        logging.info("Signature %s of model %s is not prepared: its inputs have rows of any shape", name, servable.name)
        return
    fetches = [signature.outputs[key].name for key in sorted(signature.outputs)]
    for size in sizes:
        feeds = {tensor: np.repeat(row[None], size, axis=0) for tensor, row in rows.items() if row is not None}
        try:
            for seconds in _LIMITS:
                servable.run_at_once(feeds, fetches, seconds)
        except (errors.OpError, ValueError) as e:  # zeros may be no input for it
            logging.warning("Signature %s of model %s is not prepared for batches of %d: %s", name, servable.name, size, e)
            return


def _row(servable: Servable, info: Any) -> NDArray | None:
    """A row of an input whose first dimension may be any and whose others are known; else None."""
    shape = info.tensor_shape
    sizes = [dim.size for dim in shape.dim]
    if info.WhichOneof("encoding") != "name" or shape.unknown_rank or not sizes or sizes[0] != -1 or -1 in sizes[1:]:
        return None
    dtype = dtypes.as_dtype(info.dtype).base_dtype
    if dtype != dtypes.string:
        return np.zeros(sizes[1:], dtype.as_numpy_dtype)
    row = np.empty(sizes[1:], object)
    row[...] = servable.example_for(info.name)
    return row
