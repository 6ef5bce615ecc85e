"""RunMetadata entries for received tensors, in the form of TensorFlow 1.15: nodes named RecvTensor, with size, speed and times."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from tfcompat._src.cluster.rendezvous import Receipt, StepRendezvous, parse_key
from tfcompat._src.proto import messages

NAME = "RecvTensor"


def add_receipts(metadata: messages.RunMetadata, step: StepRendezvous, awaited: Collection[str]) -> None:
    """Adds an entry for each tensor that a part has received from another task.

    Args:
      metadata: of the part's run. step: the rendezvous, with receipts. awaited: the keys of the part's _Recv nodes.
    """
    devices = {device.device: device for device in metadata.step_stats.dev_stats}
    wanted = {_without_iteration(key) for key in awaited}
    # Other tasks take the tensors that are sent to them from the same rendezvous: only this part's keys count.
    for receipt in list(step.receipts or ()):
        if _without_iteration(receipt.key) in wanted:
            device = parse_key(receipt.key).recv_device
            if device not in devices:
                devices[device] = metadata.step_stats.dev_stats.add(device=device)
            devices[device].node_stats.append(_entry(receipt))


def _without_iteration(key: str) -> str:
    """Returns a key without its last field, the frame and iteration, which a _Recv node in a loop does not know."""
    return key.rpartition(";")[0]


def _entry(receipt: Receipt) -> messages.NodeExecStats:
    """Makes the NodeExecStats of a receipt. The label is what TensorFlow's timeline shows."""
    key, found = parse_key(receipt.key), receipt.found
    # At least 1 microsecond, as the speed is bits per microsecond (Mb/s).
    nanos = receipt.came - receipt.asked
    micros = max(nanos // 1000, 1)
    size = 0 if found.is_dead else _bytes_of(found.value)
    rate = size * 8 / micros
    speed = f"{rate / 1000:.1f}Gb/s" if rate >= 1000 else f"{rate:f}Mb/s"
    stats = messages.NodeExecStats(
        node_name=NAME, timeline_label=f"[{size}B] [{speed}] {key.name} from {key.send_device} to {key.recv_device}",
        all_start_micros=receipt.asked // 1000, all_start_nanos=receipt.asked, op_end_rel_micros=micros, op_end_rel_nanos=nanos,
        all_end_rel_micros=micros, all_end_rel_nanos=nanos, scheduled_micros=receipt.asked // 1000, scheduled_nanos=receipt.asked,
    )  # fmt: skip
    stats.output.add(slot=0).tensor_description.allocation_description.requested_bytes = size
    return stats


def _bytes_of(value: object) -> int:
    """Returns the size of an array in bytes; the sum of the lengths for strings, 0 for other values."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return sum(len(each) for each in value.reshape(-1) if isinstance(each, bytes))
    return int(getattr(value, "nbytes", 0))
