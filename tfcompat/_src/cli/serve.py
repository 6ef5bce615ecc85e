"""`tfcompat serve`: the model server, with compiled programs kept from one start to the next."""

from __future__ import annotations

from tfcompat._src.cli import program_cache
from tfcompat._src.serving import command

ARGUMENTS = command.ARGUMENTS


def main(arguments: list[str]) -> int:
    """Serves models until it is told to end; the exit status."""
    settings = command.settings_of(arguments)
    program_cache.keep_programs(least_seconds=0)  # the next version of a model, and the next start, compile nothing
    return command.serve(settings)
