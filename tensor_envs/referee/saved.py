"""Files of a tournament's records, which are extended game by game and continued after an interruption."""

from __future__ import annotations

import json
import os
from io import FileIO
from pathlib import Path

from tensor_envs.files.arrays import lock_file
from tensor_envs.files.records import FORMAT, Record

START = json.dumps({"format": FORMAT}).encode()[:-1]  # beginning of every record's line
HINT = "name another file, or start again with --no-resume, which replaces it"


class SavedGames:
    """File of a tournament's records, JSON lines. One process at a time writes to it.

    Args:
        path: path of the file.
        resume: whether to continue the tournament in the file; otherwise the file is replaced.

    Attributes:
        path: path of the file.
        records: the complete records of the file, if the tournament is continued.
        dropped: whether the last line was cut off, as by a process that was killed.

    Raises:
        ValueError: a line has no record; another process writes to the file.
        OSError: the file cannot be read or written; the message has its name.
    """

    def __init__(self, path: Path, resume: bool):
        self.path = path
        self.records = list[Record]()
        self.dropped = False
        self._size = 0  # bytes of the complete records
        self._has_end = True  # whether a newline ends the last one
        self._file = FileIO(path, "a")
        self._regular = path.is_file()  # other files, such as /dev/stdout, cannot be continued
        try:
            lock_file(self._file, f"{str(path)!r} is written by another tournament in progress")
            if resume and self._regular:
                self._read()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()

    def append(self, game: Record) -> None:
        """Append a record after the last complete one. OSError with the name of the file if that fails."""
        line = b"\n" * (not self._has_end) + game.to_json().encode() + b"\n"
        try:
            if self._regular:
                self._file.truncate(self._size)
            if self._file.write(line) != len(line):
                self._file.write(line)  # the disk is full: another write raises the error
            if self._regular:
                os.fsync(self._file.fileno())
        except OSError as error:  # on a full disk Python's error names no file
            raise OSError(error.errno, error.strerror, str(self.path)) from None
        self._size += len(line)
        self._has_end = True

    def _read(self) -> None:
        """Read the records. A last line without its end is kept if it is complete."""
        lines = self.path.read_bytes().splitlines(keepends=True)
        for number, line in enumerate(lines, 1):
            is_cut = not line.endswith(b"\n")
            try:
                self.records.append(Record.from_json(line.decode()))
            except ValueError as error:
                if is_cut and line.startswith(START[: len(line)]):
                    self.dropped = True
                    return
                text = f"{str(self.path)!r} cannot be continued: line {number} has no record ({error}); {HINT}"
                raise ValueError(text) from None
            self._size += len(line)
            self._has_end = not is_cut
