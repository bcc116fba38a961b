"""Game trees in folders: they are those in memory, take memory by their information states alone, and load or fail."""

from __future__ import annotations

import errno
import gc
import os
import random
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.equilibria import histories, storage
from tensor_envs.rules import Chance, Field, Outcome, Scalar, Spec, number, where
from tensor_envs.solve import branches
from tests.equilibria.hidden_dice import hidden_dice
from tests.games.shared import shared_env

GAMES: list[tuple[str, dict[str, int]]] = [
    ("kuhn_poker", {}),
    ("leduc_poker", {}),
    ("liars_dice", {"sides": 3}),
    ("dark_hex", {"size": 2}),
    ("hidden_dice", {"players": 1}),
    ("hidden_dice", {"players": 3, "sides": 2}),
]
BYTES, CONSTANT = 400, 1_000_000  # of an action of an information state, and of the parts that are in memory here


@dataclass(frozen=True)
class Secret:
    """A game of `plies` bits of two players, who learn nothing of a secret number by which all is paid."""

    secrets: int = 16
    plies: int = 8

    @property
    def spec(self) -> Spec:
        fields = Field("secret", high=self.secrets - 1), Field("bits", high=2**self.plies - 1)
        return Spec(2, 2, (1,), fields, "int32", chance=True, perfect_information=False)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"secret": chance.draw(0, self.secrets)}

    def legal_action_mask(self, s: Any) -> Any:
        return [True, True]

    def step(self, s: Any, action: Scalar, chance: Chance) -> Outcome:
        after = s.replace(bits=2 * s.bits + action, current_player=1 - s.current_player)
        odd = (after.bits * 5 + s.secret) % 3 == 0
        over = s.ply == self.plies - 1
        won = where(over, where(odd, 1, -1), 0)
        return Outcome(after, (won, -won), over)

    def observe(self, s: Any, player: Scalar) -> Any:
        return [number(s.bits)]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work on few rows at a time, with what earlier tests left out of the collections of garbage."""
    gc.collect()
    gc.freeze()
    monkeypatch.setattr(storage, "ROWS_AT_ONCE", 1 << 12)
    monkeypatch.setattr(histories, "PARENTS", 1 << 10)
    monkeypatch.setattr(branches, "EDGES", 1 << 12)
    monkeypatch.setattr(branches, "SIZE_STEP", 1 << 9)


def env_of(game: str, config: dict[str, int]) -> te.Env:
    return hidden_dice(**config) if game == "hidden_dice" else shared_env(game, **config)


def random_policy(of: te.GameTree) -> te.TabularPolicy:
    table = np.random.default_rng(3).random((len(of), of.env.num_actions)) * of.legal_action_mask
    return te.TabularPolicy(of, of.strategies(table / table.sum(1, keepdims=True)))


def peak(work: Callable[[], object]) -> int:
    """Return the highest number of bytes of Python and NumPy at a time, without mapped files.

    It is the lower one of two runs: a run may meet another thread's work, or garbage that is not collected yet.
    """
    peaks = []
    for _ in range(2):
        gc.collect()
        tracemalloc.start()
        try:
            work()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    return min(peaks)


@pytest.mark.few(2)
@pytest.mark.parametrize(("game", "config"), GAMES, ids=str)
@pytest.mark.parametrize("rows", [storage.ROWS_AT_ONCE, 50])
def test_it_is_the_tree_in_memory(
    game: str, config: dict[str, int], rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare information states, values, best responses, CFR+ and samples, also of a tree that is loaded."""
    monkeypatch.setattr(storage, "ROWS_AT_ONCE", rows)
    env = env_of(game, config)
    expected, made = te.game_tree(env), te.game_tree(env, folder=tmp_path / "new" / "tree")
    found = [made] if game == "hidden_dice" else [made, te.GameTree.load(tmp_path / "new" / "tree")]
    policy = random_policy(expected)
    for ours in found:
        assert repr(ours) == repr(expected) and ours.is_like(expected) and ours.ends == expected.ends
        for name in ("player", "ply", "_before", "_view", "_actions", "_words"):
            assert (getattr(ours, name) == getattr(expected, name)).all(), name
        assert (ours.find(expected.states, expected._before) == np.arange(len(ours))).all()
        same = random_policy(ours)
        assert np.allclose(same.values, policy.values, atol=1e-12)
        assert same.exploitability == pytest.approx(policy.exploitability, abs=1e-12)
        for player in range(env.num_players):
            responses = [
                te.best_response(of, of_policy, player) for of, of_policy in ((ours, same), (expected, policy))
            ]
            assert np.allclose(responses[0].values, responses[1].values, atol=1e-12)
        solved, by_memory = (te.equilibrium(tree, iterations=5, until=None) for tree in (ours, expected))
        assert np.allclose(solved.table, by_memory.table, atol=1e-9)
        sampled, by_memory = (te.equilibrium(tree, "mccfr", 3, None, seed=1) for tree in (ours, expected))
        assert np.allclose(sampled.table, by_memory.table, atol=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("sides", [4, 5])
def test_memory_is_by_information_states(sides: int, tmp_path: Path) -> None:
    """Make and solve a tree with many histories for each action of an information state, of both players' ends."""
    env = shared_env("liars_dice", sides=sides)
    tree = te.game_tree(env, folder=tmp_path / "tree")
    te.game_tree(env)  # kernels are compiled
    bound = BYTES * sum(form.size for form in tree.forms) + CONSTANT

    def solved(tree: te.GameTree) -> te.Equilibrium:
        return te.equilibrium(tree, iterations=2, until=None)

    folders = (tmp_path / f"again {k}" for k in count())
    made = peak(lambda: te.game_tree(env, folder=next(folders)))
    in_memory = peak(lambda: te.game_tree(env))
    assert made < bound < in_memory and (sides < 5 or made < in_memory / 2)
    assert peak(lambda: solved(te.GameTree.load(tmp_path / "tree"))) < bound < peak(lambda: solved(te.game_tree(env)))


@pytest.mark.usefixtures("small_parts")
@pytest.mark.slow
@pytest.mark.parametrize(("plies", "growth"), [(6, 3), (8, 6)])
def test_memory_does_not_grow_with_histories(plies: int, growth: int, tmp_path: Path) -> None:
    """Sixteen times as many histories of the same information states take no more memory in a folder."""
    peaks, nodes = list[list[int]](), list[int]()
    for secrets in (32, 512):
        env = te.Env(te.GameEntry("secret", f"{__name__}:Secret"), Secret(secrets, plies), "secret")
        nodes.append(te.game_tree(env).nodes)
        folders = (tmp_path / f"{secrets}-{k}" for k in count())
        in_folder = peak(lambda: te.game_tree(env, folder=next(folders)))  # noqa: B023
        peaks.append([in_folder, peak(lambda: te.game_tree(env))])  # noqa: B023
    assert nodes[1] == 16 * nodes[0] == 512 * (2 ** (plies + 1) - 1)
    assert peaks[1][0] < 1.5 * peaks[0][0] and peaks[1][1] > growth * peaks[0][1]


def test_a_subgame_and_its_equilibrium(tmp_path: Path) -> None:
    """A belief is stored, and an equilibrium is loaded for a tree that is there."""
    env = shared_env("leduc_poker")
    begun = env.step(env.init(30, seed=1), [1] * 30)
    tree = te.game_tree(begun, weights=np.arange(30) + 1, folder=tmp_path / "tree")
    loaded = te.GameTree.load(tmp_path / "tree")
    assert loaded.is_like(tree) and not loaded.is_like(te.game_tree(begun))
    found = te.equilibrium(loaded, iterations=20, until=None)
    found.save(tmp_path / "file")
    again = te.Equilibrium.load(tmp_path / "file", tree)
    assert again.tree is tree and (again.table == found.table).all()
    with pytest.raises(ValueError, match="can be read: tree must be of its game from its start, got"):
        te.Equilibrium.load(tmp_path / "file", te.game_tree(begun))
    with pytest.raises(TypeError, match="tree must be of type GameTree"):
        te.Equilibrium.load(tmp_path / "file", begun)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    te.game_tree(shared_env("kuhn_poker"), folder=tmp_path / "tree")
    return tmp_path / "tree"


@pytest.mark.few(1)
@pytest.mark.parametrize("bits", [5, 50])
def test_flipped_bits(folder: Path, bits: int) -> None:
    """Every changed bit of every file is an error that names the folder."""
    draws = random.Random(1)
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        for place in draws.sample(range(8 * len(whole)), bits):
            damaged = bytearray(whole)
            damaged[place // 8] ^= 1 << place % 8
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match="tree' holds no game tree that can be read: "):
                te.GameTree.load(folder)
        path.write_bytes(whole)
    assert len(te.GameTree.load(folder)) == 12


def test_other_folders(folder: Path) -> None:
    kuhn = shared_env("kuhn_poker")
    with pytest.raises(ValueError, match=r"folder must be new or empty, got '.*tree'"):
        te.game_tree(kuhn, folder=folder)
    with pytest.raises(ValueError, match=r"folder must be new or empty, got '.*words.npy'"):
        te.game_tree(kuhn, folder=folder / "words.npy")
    with pytest.raises(TypeError, match="folder must be a str or a Path, got 3"):
        te.game_tree(kuhn, folder=3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match=r"no folder '.*none'"):
        te.GameTree.load(folder.parent / "none")
    (folder / "words.npy").unlink()
    with pytest.raises(ValueError, match=r"holds no game tree that can be read: its file 'words.npy' is missing"):
        te.GameTree.load(folder)
    (folder / "tree.safetensors").unlink()  # as after a process that was killed
    with pytest.raises(ValueError, match=r"tree' holds no whole game tree: there is no file 'tree.safetensors'"):
        te.GameTree.load(folder)
    te.save_state(kuhn.init(1), folder / "tree.safetensors")
    with pytest.raises(ValueError, match="is a 'tensor_envs state 2', not a 'tensor_envs game tree 1'"):
        te.GameTree.load(folder)


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of histories is bounded as in memory, and a full disk is an error."""
    with pytest.raises(ValueError, match="max_nodes must be at least 2040 to hold the hist"):
        te.game_tree(shared_env("leduc_poker"), max_nodes=1000, folder=tmp_path / "small")

    def full(*args: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"cannot write a tree: No space left on device: '.*full'"):
        te.game_tree(shared_env("kuhn_poker"), folder=tmp_path / "full")
