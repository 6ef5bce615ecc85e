"""Files from elsewhere, kept in a folder, and their hashes."""

from __future__ import annotations

import hashlib
import os
import pathlib
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.keras.utils.progbar import Progbar


def data_dir(cache_subdir: str = "datasets", cache_dir: str | None = None) -> pathlib.Path:
    """The folder for data, ~/.keras/datasets by default, below the temporary folder where ~/.keras cannot be written."""
    base = pathlib.Path(os.path.expanduser(cache_dir or "~/.keras"))
    if not os.access(base, os.W_OK):
        base = pathlib.Path(tempfile.gettempdir(), ".keras")
    return base / cache_subdir


@export("keras.utils.get_file")
def get_file(
    fname: str, origin: str, untar: bool = False, md5_hash: str | None = None, file_hash: str | None = None,
    cache_subdir: str = "datasets", hash_algorithm: str = "auto", extract: bool = False, archive_format: object = "auto",
    cache_dir: str | None = None,
) -> str:  # fmt: skip
    """The path of a file, fetched from `origin` where it is not there with the hash given.

    Args:
      fname: its name.
      origin: its URL.
      untar: whether it is `fname`.tar.gz, to be unpacked to `fname`.
      md5_hash, file_hash: what its bytes must hash to.
      cache_subdir, cache_dir: the folder, ~/.keras/datasets by default.
      hash_algorithm: "md5", "sha256" or "auto", by the length of the hash.
      extract: whether to unpack it beside itself, as `archive_format` says: "tar", "zip", a list of them, or "auto".

    Raises:
      OSError: it cannot be fetched.
    """
    if md5_hash is not None and file_hash is None:
        file_hash, hash_algorithm = md5_hash, "md5"
    folder = data_dir(cache_subdir, cache_dir)
    folder.mkdir(parents=True, exist_ok=True)
    unpacked = folder / fname
    path = folder / f"{fname}.tar.gz" if untar else unpacked
    if not path.exists() or (file_hash is not None and not validate_file(path, file_hash, hash_algorithm)):
        print("Downloading data from", origin)
        _fetch(origin, path)
    if untar:
        if not unpacked.exists():
            _extract_archive(path, folder, archive_format="tar")
        return str(unpacked)
    if extract:
        _extract_archive(path, folder, archive_format)
    return str(path)


def _fetch(origin: str, path: pathlib.Path) -> None:
    """Copies a URL to a file that appears when it is complete."""
    part = path.with_name(path.name + ".part")
    try:
        with urllib.request.urlopen(origin) as source, part.open("wb") as target:
            size = source.headers.get("Content-Length")
            progress = Progbar(int(size) if size else None)
            while block := source.read(1 << 16):
                target.write(block)
                progress.add(len(block))
    except urllib.error.URLError as e:
        raise OSError(f"URL fetch failure on {origin}: {e.reason}") from e
    else:
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


_OPENERS = {"tar": (tarfile.is_tarfile, tarfile.open), "zip": (zipfile.is_zipfile, zipfile.ZipFile)}


def _extract_archive(file_path: Any, path: Any = ".", archive_format: Any = "auto") -> bool:
    """Unpacks an archive into a folder; whether the file was an archive of a kind wanted."""
    kinds: Iterable[str] = () if archive_format is None else archive_format
    if isinstance(kinds, str):
        kinds = ("tar", "zip") if kinds == "auto" else (kinds,)
    for kind in kinds:
        fits, opener = _OPENERS[kind]
        if fits(file_path):
            with opener(file_path) as archive:
                archive.extractall(path, **({"filter": "data"} if kind == "tar" else {}))
            return True
    return False


def _algorithm(algorithm: str, file_hash: str) -> str:
    return "sha256" if algorithm == "sha256" or (algorithm == "auto" and len(file_hash) == 64) else "md5"


def _hash_file(fpath: Any, algorithm: str = "sha256", chunk_size: int = 65535) -> str:
    """The hash of a file's bytes in hexadecimal digits."""
    digest = hashlib.new("sha256" if algorithm in ("sha256", "auto") else "md5", usedforsecurity=False)
    with open(fpath, "rb") as file:
        while chunk := file.read(chunk_size):
            digest.update(chunk)
    return digest.hexdigest()


def validate_file(fpath: object, file_hash: str, algorithm: str = "auto", chunk_size: int = 65535) -> bool:
    """Whether a file has the hash given; the algorithm is "md5", "sha256" or "auto", by its length."""
    return _hash_file(fpath, _algorithm(algorithm, file_hash), chunk_size) == str(file_hash)
