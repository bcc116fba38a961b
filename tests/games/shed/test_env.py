"""Shed: the tensor engine against the reference, ply by ply, and its budgets."""

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.shed.notation import parse, write
from tests.games.chance import game_key, policy_key, threefry
from tests.games.lockstep import replay_traces
from tests.games.shared import observe, shared_env
from tests.games.shed.reference import Reference

BATCH = 24  # of one size, since a kernel is traced anew for every size
VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"cards": 1},
    {"cards": 2},
    {"cards": 5, "max_plies": 20},
    {"cards": 16},
    {"cards": 17, "max_plies": 60},
    {"cards": 31},
    {"cards": 32},
)
FAST = [VARIANTS[number] for number in (0, 1, 3, 5, 7)]


def lockstep(config: dict[str, Any], batch: int, plies: int, seed: int = 11) -> tuple[int, int]:
    """Play uniformly on both engines, with resets, and return the episodes ended by the rules and by the limit."""
    env = shared_env("shed", **config)
    full = {"cards": 10, **config}

    def start(row: int, episode: int) -> Reference:
        return Reference(game_key(seed, row, episode), **full)

    vector = te.VectorEnv(env, batch, seed, final_states=True)
    games, episodes, ends = [start(row, 0) for row in range(batch)], [0] * batch, [0, 0]
    policies = [policy_key(seed, row) for row in range(batch)]
    for ply in range(plies):
        before = vector.state.numpy()["legal_action_mask"]
        moved = vector.step_uniform()
        actions, rewards = moved.actions.numpy(), moved.rewards.numpy()
        flags = np.stack([moved.terminated.numpy(), moved.truncated.numpy()], axis=1)
        for row, game in enumerate(games):
            legal = game.legal_actions()
            assert np.flatnonzero(before[row]).tolist() == legal, (ply, row)
            bits = threefry(policies[row], (game.plies, episodes[row]))[0]
            assert actions[row] == legal[bits * len(legal) >> 32], (ply, row)
            game.apply(int(actions[row]))
            assert rewards[row].tolist() == game.rewards, (ply, row)
            assert flags[row].tolist() == [game.terminated, game.truncated], (ply, row)
            if ply % 10 == 0 and row == ply % batch:
                written = env.state_to_dict(moved.final_state, row)
                assert written.pop("ply") == game.plies and written.pop("truncated", False) == game.truncated
                assert written == game.to_dict()
            if game.terminated or game.truncated:
                ends[game.truncated] += 1
                episodes[row] += 1
                games[row] = start(row, episodes[row])
        now = vector.state.numpy()
        for name, place in (("own", 0), ("other", 1), ("pile", 2)):
            words = now[name]
            for row, game in enumerate(games):
                mover = game.current_player
                cards = (game.hands[mover], game.hands[1 - mover], game.pile)[place]
                assert words[row] == sum(1 << card - 1 for card in cards), (ply, row, name)
        if ply % 25 == 0:
            for player in (0, 1, None):
                seen = observe(vector.state, player)
                for row, game in enumerate(games):
                    whose = game.current_player if player is None else player
                    assert seen[row].tolist() == game.observation(whose), (ply, row, player)
    assert vector.state.episode.numpy().tolist() == episodes
    return ends[0], ends[1]


@pytest.mark.few(1)
@pytest.mark.parametrize("config", FAST, ids=str)
def test_lockstep(config: dict[str, Any]) -> None:
    ended, cut = lockstep(config, batch=BATCH, plies=70)
    if config.get("cards", 10) <= 2:
        assert ended > 0
    if "max_plies" in config:
        assert cut > 0


@pytest.mark.slow
@pytest.mark.parametrize("config", VARIANTS, ids=str)
def test_long_lockstep(config: dict[str, Any]) -> None:
    """Play thousands of games of the small variants, hundreds of the large ones."""
    lockstep(config, batch=256, plies=700, seed=5)


def test_golden_games() -> None:
    assert replay_traces("shed") == 8


def test_few_bytes() -> None:
    # words: three sets of cards; player, plies and flags; episode; two rewards; mask
    assert te.make("shed").state_bytes == 32


@pytest.mark.slow
@pytest.mark.parametrize("config", FAST, ids=str)
def test_rollout_is_the_same_play(config: dict[str, Any]) -> None:
    env = shared_env("shed", **config)
    vector = te.VectorEnv(env, BATCH, seed=3)
    returns = np.zeros((BATCH, 2), dtype=np.float32)
    for _ in range(60):
        returns += vector.step_uniform().rewards.numpy()
    done = te.rollout(env, "uniform", BATCH, 60, seed=3)
    assert (done.returns.numpy() == returns).all()
    one, other = done.state.numpy(), vector.state.numpy()
    for name in env.spec_fields:
        assert (one[name] == other[name]).all(), name


def test_default_cards_and_limit() -> None:
    assert te.make("shed").rules.cards == 10 and te.make("shed").spec.max_plies == 1000  # G1
    assert te.make("shed", cards=32).spec.max_plies == 3200


@pytest.mark.parametrize(
    "config", ({"cards": 0}, {"cards": 33}, {"cards": 3.0}, {"cards": True}, {"max_plies": 0}, {"max_plies": "9"})
)
def test_impossible_rules(config: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=next(iter(config))):
        te.make("shed", **config)


GOOD = {"hands": [[1], [3]], "pile": [], "talon": [2], "current_player": 0}


@pytest.mark.parametrize(
    "wrong",
    ({"talon": []}, {"talon": [2, 2]}, {"talon": [2, 4]}, {"pile": [2]}, {"hands": [[1, 3]]}, {"current_player": 2}),
    ids=str,
)
def test_impossible_positions(wrong: dict[str, Any]) -> None:
    env = te.make("shed", cards=3)
    env.state_from_dicts([GOOD])
    with pytest.raises(ValueError, match="game 0"):
        env.state_from_dicts([{**GOOD, **wrong}])


def test_names_of_actions() -> None:
    env = te.make("shed", cards=12)
    assert [env.action_to_string(a) for a in (0, 11, 12)] == ["1", "12", "pick up"]
    assert all(env.string_to_action(env.action_to_string(a)) == a for a in range(13))


def test_symmetries_are_the_identity() -> None:
    (only,) = te.make("shed", cards=4).symmetries()
    assert only.actions == tuple(range(5)) and only.observation == tuple(range(16))


WRITTEN = {
    "7-2+ [] 6-3": {"hands": [[2, 7], [3, 6]], "pile": [], "talon": [1, 4, 5], "current_player": 1},
    "3 [] 2-1+": {"hands": [[3], [1, 2]], "pile": [], "talon": [], "current_player": 0},
    "- [4-2] 3+": {"hands": [[], [3]], "pile": [2, 4], "talon": [1], "current_player": 0},
}


@pytest.mark.parametrize("text", WRITTEN)
def test_positions_in_writing(text: str) -> None:
    game = WRITTEN[text]
    assert parse(text) == game and parse(write(game)) == game and write(game) == text
    assert parse(f"({text.replace('[]', '□').replace('- [', '− [')})") == game  # as the post sets it
    assert parse(text, 9)["talon"][-1] == 9


@pytest.mark.parametrize(
    "text", ("", "7-2 6-3", "7-2 [] 6-3", "7-2+ [] 6-3+", "7-7+ [] 3", "7+ [] 7", "a+ [] 3", "7- + [] 3", "0+ [] 1")
)
def test_writing_that_is_no_position(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"a position is written|must end in|the cards must be different|a hand must be cards"
    ):
        parse(text)
    with pytest.raises(ValueError, match=r"the cards must be different and in 1..6"):
        parse("7+ [] 3", 6)


def test_pictures() -> None:
    env = te.make("shed", cards=12)
    state = env.state_from_dicts([parse("7-2+ [4-5] 12-3", 12)])
    lines = env.to_string(state).splitlines()
    assert len(lines) == 4 and lines[3].split() == ["Player", "2", "*", *"..3........", "12"]
    svg = env.render(state)
    assert svg.startswith("<svg") and all(f">{card}</text>" in svg for card in range(1, 13))
