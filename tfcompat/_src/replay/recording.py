"""Records the runs of tfcompat's own sessions, in the recorder's format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.platform.versions import VERSION
from tfcompat._src.proto import messages
from tfcompat._src.replay import recorder
from tfcompat._src.runtime.session.session import BaseSession


def begin(folder: str, program: list[str], options: Iterable[str] = ()) -> recorder.Recorder:
    """Has all sessions of this process record their runs into a folder, which is made.

    Args:
      program: the command line of the program. options: of the recorder, as its command line takes them.

    Raises:
      OSError: the folder cannot be made, or holds a record.
    """
    settings = recorder.parser().parse_args(["--out", folder, *options, "--", *program])
    found = recorder.Recorder(settings, {"by": "tfcompat, TensorFlow"})
    hook(found)
    return found


def end(record: recorder.Recorder) -> None:
    """Notes the end of a record."""
    record._note(what="program", tensorflow=VERSION)
    record.close()


def hook(record: recorder.Recorder) -> None:
    """Replaces `BaseSession._run`, through which `run`, callables and Keras go."""
    record.failed = (errors.OpError,)
    plain = BaseSession._run

    def recorded(
        self: BaseSession, fetches: object, feed_dict: dict[Any, Any] | None, options: messages.RunOptions | None, run_metadata: messages.RunMetadata | None
    ) -> Any:
        prepared, values = self._prepare(fetches, feed_dict)
        wanted = prepared.fetches

        def call(extra: list[Tensor]) -> list[object]:
            found: list[list[object]] = plain(self, [[*wanted.tensors, *extra], wanted.targets], feed_dict, options, run_metadata)
            return found[0]

        def read(tensors: list[Tensor]) -> list[object]:
            found: list[object] = plain(self, tensors, None, None, None)
            return found

        got = record.run(self, self.graph, zip(prepared.feeds, values), list(wanted.tensors), list(wanted.targets), call, read)
        return wanted.rebuild(got)

    BaseSession._run = recorded  # type: ignore[method-assign]  # that is how it records

