"""Saves again and again, and stops each save at a file operation: `save_and_die.py FOLDER KIND HOW COUNT`.

KIND is what is saved (see SAVES), HOW is `kill` (SIGKILL, in a forked process) or `interrupt` (SIGINT). The first saves stop at the
first, second, third... operation until one ends by itself; the later ones at random, until COUNT were stopped. After each, the
checkpoint must be whole and hold what it held or what was being saved. Prints how many were stopped, and how many operations a save has.
"""

import fcntl
import itertools
import os
import random
import signal
import sys
import threading
import warnings

import numpy as np

import tfcompat as tf
from tfcompat._src.checkpoint.reader import CheckpointReader
from tfcompat._src.ops.io import save_restore

OPERATIONS = [
    (os, name)
    for name in "open close write pwrite fsync replace rename link unlink remove mkdir rmdir listdir scandir".split()
]
OPERATIONS.append((fcntl, "flock"))
ELEMENTS = {"v2": 700_000}  # more than a block
FEW_ELEMENTS = 20_000
NAMES = ("a", "b", "c")
TYPES = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.float32))


def strings(*values):
    return np.array([v.encode() for v in values], object)


def tensors(value):
    return np.full(ELEMENTS.get(sys.argv[2], FEW_ELEMENTS), value, np.float64), np.full(3, value, np.int64), np.full((5, 7), value, np.float32)


def save(prefix, value):
    arrays = tensors(value)
    save_restore._save_v2(strings(prefix), strings(*NAMES), strings("", "", ""), arrays, dtypes=TYPES)


def save_sharded(prefix, value, shards=3):
    parts = [f"{prefix}_temp_{shards}/part-{i:05d}-of-{shards:05d}" for i in range(shards)]
    for i, part in enumerate(parts):
        names, arrays, types = NAMES[i::shards], tensors(value)[i::shards], TYPES[i::shards]
        save_restore._save_v2(strings(part), strings(*names), strings(*[""] * len(names)), arrays, dtypes=types)
    save_restore._merge(strings(*parts), strings(prefix), delete_old_dirs=True)


def save_version_1(prefix, value):
    save_restore._save(strings(prefix), strings(*NAMES), tensors(value), T=TYPES)


def save_in_changing_shards(prefix, value):
    (save, save_sharded, lambda *a: save_sharded(*a, shards=2))[value % 3](prefix, value)


def write_state(prefix, value):
    tf.train.update_checkpoint_state(os.path.dirname(prefix), f"{prefix}-{value}")


def saved_value(prefix):
    """The value in all tensors of a checkpoint."""
    reader = CheckpointReader(prefix)
    found = [reader.get_tensor(name) for name in NAMES]
    value = int(found[1][0])
    for array, wanted in zip(found, tensors(value)):
        np.testing.assert_array_equal(array, wanted)
    return value


def state_value(prefix):
    return int(tf.train.get_checkpoint_state(os.path.dirname(prefix)).model_checkpoint_path.rpartition("-")[2])


SAVES = {
    "v2": (save, saved_value),
    "sharded": (save_sharded, saved_value),
    "v1": (save_version_1, saved_value),
    "changing": (save_in_changing_shards, saved_value),
    "state": (write_state, state_value),
}


class Stopper:
    """Counts the file operations of a save, and calls `stop` before one of them, or in the middle of one that writes."""

    def __init__(self, at, stop, in_the_middle):
        self.count, self._at, self._stop, self._in_the_middle = 0, at, stop, in_the_middle
        self._originals = []
        self._lock = threading.Lock()

    def __enter__(self):
        for module, name in OPERATIONS:
            self._originals.append((module, name, getattr(module, name)))
            setattr(module, name, self._counted(name, getattr(module, name)))
        return self

    def __exit__(self, *error):
        for original in self._originals:
            setattr(*original)

    def _counted(self, name, function):
        def call(*args, **kwargs):
            with self._lock:
                number, self.count = self.count, self.count + 1
                if number == self._at:
                    if name in ("write", "pwrite") and self._in_the_middle:
                        function(args[0], memoryview(args[1])[: len(args[1]) // 2], *args[2:])
                    self._stop()
            return function(*args, **kwargs)

        return call


def stopped_save(how, save, prefix, value, at):
    """Saves and is stopped; whether it was."""
    if how == "interrupt":
        with Stopper(at, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT), False) as stopper:
            try:
                save(prefix, value)
                signal.pthread_sigmask(signal.SIG_BLOCK, ())  # where a handler is due, it runs here
            except KeyboardInterrupt:
                return True
        assert stopper.count <= at, "the interrupt was lost"
        return False
    process = os.fork()
    if not process:
        with Stopper(at, lambda: os.kill(os.getpid(), signal.SIGKILL), True):
            save(prefix, value)
        os._exit(0)
    _, status = os.waitpid(process, 0)
    if status not in (0, signal.SIGKILL):
        raise AssertionError(f"a save ended with {status}")
    return bool(status)


def check_no_leftovers(folder):
    found = [name for name in os.listdir(folder) if "tempstate" in name or ".tmp" in name]
    assert not found, found


def main(folder, kind, how, count):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.simplefilter("ignore")
    save, present_value = SAVES[kind]
    prefix = os.path.join(folder, "model")
    save(prefix, 0)
    present, stopped, operations = 0, 0, None
    generator = random.Random(7)
    for value in itertools.count(1):
        at = value - 1 if operations is None else generator.randrange(operations)
        if stopped_save(how, save, prefix, value, at):
            stopped += 1
        else:
            operations = operations or at
        found = present_value(prefix)
        assert found in (present, value), f"stopped at {at}: {found} is there, {present} or {value} is wanted"
        present = found
        if how == "interrupt":
            check_no_leftovers(folder)
        if operations is not None and stopped >= count:
            break
    save(prefix, value + 1)
    assert present_value(prefix) == value + 1
    if kind == "state":  # the save of a checkpoint sweeps all files of the folder
        SAVES["v2"][0](os.path.join(folder, "other"), 0)
    check_no_leftovers(folder)
    print(stopped, operations)


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]))
