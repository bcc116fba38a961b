"""Safetensors files of arrays with a digest, written atomically: they load as they were saved, or not at all.

The digest is the SHA-256 of the whole file with zeros in the digest's own place, so that every changed bit of data or
metadata is detected. A file is written under a temporary name beside its place, flushed to the disk and renamed; until
then an existing file stays. The next save removes temporary files of processes that were killed.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

DTYPES = {
    "BOOL": "?",
    "U8": "u1",
    "U16": "<u2",
    "U32": "<u4",
    "U64": "<u8",
    "I8": "i1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
}
_NAMES = {np.dtype(dtype).newbyteorder("="): name for name, dtype in DTYPES.items()}
_KEY = "sha256"
_BLANK = "0" * 64
_CHUNK = 1 << 24
_STEM = 56  # characters, of four bytes at most: names of more than 255 bytes are none
# formats that are no longer read, and the versions that wrote them
WRITERS = {"tensor_envs state 1": "0.1", "tensor_envs shed table 1": "0.1 or 0.2", "tensor_envs shed table 2": "0.2"}


def write_arrays(path: str | Path, kind: str, metadata: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays with metadata (JSON); a file of that name is replaced.

    Raises:
        OSError: names the path; what was there before still is.
    """
    path = Path(path)
    header: dict[str, Any] = {"__metadata__": {"format": kind, "about": json.dumps(metadata), _KEY: _BLANK}}
    data = [np.asarray(array, order="C") for array in arrays.values()]  # keeps arrays without axes
    position = 0
    for name, array in zip(arrays, data, strict=True):
        dtype = _NAMES[array.dtype.newbyteorder("=")]
        end = position + array.nbytes
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [position, end]}
        position = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # data begins at a multiple of 8
    digest = hashlib.sha256(len(text).to_bytes(8, "little") + text)
    for array in data:
        digest.update(_bytes(array))
    text = text.replace(_BLANK.encode(), digest.hexdigest().encode(), 1)
    replace_file(path, [len(text).to_bytes(8, "little"), text, *map(_bytes, data)])


def replace_file(path: Path, chunks: Iterable[Any]) -> None:
    """Write bytes to a file, all or nothing; a file of that name is replaced.

    Raises:
        OSError: names the path; what was there before still is.
    """
    target = Path(os.path.realpath(path))  # a link stays one
    try:
        if target.exists() and not target.is_file():
            raise OSError(errno.EINVAL, "it is no regular file")
        _remove_left_parts(target)
        with _new_part(target) as file:
            try:
                with suppress(OSError):  # there is no such file, or the file system has no modes
                    shutil.copymode(target, file.name)
                for chunk in chunks:
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, target)
            finally:
                Path(file.name).unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"cannot save: {error.strerror}", str(path)) from None


def lock_file(file: int | FileIO, message: str) -> None:
    """Lock an open file or folder until it is closed. ValueError with a message if another process has locked it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(message) from None
    except OSError:  # not every file system has locks
        pass


def _new_part(target: Path) -> BinaryIO:
    """Open a new file beside another, locked as long as it is open."""
    while True:
        file = open(target.with_name(f".{target.name[:_STEM]}.{secrets.token_hex(8)}.part"), "xb")  # noqa: SIM115
        with suppress(OSError):  # not every file system has locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.path.exists(file.name):  # else somebody has removed it before it was locked
            return file
        file.close()


def _remove_left_parts(target: Path) -> None:
    """Delete temporary files of processes that have ended; their locks ended with them."""
    pattern = re.compile(rf"\.{re.escape(target.name[:_STEM])}\.[0-9a-f]{{16}}\.part")
    with suppress(OSError):
        for part in filter(lambda other: pattern.fullmatch(other.name), target.parent.iterdir()):
            with suppress(OSError), open(part, "rb+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                part.unlink()


def _bytes(array: np.ndarray) -> Any:
    return memoryview(array).cast("B") if array.size else b""  # type: ignore[arg-type]


def read_arrays(path: str | Path, kind: str, *older: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the metadata and the arrays of `write_arrays`; arrays are read-only memory maps.

    Args:
        path: path of the file.
        kind: its kind.
        older: further kinds that are read.

    Raises:
        FileNotFoundError: no such file.
        ValueError: names the file, which is of another kind or damaged.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no file {str(path)!r}")
    try:
        raw = np.memmap(path, np.uint8, "r")
        length = int.from_bytes(raw[:8].tobytes(), "little")
        text = raw[8 : 8 + length].tobytes() if length <= len(raw) else b""
        header = json.loads(text)
        metadata = header.pop("__metadata__")
        # the first formats stored it within the metadata
        stored_kind = metadata.get("format") or json.loads(metadata["tensor_envs"])["format"]
        if stored_kind not in (kind, *older):
            old = ""
            if stored_kind in WRITERS:
                old = f" (version {WRITERS[stored_kind]} of the package wrote it: make it anew)"
            raise ValueError(f"{str(path)!r} is a {str(stored_kind)[:40]!r}, not a {kind!r}{old}")
        stored = metadata[_KEY].encode()
        blank = _BLANK.encode()
        digest = hashlib.sha256(raw[:8].tobytes() + text.replace(stored, blank, 1))
        for first in range(8 + length, len(raw), _CHUNK):
            digest.update(_bytes(raw[first : first + _CHUNK]))
        if digest.hexdigest().encode() != stored:
            raise ValueError(f"{str(path)!r} is damaged: its digest does not agree with what it holds")
        arrays = {}
        for name, entry in header.items():
            first, end = (8 + length + offset for offset in entry["data_offsets"])
            arrays[name] = raw[first:end].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
        return json.loads(metadata["about"]), arrays
    except (
        KeyError,
        TypeError,
        AttributeError,
        UnicodeDecodeError,
        json.JSONDecodeError,
        IndexError,
        RecursionError,
    ) as error:
        raise ValueError(f"{str(path)!r} holds no {kind!r} that can be read ({type(error).__name__})") from None
    except ValueError as error:
        if str(path) in str(error):
            raise
        raise ValueError(f"{str(path)!r} holds no {kind!r} that can be read ({error})") from None
