"""Memory, or files of a folder, for the large arrays of a game tree."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tensor_envs.solve.packed import Array

ROWS_AT_ONCE = 1 << 18  # rows of an array in a file that are in memory at a time


class Storage:
    """Place of large arrays: memory, or files that are mapped into memory.

    Attributes:
        folder: folder of the files; None for memory.
        rows: number of rows of an array that are worked on at a time.
    """

    def __init__(self, folder: Path | None = None):
        self.folder = folder
        self.rows = sys.maxsize if folder is None else ROWS_AT_ONCE

    def slices(self, count: int) -> Iterator[slice]:
        """Yield the ranges of rows that are worked on at a time."""
        for first in range(0, count, self.rows):
            yield slice(first, min(first + self.rows, count))

    def empty(self, shape: tuple[int, ...], dtype: Any, name: str = "") -> Array:
        """Return a new array. In a folder it is the file of that name, or without a name one that ends with the array.

        Raises:
            OSError: names the folder, which cannot be written or whose disk has no room.
        """
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if self.folder is None or not (size or name):  # an empty file cannot be mapped
            return np.empty(shape, dtype)
        with _writing(self.folder):
            if name:
                path = self.folder / f"{name}.npy"
                array = np.lib.format.open_memmap(path, "w+", np.dtype(dtype), shape)
                with open(path, "rb+") as file:
                    _reserve(file, path.stat().st_size)
                return np.asarray(array)
            with tempfile.TemporaryFile(dir=self.folder) as file:
                _reserve(file, size)
                return np.asarray(np.memmap(file, dtype, "r+", shape=shape))

    def save(self, name: str, array: Array) -> Array:
        """Return an array that in a folder is the file of that name."""
        if self.folder is None:
            return array
        stored = self.empty(array.shape, array.dtype, name)
        stored[...] = array
        return stored


class GrowingTable:
    """Growing table of several columns, in memory or in files."""

    def __init__(self, storage: Storage):
        self.storage = storage
        self.parts = list[tuple[Array, ...]]()  # with a folder only an empty part, for shapes and dtypes
        self.files = list[Any]()
        self.count = 0

    def add(self, *columns: Array) -> None:
        """Append rows, given by their columns."""
        self.count += len(columns[0])
        if (folder := self.storage.folder) is None:
            self.parts.append(columns)
            return
        with _writing(folder):
            if not self.files:
                self.parts.append(tuple(column[:0].copy() for column in columns))
                self.files += [tempfile.TemporaryFile(dir=folder) for _ in columns]  # noqa: SIM115
                for file in self.files:  # where an error comes before `columns`
                    weakref.finalize(self, file.close)
            for file, column in zip(self.files, columns, strict=True):
                file.write(np.ascontiguousarray(column).reshape(-1).view(np.uint8).data)

    def columns(self) -> tuple[Array, ...]:
        """Return the whole columns, after which no row can be added."""
        if not (self.files and self.count):
            whole = zip(*self.parts, strict=True)
            return tuple(parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in whole)
        columns = list[Array]()
        with _writing(self.storage.folder):
            for file, like in zip(self.files, self.parts[0], strict=True):
                with file:
                    file.flush()
                    columns.append(np.asarray(np.memmap(file, like.dtype, "r+", shape=(self.count, *like.shape[1:]))))
        return tuple(columns)


@contextmanager
def _writing(folder: Path | None) -> Iterator[None]:
    """Raise errors of the operating system again with the name of the folder."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"cannot write a tree: {error.strerror}", str(folder)) from None


def _reserve(file: Any, size: int) -> None:
    """Reserve room on the disk. Where it is missing, a later access to the mapped file would end the process."""
    # A file with holes could be mapped, and a write to a hole on a full disk ends the process by a signal.
    if size and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        file.truncate(size)


def new_folder(path: Path) -> Path:
    """Make a folder unless it exists, and return it. ValueError for a file, or a folder that is not empty."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ValueError(f"folder must be new or empty, got {str(path)!r}")
    with _writing(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every array's file of a folder, by the array's name."""
    return {path.stem: _digest(path) for path in sorted(folder.glob("*.npy"))}


def mapped(folder: Path, expected: Mapping[str, str]) -> dict[str, Array]:
    """Return the arrays with these digests by their names, as read-only memory maps. ValueError for other files."""
    arrays = {}
    for name, digest in expected.items():
        path = folder / f"{name}.npy"
        if not path.is_file():
            raise ValueError(f"its file {path.name!r} is missing")
        if _digest(path) != digest:
            raise ValueError(f"its file {path.name!r} is damaged: its digest does not agree with what it holds")
        arrays[name] = np.asarray(np.load(path, mmap_mode="r"))
    return arrays


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
