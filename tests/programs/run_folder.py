"""The folder in which the documents' programs run, and how their output is compared; runs under Python 3.7 too."""

import gzip
import os
import re
import struct

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DIGITS = os.path.join(HERE, "..", "..", "examples", "data", "digits.npz")
TRAINING_IMAGES = 1500
COPIES = 4
PLACEMENT = re.compile(r"^.*(?:/job:localhost/|Device mapping:).*\n", re.M)
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


def program_path():
    """PYTHONPATH entries that a program needs."""
    return os.path.join(HERE, "stand_ins")


def _write_idx(path, array):
    with gzip.open(path, "wb") as sink:
        sink.write(struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(">%dI" % array.ndim, *array.shape))
        sink.write(array.tobytes())


def make_mnist(folder):
    """Writes the handwritten digits as 28 x 28 images in MNIST's files to folder/MNIST_data.

    The training images come COPIES times: input_data keeps 5,000 of them for validation.
    """
    with np.load(DIGITS) as stored:
        images, labels = stored["images"], stored["labels"]
    large = np.kron(images, np.ones([1, 3, 3], np.uint8)) * np.uint8(15)
    large = np.pad(large, [(0, 0), (2, 2), (2, 2)], "constant")
    target = os.path.join(str(folder), "MNIST_data")
    os.makedirs(target)
    training = np.tile(np.arange(TRAINING_IMAGES), COPIES)
    for prefix, rows in (("train", training), ("t10k", np.arange(TRAINING_IMAGES, len(labels)))):
        _write_idx(os.path.join(target, prefix + "-images-idx3-ubyte.gz"), large[rows])
        _write_idx(os.path.join(target, prefix + "-labels-idx1-ubyte.gz"), labels[rows])


CLASS_PATH = re.compile(r"<class '(?:\w+\.)*(\w+)'>")


def parts(text):
    """The text between the numbers of an output with its white space evened out, and the numbers.

    The lines of log_device_placement are left out: they name the devices of the machine. Classes go without their modules.
    """
    text = CLASS_PATH.sub(r"<class '\1'>", PLACEMENT.sub("", text))
    return " ".join(NUMBER.sub(" # ", text).split()), [float(n) for n in NUMBER.findall(text)]


def last_error(stderr):
    """Class name of the exception that ended the program, or None."""
    found = re.findall(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception|Interrupt))(?::.*)?$", stderr, re.M)
    return found[-1] if found else None
