"""Threefry on Tensors: published answers, game keys and draws; the keys of a batch and the uniform policy."""

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

import tensor_envs as te
from tensor_envs._engine.random import seed_words, threefry
from tensor_envs.rules.chance import KeyedChance
from tests.games import chance
from tests.games.shared import shared_env

TTT = shared_env("tic_tac_toe")

KNOWN = [  # key, counter, output: the known-answer tests of Random123
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]
GAME_KEYS = [  # seed, row, episode, key
    (0, 0, 0, (0x6B200159, 0x99BA4EFE)),
    (0, 1, 0, (0x508EFB2C, 0xC0DE3F32)),
    (0, 0, 1, (0x375F238F, 0xCDDB151D)),
    (7, 4095, 3, (0x09491C7C, 0xC45E904A)),
    (2**40 + 5, 2, 0, (0x854384AD, 0xCAD42354)),
]


def words(low: int, high: int) -> tuple[Tensor, Tensor]:
    return Tensor([low], dtype=dtypes.uint32), Tensor([high], dtype=dtypes.uint32)


def tensor_threefry(key: tuple[int, int], counter: tuple[int, int]) -> tuple[int, int]:
    low, high = threefry(words(*key), words(*counter))
    return int(low.item()), int(high.item())


@pytest.mark.parametrize(("key", "counter", "output"), KNOWN)
def test_known_answers(key: tuple[int, int], counter: tuple[int, int], output: tuple[int, int]) -> None:
    assert tensor_threefry(key, counter) == output
    assert chance.threefry(key, counter) == output


@pytest.mark.parametrize(("seed", "row", "episode", "key"), GAME_KEYS)
def test_game_keys(seed: int, row: int, episode: int, key: tuple[int, int]) -> None:
    low, high = seed_words(seed)
    assert tensor_threefry((low, high), (row, episode)) == key == chance.game_key(seed, row, episode)


def test_draws() -> None:
    expected = [2, 1, 2, 4, 4, 2, 3, 0, 1, 1, 1, 2]
    assert expected == [chance.draw((0, 0), c, 6) for c in range(12)]
    assert expected == [KeyedChance((0, 0)).draw(c, 6).value for c in range(12)]
    key = chance.game_key(1, 0, 0)
    assert [chance.draw(key, c, 256) for c in range(8)] == [198, 3, 94, 86, 184, 125, 250, 207]


@pytest.mark.parametrize("seed", [0, 2026, 2**40 + 5, 2**64 - 1])
def test_the_keys_of_a_batch(seed: int) -> None:
    state = TTT.init(70, seed)
    rows = state.buffers.layout.download(state.tensors[1]).tolist()
    assert rows == [[*chance.words(seed), row, *chance.policy_key(seed, row)] for row in range(70)]
    expected = [list(chance.threefry(chance.policy_key(seed, row), (2**32 - 1, 0))) for row in range(70)]
    assert state.action_key.numpy().tolist() == expected, "no draw of the uniform policy's"


def test_uniform_policy_differs_between_episodes_of_a_row() -> None:
    vector = te.VectorEnv(TTT, 64, seed=3)
    first_moves: dict[int, list[int]] = {}
    for _ in range(60):
        episodes, plies = vector.state.numpy()["episode"], vector.state.numpy()["ply"]
        actions = vector.step_uniform().actions.numpy()
        for row in np.flatnonzero(plies == 0):
            first_moves.setdefault(int(row), []).append(int(actions[row]))
    assert all(len(set(moves)) > 1 for moves in first_moves.values()), episodes


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seed_out_of_range(seed: int) -> None:
    with pytest.raises(ValueError, match=r"seed must be in 0\.\.18446744073709551615"):
        TTT.init(1, seed)


@pytest.mark.parametrize("seed", [1.5, "7", True, None])
def test_seed_of_another_type(seed: object) -> None:
    with pytest.raises(TypeError, match="seed must be an int"):
        TTT.init(1, seed)  # type: ignore[arg-type]
