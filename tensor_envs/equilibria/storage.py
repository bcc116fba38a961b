"""Storage of the large arrays of a game tree: memory, or files of a folder."""

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
    """Allocator of large arrays: in memory, or in files that are mapped into memory.

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
        """Return an uninitialised array.

        With a folder it is mapped to the file of that name, or without a name to a temporary file.

        Raises:
            OSError: the folder cannot be written, or its disk is full. The error names the folder.
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
        """Return an array as it is, or with a folder its copy that is mapped to the file of that name."""
        if self.folder is None:
            return array
        stored = self.empty(array.shape, array.dtype, name)
        stored[...] = array
        return stored


class GrowingTable:
    """Growing table of several columns, in memory or in files."""

    def __init__(self, storage: Storage):
        self.storage = storage
        self.parts = list[tuple[Array, ...]]()  # with a folder a single empty part, for shapes and dtypes
        self.files = list[Any]()  # a file for each column
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
                # `columns` closes the files, but an error may come before it.
                for file in self.files:
                    weakref.finalize(self, file.close)
            for file, column in zip(self.files, columns, strict=True):
                file.write(np.ascontiguousarray(column).reshape(-1).view(np.uint8).data)

    def columns(self) -> tuple[Array, ...]:
        """Return the whole columns, after which no row can be added."""
        if not (self.files and self.count):
            column_parts = zip(*self.parts, strict=True)
            return tuple(parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in column_parts)
        columns = list[Array]()
        with _writing(self.storage.folder):
            for file, empty in zip(self.files, self.parts[0], strict=True):
                with file:
                    file.flush()
                    columns.append(np.asarray(np.memmap(file, empty.dtype, "r+", shape=(self.count, *empty.shape[1:]))))
        return tuple(columns)


@contextmanager
def _writing(folder: Path | None) -> Iterator[None]:
    """Add the name of the folder to errors of the operating system."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"cannot write a tree: {error.strerror}", str(folder)) from None


def _reserve(file: Any, size: int) -> None:
    """Reserve disk space for a file, so that a full disk is an error here.

    A file with holes could be mapped as well, but a write to a hole on a full disk ends the process by a signal.
    """
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
    """Return the SHA-256 of the file of every array in a folder, by the array's name."""
    return {path.stem: _digest(path) for path in sorted(folder.glob("*.npy"))}


def map_arrays(folder: Path, expected: Mapping[str, str]) -> dict[str, Array]:
    """Return the arrays of a folder as read-only memory maps, by name.

    Args:
        folder: the folder.
        expected: SHA-256 of each array's file, by the array's name.

    Raises:
        ValueError: a file is missing, or has another digest.
    """
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
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
