"""tf.contrib.hadoop: sequence files, as its documentation says that they are made, and damaged ones."""

import functools
import importlib
import os
import struct

from contrib.outcomes import plain

MARK = bytes(bytearray(range(100, 116)))
TEXT = b"org.apache.hadoop.io.Text"


def text(value):
    """A text with its length; 1.15 reads bytes of lengths as signed numbers, so that there are none past 127 here."""
    length = len(value)
    return (struct.pack(">B", length) if length < 128 else b"\x8e" + struct.pack(">H", length)) + value


def header(magic=b"SEQ\x06", key=TEXT, value=TEXT, flags=b"\0\0", pairs=0):
    metadata = b"".join(text(b"name%d" % i) + text(b"value") for i in range(min(pairs, 9)))
    return magic + text(key) + text(value) + flags + struct.pack(">I", pairs) + metadata + MARK


def record(key, value, key_length=None):
    data = text(key) + text(value)
    return struct.pack(">II", len(data), len(text(key)) if key_length is None else key_length) + data


ESCAPE = b"\xff\xff\xff\xff"
FILES = {
    "records": header() + record(b"001", b"VALUE") + ESCAPE + MARK + record(b"", b"x" * 100) + ESCAPE + MARK + ESCAPE + MARK + record(b"k", b""),
    "metadata": header(pairs=3) + record(b"a", b"b"),
    "no_record": header(),
    "long": header() + record(b"a", b"y" * 300),
    "nothing": b"",
    "version": header(magic=b"SEQ\x05") + record(b"a", b"b"),
    "magic": header(magic=b"SAQ\x06"),
    "class": header(value=b"org.apache.hadoop.io.IntWritable"),
    "compressed": header(flags=b"\1\0"),
    "blocks": header(flags=b"\0\1"),
    "too_much_metadata": header(pairs=1025 + 0x7000),
    "mark": header() + record(b"a", b"b") + ESCAPE + MARK[::-1] + record(b"a", b"b"),
    "key_length": header() + record(b"a", b"b", key_length=100),
    "cut_record": header() + record(b"a", b"b") + record(b"c", b"d")[:-1],
    "cut_header": header()[:-3],
}


def elements(tf, filenames):
    """The elements up to the end, and the class of the exception that ends them."""
    dataset = importlib.import_module("tensorflow.contrib.hadoop").SequenceFileDataset(filenames)
    following = tf.data.make_initializable_iterator(dataset)
    batch, found = following.get_next(), []
    with tf.Session() as session:
        session.run(following.initializer)
        try:
            while True:
                found.append(session.run(batch))
        except tf.errors.OpError as error:
            return plain([found, type(error).__name__, [str(each) for each in dataset.element_spec]])


def written(tf, folder, names=("records",)):
    paths = []
    for name in names:
        paths.append(os.path.join(folder, name))
        with open(paths[-1], "wb") as file:
            file.write(FILES[name])
    return paths


def of_file(name, tf, folder):
    return elements(tf, written(tf, folder, [name]))


def of_several(tf, folder):
    return elements(tf, written(tf, folder, ["records", "no_record", "metadata"]))


def of_one_name(tf, folder):
    return elements(tf, written(tf, folder)[0])


def of_a_matrix(tf, folder):
    return elements(tf, [written(tf, folder)])


def of_no_file(tf, folder):
    return elements(tf, [os.path.join(folder, "none")])


PROGRAMS = {name: functools.partial(of_file, name) for name in FILES}
PROGRAMS.update({f.__name__: f for f in (of_several, of_one_name, of_a_matrix, of_no_file)})
