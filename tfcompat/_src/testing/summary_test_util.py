"""`tensorflow.contrib.summary.summary_test_util`: what tests read event files with."""

from __future__ import annotations

import os
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.io.events import summary_iterator
from tfcompat._src.platform import file_io
from tfcompat._src.summary.summary_writers import create_db_writer
from tfcompat._src.testing.test_case import TensorFlowTestCase


@export("contrib.summary.summary_test_util.events_from_file")
def events_from_file(filepath: str) -> list[Any]:
    """The Event messages of an event file."""
    return list(summary_iterator(filepath))


@export("contrib.summary.summary_test_util.events_from_logdir")
def events_from_logdir(logdir: str) -> list[Any]:
    """The Event messages of the only file of a folder; AssertionError where there is none or another number."""
    if not file_io.exists(logdir):
        raise AssertionError(f"there is no folder {logdir}")
    files = file_io.listdir(logdir)
    if len(files) != 1:
        raise AssertionError(f"Found not exactly one file in logdir: {files}")
    return events_from_file(os.path.join(logdir, files[0]))


@export("contrib.summary.summary_test_util.get_one")
def get_one(db: Any, q: str, *p: Any) -> Any:
    """The first value that a query of an SQLite database gives, or None."""
    row = db.execute(q, p).fetchone()
    return row[0] if row is not None else None


@export("contrib.summary.summary_test_util.get_all")
def get_all(db: Any, q: str, *p: Any) -> list[Any]:
    """The first value of each row that a query of an SQLite database gives."""
    return [row[0] for row in db.execute(q, p)]


@export("contrib.summary.summary_test_util.SummaryDbTest")
class SummaryDbTest(TensorFlowTestCase):
    """A test of summaries in a database."""

    def create_db_writer(self, *args: Any, **kwargs: Any) -> Any:
        """As tf.contrib.summary.create_db_writer, which raises NotImplementedError."""
        return create_db_writer(self.get_temp_dir(), *args, **kwargs)
