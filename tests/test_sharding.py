"""Shares of a batch give the batch bit for bit, for any number of processes."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tensor_envs as te
from tests.games.shared import shared_env

WORLDS = (1, 2, 3, 7)
SEED = 2**40 + 5


def shares(batch: int, world_size: int) -> list[te.Shard]:
    return [te.shard(batch, rank, world_size) for rank in range(world_size)]


@pytest.mark.parametrize("batch", [7, 100, 128, 449, 1000, 65536])
@pytest.mark.parametrize("world_size", WORLDS)
def test_shares_are_the_batch(batch: int, world_size: int) -> None:
    """Shares cover each row once, in order, in whole blocks where possible, with sizes as equal as possible."""
    parts, whole = shares(batch, world_size), batch >= 64 * world_size
    rows = [row for first, count in parts for row in range(first, first + count)]
    assert rows == list(range(batch))
    sizes = [share.batch for share in parts]
    assert max(sizes) - min(sizes) <= (127 if whole else 1) and min(sizes) > 0
    assert not whole or all(size % 64 == 0 for size in sizes[:-1])


def together(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def same(joined: dict[str, np.ndarray], whole: dict[str, np.ndarray]) -> None:
    assert joined.keys() == whole.keys()
    for name, values in whole.items():
        np.testing.assert_array_equal(joined[name], values, err_msg=name)


def looped(env: te.Env, share: te.Shard, steps: int) -> dict[str, np.ndarray]:
    vector = te.VectorEnv(env, share.batch, SEED, first_row=share.first_row, observe=True)
    ended = np.zeros(share.batch, np.int32)
    for _ in range(steps):
        ended += vector.step_uniform().numpy()["terminated"]
    return vector.state.numpy() | vector.numpy() | {"ended": ended}


def rolled(env: te.Env, share: te.Shard, steps: int) -> dict[str, np.ndarray]:
    result = te.rollout(env, "uniform", share.batch, steps, SEED, first_row=share.first_row)
    counts = {name: getattr(result, name).numpy() for name in ("returns", "wins", "episodes")}
    return result.state.numpy() | counts


@pytest.mark.few("looped-tic_tac_toe-450")
@pytest.mark.parametrize(("game", "batch"), [("tic_tac_toe", 450), ("shed", 101)])
@pytest.mark.parametrize("play", [looped, rolled])
def test_together_they_play_the_whole(
    game: str, batch: int, play: Callable[[te.Env, te.Shard, int], dict[str, np.ndarray]]
) -> None:
    env = shared_env(game)
    whole = play(env, te.Shard(0, batch), 40)
    assert whole["episode"].any() and len(np.unique(whole["legal_action_mask"], axis=0)) > 9
    for world_size in WORLDS:
        same(together([play(env, share, 40) for share in shares(batch, world_size)]), whole)


def test_rank_and_world_size_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert te.shard(1000) == (0, 1000)
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(ValueError, match=r"rank must be in 0\.\.0, got 1"):
        te.shard(1000)
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert te.shard(1000) == te.shard(1000, 1, 3) == (320, 320)
    assert te.shard(1000, rank=2) == (640, 360)
    monkeypatch.setenv("RANK", "one")
    with pytest.raises(ValueError, match="the environment variable RANK must be an int, got 'one'"):
        te.shard(1000)


TORCHRUN = """
import os, sys
import numpy as np
import tensor_envs as te

first_row, batch = te.shard(130)
result = te.rollout(te.make("tests.games.dice_race:DiceRace"), "uniform", batch, 60, 5, first_row=first_row)
arrays = {name: getattr(result, name).numpy() for name in ("returns", "wins", "episodes")}
np.savez(f"{sys.argv[1]}/{os.environ['RANK']}.npz", **arrays)
"""


@pytest.mark.extra("torch")
def test_torchrun(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(TORCHRUN)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    root = Path(__file__).parents[1]
    environment = os.environ | {"DEV": "CPU", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    subprocess.run([*command, str(script), str(tmp_path)], env=environment, timeout=300, check=True)
    whole = te.rollout(te.make("tests.games.dice_race:DiceRace"), "uniform", 130, 60, 5)
    expected = {name: getattr(whole, name).numpy() for name in ("returns", "wins", "episodes")}
    assert expected["episodes"].any()
    same(together([dict(np.load(tmp_path / f"{rank}.npz")) for rank in range(2)]), expected)
