"""`tensorflow.python.data.experimental.kernel_tests.reader_dataset_ops_test_base`: what tests of datasets of files are built on."""

from __future__ import annotations

import gzip
import itertools
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.data.experimental.readers import make_batched_features_dataset
from tfcompat._src.io.tfrecord import TFRecordWriter
from tfcompat._src.ops.parsing.features import FixedLenFeature, VarLenFeature
from tfcompat._src.proto import messages
from tfcompat._src.testing.data_test_base import DatasetTestBase

_LABEL = b"fake-label"


def in_turn(iterators: Sequence[Iterator], cycle_length: int) -> Iterator:
    """What `cycle_length` iterators give in turn; one that ends makes room for the next, which waits for its turn."""
    pending = list(iterators)
    slots: list[Iterator | None] = [pending.pop(0) for _ in range(min(cycle_length, len(pending)))]
    while any(slot is not None for slot in slots):
        for place, slot in enumerate(slots):
            if slot is None:
                continue
            try:
                yield next(slot)
            except StopIteration:
                slots[place] = pending.pop(0) if pending else None


class _Files(DatasetTestBase):
    """Two files of seven records each; subclasses write them."""

    def setUp(self) -> None:
        super().setUp()
        self._num_files, self._num_records = 2, 7

    def _paths(self, name: str, count: int | None = None) -> list[str]:
        return [os.path.join(self.get_temp_dir(), f"{name}.{i}.txt") for i in range(self._num_files if count is None else count)]

    def _records(self, file_indices: Iterable[int], cycle_length: int) -> Iterator[tuple[int, int]]:
        """(file, record) in the order in which datasets give them."""
        rows = [itertools.product([i], range(self._num_records)) for i in file_indices]
        return itertools.chain(*rows) if cycle_length == 1 else in_turn(rows, cycle_length)

    _interleave = staticmethod(in_turn)


class FixedLengthRecordDatasetTestBase(_Files):
    """Files of records of three bytes between a header of five and a footer of two."""

    def setUp(self) -> None:
        super().setUp()
        self._header_bytes, self._record_bytes, self._footer_bytes = 5, 3, 2

    def _record(self, f: int, r: int) -> bytes:
        return str(f * 2 + r).encode() * self._record_bytes

    def _createFiles(self) -> list[str]:
        names = self._paths("fixed_length_record")
        for i, name in enumerate(names):
            body = b"".join(self._record(i, j) for j in range(self._num_records))
            with open(name, "wb") as file:
                file.write(b"H" * self._header_bytes + body + b"F" * self._footer_bytes)
        return names


class TextLineDatasetTestBase(DatasetTestBase):
    """Files of lines; the last line of all but the first file has no end."""

    def _lineText(self, f: int, line: int) -> bytes:
        return b"%d: %d" % (f, line)

    def _createFiles(self, num_files: int, num_lines: int, crlf: bool = False, compression_type: str | None = None) -> list[str]:
        pack: dict[str, Callable[[bytes], bytes]] = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}
        if (compression_type or "") not in pack:
            raise ValueError("Unsupported compression_type", compression_type)
        end = b"\r\n" if crlf else b"\n"
        names = []
        for i in range(num_files):
            names.append(os.path.join(self.get_temp_dir(), f"text_line.{i}.txt"))
            text = end.join(self._lineText(i, j) for j in range(num_lines)) + (b"" if i else end)
            with open(names[-1], "wb") as file:
                file.write(pack[compression_type or ""](text))
        return names


class TFRecordDatasetTestBase(_Files):
    """TFRecord files whose records say where they are."""

    def setUp(self) -> None:
        super().setUp()
        self.test_filenames = self._createFiles()

    def _record(self, f: int, r: int) -> bytes:
        return b"Record %d of file %d" % (r, f)

    def _createFiles(self) -> list[str]:
        names = self._paths("tf_record")
        for i, name in enumerate(names):
            with TFRecordWriter(name) as writer:
                for j in range(self._num_records):
                    writer.write(self._record(i, j))
        return names

    def _next_expected_batch(
        self, file_indices: Iterable[int], batch_size: int, num_epochs: int, cycle_length: int, drop_final_batch: bool, use_parser_fn: object
    ) -> Iterator[list[bytes]]:
        """The batches of all epochs; a parser function takes off the first byte of each record."""
        epochs = [self._records(file_indices, cycle_length) for _ in range(num_epochs)]
        records = (self._record(f, r)[1 if use_parser_fn else 0 :] for f, r in itertools.chain(*epochs))
        while batch := list(itertools.islice(records, batch_size)):
            if len(batch) < batch_size and drop_final_batch:
                return
            yield batch

    def _verify_records(
        self, outputs: Callable, batch_size: int, file_index: Any, num_epochs: int, interleave_cycle_length: int, drop_final_batch: bool,
        use_parser_fn: Any,
    ) -> None:  # fmt: skip
        indices = range(self._num_files) if file_index is None else file_index if isinstance(file_index, list) else [file_index]
        expected = self._next_expected_batch(indices, batch_size, num_epochs, interleave_cycle_length, drop_final_batch, use_parser_fn)
        for batch in expected:
            self.assertAllEqual(batch, self.evaluate(outputs()))


class MakeBatchedFeaturesDatasetTestBase(_Files):
    """TFRecord files of tf.Examples with the features file, record, keywords (one or two) and label."""

    def setUp(self) -> None:
        super().setUp()
        self.test_filenames = self._createFiles()

    def make_batch_feature(
        self, filenames: Any, num_epochs: Any, batch_size: int, label_key: str | None = None, reader_num_threads: int = 1,
        parser_num_threads: int = 1, shuffle: bool = False, shuffle_seed: object = None, drop_final_batch: bool = False,
    ) -> Any:  # fmt: skip
        """A dataset of batches of the features in files."""
        self.filenames, self.num_epochs, self.batch_size = filenames, num_epochs, batch_size
        features = {
            "file": FixedLenFeature([], dtypes.int64), "record": FixedLenFeature([], dtypes.int64),
            "keywords": VarLenFeature(dtypes.string), "label": FixedLenFeature([], dtypes.string),
        }  # fmt: skip
        return make_batched_features_dataset(
            filenames, batch_size, features, label_key=label_key, num_epochs=num_epochs, shuffle=shuffle, shuffle_seed=shuffle_seed,
            reader_num_threads=reader_num_threads, parser_num_threads=parser_num_threads, drop_final_batch=drop_final_batch,
        )  # fmt: skip

    def _get_keywords(self, f: int, r: int) -> list[bytes]:
        return [b"keyword%d" % i for i in range(1 + (f + r) % 2)]

    def _sum_keywords(self, num_files: int) -> int:
        return sum(len(self._get_keywords(f, r)) for f in range(num_files) for r in range(self._num_records))

    def _record(self, f: int, r: int, label: str | bytes) -> bytes:
        example = messages.Example()
        feature = example.features.feature
        feature["file"].int64_list.value.append(f)
        feature["record"].int64_list.value.append(r)
        feature["keywords"].bytes_list.value.extend(self._get_keywords(f, r))
        feature["label"].bytes_list.value.append(label if isinstance(label, bytes) else label.encode())
        return example.SerializeToString()

    def _createFiles(self) -> list[str]:
        names = self._paths("tf_record")
        for i, name in enumerate(names):
            with TFRecordWriter(name) as writer:
                for j in range(self._num_records):
                    writer.write(self._record(i, j, _LABEL))
        return names

    def _run_actual_batch(self, outputs: Callable, label_key_provided: bool = False) -> list:
        found = self.evaluate(outputs())
        features, label = found if label_key_provided else (found, found["label"])
        keywords = features["keywords"]
        return [features["file"], keywords.indices, keywords.values, keywords.dense_shape, features["record"], label]

    def _next_actual_batch(self, label_key_provided: bool = False) -> list:
        return self._run_actual_batch(self.outputs, label_key_provided)

    def _next_expected_batch(self, file_indices: Iterable[int], batch_size: int, num_epochs: int, cycle_length: int = 1) -> Iterator[list]:
        rows = itertools.chain(*[self._records(file_indices, cycle_length) for _ in range(num_epochs)])
        while batch := list(itertools.islice(rows, batch_size)):
            words = [self._get_keywords(f, r) for f, r in batch]
            places = [[row, i] for row, each in enumerate(words) for i in range(len(each))]
            shape = [len(batch), max(map(len, words))]
            files, records = zip(*batch)
            yield [list(files), places, list(itertools.chain(*words)), shape, list(records), [_LABEL] * len(batch)]

    def verify_records(
        self, batch_size: int, file_index: int | None = None, num_epochs: int = 1, label_key_provided: bool = False,
        interleave_cycle_length: int = 1,
    ) -> None:  # fmt: skip
        """The next batches of `self.outputs` are those of a file, or of all."""
        indices = range(self._num_files) if file_index is None else [file_index]
        for expected in self._next_expected_batch(indices, batch_size, num_epochs, interleave_cycle_length):
            for wanted, found in zip(expected, self._next_actual_batch(label_key_provided)):
                self.assertAllEqual(wanted, found)
