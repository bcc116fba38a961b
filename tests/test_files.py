"""Files load as they were saved or not at all; a save replaces a file completely or not at all."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.files import arrays as array_files
from tensor_envs.files.arrays import read_arrays, write_arrays
from tensor_envs.files.states import FORMAT
from tensor_envs.rules import Part, Scalar, number
from tests.games.shared import shared_env

TTT = shared_env("tic_tac_toe")
# version 1 of the format
FIRST = {"format": "tensor_envs state 1", "id": "tic_tac_toe", "version": 0, "rules": {}, "batch": 1, "buffers": 5}


def some_state() -> te.State:
    state = TTT.init(3, seed=9, device="CPU")
    return TTT.step(state, [4, 0, 99])


def same(one: te.State, other: te.State) -> None:
    for mine, theirs in zip(one.tensors, other.tensors, strict=True):
        np.testing.assert_array_equal(one.buffers.layout.download(mine), other.buffers.layout.download(theirs))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Save a state and return its path."""
    te.save_state(some_state(), tmp_path / "state")
    return tmp_path / "state"


def test_a_single_game(tmp_path: Path) -> None:
    """A single game's words are loaded in the file's layout, in read-only memory."""
    state = TTT.init(1, seed=9)
    te.save_state(state, tmp_path / "state")
    same(state, te.load_state(tmp_path / "state"))


def test_arrays_of_every_dtype(tmp_path: Path) -> None:
    arrays = {dtype: np.arange(12).astype(dtype).reshape(3, 4) for dtype in array_files.DTYPES.values()}
    arrays |= {"empty": np.zeros((0, 3), np.uint32), "turned": np.arange(6, dtype=np.int64).reshape(2, 3).T}
    metadata = {"words": ["ä", 1, None, 2.5], "nested": {"a": [1]}}
    write_arrays(tmp_path / "file", "a kind", metadata, arrays)
    read, loaded = read_arrays(tmp_path / "file", "a kind")
    assert read == metadata and list(loaded) == list(arrays)
    for name, array in arrays.items():
        assert loaded[name].dtype == array.dtype and loaded[name].shape == array.shape
        np.testing.assert_array_equal(loaded[name], array)
    with pytest.raises(ValueError, match="read-only"):
        loaded["<u4"][0, 0] = 1
    with pytest.raises(ValueError, match=r"file' is a 'a kind', not a 'another'"):
        read_arrays(tmp_path / "file", "another")


def test_equal_states_give_equal_files(path: Path, tmp_path: Path) -> None:
    te.save_state(some_state(), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert path.stat().st_size < 1200, "flips below meet all parts of it"


def test_no_flipped_bit_loads_with_other_values(path: Path) -> None:
    whole, expected = path.read_bytes(), some_state()
    rng = np.random.default_rng(1)
    places = rng.choice(8 * len(whole), 300, replace=False).tolist()
    places += list(range(64))  # the header's length
    places += [8 * place + bit for place in range(len(whole) - 40, len(whole)) for bit in (0, 7)]  # data
    for place in places:
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="state") as caught:
            te.load_state(path)
        assert repr(str(path)) in str(caught.value) and len(str(caught.value)) < 300, str(caught.value)
    path.write_bytes(whole)
    same(te.load_state(path), expected)


def test_no_part_of_a_file_is_a_file(path: Path) -> None:
    whole = path.read_bytes()
    for length in (0, 1, 7, 8, 9, 100, 400, len(whole) - 200, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="state"):
            te.load_state(path)
    for damaged in (whole + b"\0", b"\0" * 4096, b"hello", whole[8:], b"\xff" * 16 + whole):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"holds no 'tensor_envs state 2' that can be read|is damaged"):
            te.load_state(path)


def signed(header: Any, data: bytes = b"") -> bytes:
    """Return a file with this header and a correct digest."""
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    head = len(text).to_bytes(8, "little")
    digest = hashlib.sha256(head + text + data).hexdigest()
    return head + text.replace(b"0" * 64, digest.encode(), 1) + data


@pytest.mark.parametrize(
    "header",
    [
        [1, 2], 5, None, {}, {"__metadata__": 5}, {"__metadata__": {}}, {"__metadata__": {"format": FORMAT}},
        {"__metadata__": {"format": FORMAT, "sha256": 3}}, {"__metadata__": {"format": FORMAT, "sha256": "0" * 64}},
        {"__metadata__": {"format": FORMAT, "sha256": "0" * 64, "about": "{"}},
        {"__metadata__": {"format": FORMAT, "sha256": "0" * 64, "about": "{}"}, "words": 3},
        {"__metadata__": {"format": FORMAT, "sha256": "0" * 64, "about": "{}"}, "words": {"dtype": "U32"}},
        {
            "__metadata__": {"format": FORMAT, "sha256": "0" * 64, "about": "{}"},
            "words": {"dtype": "F7", "shape": [1], "data_offsets": [0, 4]},
        },
        {
            "__metadata__": {"format": FORMAT, "sha256": "0" * 64, "about": "{}"},
            "words": {"dtype": "U32", "shape": [7, 7], "data_offsets": [0, 4]},
        },
        {
            "__metadata__": {"format": FORMAT, "sha256": "0" * 64, "about": "[]"},
            "words": {"dtype": "U32", "shape": [1], "data_offsets": [0, 4]},
        },
    ],
    ids=range(15),
)  # fmt: skip
def test_foreign_headers(header: Any, tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(signed(header, b"\0" * 8))
    with pytest.raises(ValueError, match=r"state' holds no .*that can be read|state' is damaged"):
        te.load_state(tmp_path / "state")


def test_files_of_the_first_version_say_so(tmp_path: Path) -> None:
    header = {
        "__metadata__": {"tensor_envs": json.dumps(FIRST)},
        "0": {"dtype": "U32", "shape": [1], "data_offsets": [0, 4]},
    }
    (tmp_path / "state").write_bytes(signed(header, b"\0" * 4))
    message = r"state' is a 'tensor_envs state 1', not a 'tensor_envs state 2' \(version 0.1 of the package wrote"
    with pytest.raises(ValueError, match=message):
        te.load_state(tmp_path / "state")


def rewritten(path: Path, metadata: dict[str, Any], **arrays: np.ndarray) -> None:
    """Rewrite the file with other metadata or arrays, and a correct digest."""
    old, old_arrays = read_arrays(path, FORMAT)
    write_arrays(path, FORMAT, old | metadata, {name: np.array(array) for name, array in (old_arrays | arrays).items()})


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"id": "tiddlywinks"}, "unknown id 'tiddlywinks'"),
        ({"id": 5}, "id must be of type str, got 5"),
        ({"version": 7}, "it was saved by version 7 of 'tic_tac_toe', this is 0"),
        ({"illegal": "ignore"}, "illegal must be one of"),
        ({"rules": {"size": 3}}, "no rule field 'size'"),
        ({"rules": {"k": 3}}, "fixes k=3"),
        ({"id": "hyper_tic_tac_toe", "rules": {"shape": [3, 3], "k": 9}}, "k is at most 3"),
        ({"rules": []}, "holds no state that can be read"),
        ({"id": "qubic"}, "it was saved when <Env qubic-v0.*> had other fields, actions or players"),
        ({"id": "shed", "version": 1}, "that can be read"),
    ],
)
def test_metadata_of_files_are_checked(path: Path, metadata: dict[str, Any], message: str) -> None:
    rewritten(path, metadata)
    with pytest.raises(ValueError, match=message) as caught:
        te.load_state(path)
    assert repr(str(path)) in str(caught.value)


@dataclass(frozen=True)
class Heaps:
    """Take 1 or 2 of a heap in turns; who takes the last one wins."""

    fields: ClassVar = (te.Field("heap", high=7), te.Field("taken", high=7))

    @property
    def spec(self) -> te.Spec:
        return te.Spec(2, 2, (1,), self.fields, observation_dtype="int8")

    def init(self, chance: te.Chance) -> dict[str, int]:
        return {"heap": 5, "taken": 0}

    def legal_action_mask(self, s: te.GameState) -> list[Scalar]:
        return [s.heap > action for action in range(2)]

    def step(self, s: te.GameState, action: Scalar, chance: te.Chance) -> te.Outcome:
        after = s.replace(heap=s.heap - action - 1, taken=s.taken + action + 1, current_player=1 - s.current_player)
        return te.Outcome.win(after, s.current_player, won=after.heap == 0)

    def observe(self, s: te.GameState, player: Scalar) -> list[Part]:
        return [number(s.heap)]


@pytest.mark.slow
def test_files_of_a_game_whose_fields_have_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are not read as other fields. Files of states without the layout's digest are read as before."""
    path, env = tmp_path / "file", te.make(f"{__name__}:Heaps")
    te.save_state(env.init(1), path)
    stored, arrays = read_arrays(path, FORMAT)
    write_arrays(tmp_path / "older", FORMAT, {key: stored[key] for key in stored if key != "layout"}, arrays)
    assert te.load_state(tmp_path / "older").heap.tolist() == [5]
    te.solve(env).save(tmp_path / "solution")
    search = te.solve(env, method="search", memory=2**16)
    assert search.value(env.init(1)) == 1
    search.save(tmp_path / "search")
    for load, name in ((te.load_state, "file"), (te.Solution.load, "solution"), (te.SearchSolution.load, "search")):
        assert load(tmp_path / name).env.plays_like(env)
        for fields in (Heaps.fields[::-1], (te.Field("heap", high=15), Heaps.fields[1])):
            with monkeypatch.context() as patch:
                patch.setattr(Heaps, "fields", fields)
                with pytest.raises(ValueError, match=f"{name}' holds no .*Heaps-v0> had other fields"):
                    load(tmp_path / name)


def test_words_of_files_are_checked(path: Path) -> None:
    words = np.array(read_arrays(path, FORMAT)[1]["words"])
    rng = np.array(read_arrays(path, FORMAT)[1]["row_rng"])
    slot = TTT.engine.layout.slots["current_player"][0]
    impossible = words.copy()
    impossible[1, slot.word] |= np.uint32(3 << slot.shift)  # player 2 of 0..1
    wrong: list[tuple[dict[str, np.ndarray], str]] = [
        ({"words": impossible}, r"field 'current_player' must be in -1\.\.1, got 2"),
        ({"words": words[:, :-1]}, "its words are not those of"),
        ({"words": words[:0], "row_rng": rng[:0]}, "its words are not those of"),
        ({"words": words.astype(np.int32)}, "its words are not those of"),
        ({"words": words.ravel()}, "its words are not those of"),
        ({"row_rng": rng[:, :4]}, "its rows' random keys are of another shape"),
        ({"row_rng": rng[:2]}, "its rows' random keys are of another shape"),
        ({"row_rng": rng.astype(np.uint64)}, "its rows' random keys are of another shape"),
    ]
    for arrays, message in wrong:
        rewritten(path, {}, **({"words": words, "row_rng": rng} | arrays))
        with pytest.raises(ValueError, match=message) as caught:
            te.load_state(path)
        assert repr(str(path)) in str(caught.value)
    rewritten(path, {}, words=words, row_rng=rng)
    same(te.load_state(path), some_state())


def test_rules_and_devices_are_loaded(tmp_path: Path) -> None:
    env = te.make("hyper_tic_tac_toe", shape=(3, 4), k=3, illegal="raise")
    te.save_state(env.init(4, seed=1, device=("CPU:0", "CPU:1")), tmp_path / "state")
    state = te.load_state(str(tmp_path / "state"), "CPU:1")
    assert state.device == "CPU:1" and state.env.rules == env.rules and state.env.illegal == "raise"
    same(state, env.init(4, seed=1))
    with pytest.raises(ValueError, match="batch must be a multiple of the 3 devices"):
        te.load_state(tmp_path / "state", ("CPU:0", "CPU:1", "CPU:2"))


FAILURES: list[tuple[str, type[BaseException], BaseException]] = [
    ("fsync", OSError, OSError(errno.ENOSPC, "No space left on device")),
    ("replace", OSError, PermissionError(errno.EACCES, "Permission denied")),
    ("fsync", KeyboardInterrupt, KeyboardInterrupt()),
]


@pytest.mark.parametrize(("where", "kind", "failure"), FAILURES, ids=["full disk", "no permission", "Ctrl-C"])
def test_a_failed_save_leaves_the_old_file(
    path: Path, where: str, kind: type[BaseException], failure: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old file stays alone in its folder, and the error names the file that could not be saved."""

    def fail(*_: Any) -> None:
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(os, where, fail)
        for target in (path, path.with_name("new")):
            with pytest.raises(kind) as caught:
                te.save_state(TTT.init(5), target)
            if isinstance(caught.value, OSError):
                assert caught.value.filename == str(target) and "cannot save" in str(caught.value)
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    same(te.load_state(path), some_state())


def test_a_disk_that_fills_up_is_an_error_and_no_end_of_the_process(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        def __init__(self, file: Any):
            self.file, self.name, self.fileno = file, file.name, file.fileno

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_: Any) -> None:
            self.file.close()

        def write(self, data: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    def opened(name: Any, mode: str) -> Any:
        return Full(open(name, mode))

    monkeypatch.setattr(array_files, "open", opened, raising=False)
    with pytest.raises(OSError, match="cannot save: No space left on device") as caught:
        te.save_state(TTT.init(5), path)
    assert caught.value.errno == errno.ENOSPC and caught.value.filename == str(path)
    same(te.load_state(path), some_state())
    assert len(list(path.parent.iterdir())) == 1


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Limit files to `size` bytes, like a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_that_the_system_refuses_to_write(path: Path) -> None:
    old = path.read_bytes()
    state = TTT.init(5000, device="CPU")  # PoCL links kernels as files when they first run
    for target in (path, path.with_name("new")):
        with room_for(4096), pytest.raises(OSError, match="cannot save: File too large") as caught:
            te.save_state(state, target)
        assert caught.value.filename == str(target)
    assert path.read_bytes() == old and [p.name for p in path.parent.iterdir()] == [path.name]


def test_places_where_nothing_can_be_saved(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # a device is not replaced either
    for path in (tmp_path / "nowhere" / "state", tmp_path, pipe):
        with pytest.raises(OSError, match="cannot save") as caught:
            te.save_state(TTT.init(2), path)
        assert caught.value.filename == str(path)
    assert list(tmp_path.iterdir()) == [pipe] and pipe.is_fifo()


def test_a_link_is_followed(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path)
    te.save_state(TTT.init(7), link)
    assert link.is_symlink() and te.load_state(path).batch == 7


def test_a_file_keeps_its_mode(path: Path) -> None:
    path.chmod(0o600)
    te.save_state(TTT.init(7), path)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["x" * 255, "ä" * 127])
def test_the_longest_names(name: str, tmp_path: Path) -> None:
    te.save_state(some_state(), tmp_path / name)
    same(te.load_state(tmp_path / name), some_state())


def test_a_save_removes_partial_files_of_killed_processes(path: Path) -> None:
    """A save removes partial files of killed processes, but none that is being written and none with another name."""
    abandoned, written = (path.with_name(f".state.{digit * 16}.part") for digit in "0f")
    others = [path.with_name(name) for name in (".state.part", ".states.0000000000000000.part", "state.part")]
    for other in (abandoned, written, *others):
        other.write_bytes(b"x")
    with open(written) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        te.save_state(some_state(), path)
    assert sorted(path.parent.iterdir()) == sorted([path, written, *others])
    te.save_state(some_state(), path)
    assert sorted(path.parent.iterdir()) == sorted([path, *others])


def test_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    state = TTT.init(2)
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: te.save_state(state, 5), "path must be a str or a Path, got 5 of type int"),  # type: ignore[arg-type]
        (lambda: te.load_state(5), "path must be a str or a Path, got 5 of type int"),  # type: ignore[arg-type]
        (lambda: te.save_state(None, "x"), "state must be of type State, got None"),  # type: ignore[arg-type]
    ]
    for call, message in wrong:
        with pytest.raises(TypeError, match=message):
            call()
    assert not list(tmp_path.iterdir())
    for missing in ("nothing", str(tmp_path)):
        with pytest.raises(FileNotFoundError, match=f"no file '{missing}'"):
            te.load_state(missing)
