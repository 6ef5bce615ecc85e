"""The compiled programs of `tfcompat run`, kept on disk from one run to the next."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from pathlib import Path

from tfcompat._src.framework import jax_compat

LIMIT = 2**30
"""Bytes kept; the oldest programs go first."""


def keep_programs() -> None:
    """Lets this process find the programs that earlier ones compiled on a machine like this.

    They lie in $TFCOMPAT_CACHE_DIR (nowhere where that is empty), or in the user's cache folder. JAX's own settings win.
    """
    chosen = os.environ.get("TFCOMPAT_CACHE_DIR")
    if chosen == "":
        return
    base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tfcompat"
    folder = base / _machine()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _drop_oldest(folder)
    except OSError:
        return  # a home that cannot be written keeps no programs
    jax_compat.keep_programs(str(folder))


def _machine() -> str:
    """A name that machines share where one can run what the other has compiled."""
    processor = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            found = re.findall(r"^(?:model name|flags|Features)\s*:.*$", file.read(), re.MULTILINE)
        processor = "\n".join(sorted(set(found))) or processor
    text = "\n".join((platform.system(), platform.machine(), processor, jax_compat.VERSIONS))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _drop_oldest(folder: Path) -> None:
    files = sorted(((f.stat().st_mtime, f.stat().st_size, f) for f in folder.iterdir() if f.is_file()), reverse=True)
    total = 0
    for _, size, file in files:
        total += size
        if total > LIMIT:
            file.unlink(missing_ok=True)
