"""Tensor, a game of equilibrium: the engine against the reference, ply by ply; hidden information; budgets."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.tensor_equilibrium.notation import to_dict
from tests.games.chance import game_key, policy_key, uniform_action
from tests.games.lockstep import replay_traces
from tests.games.shared import observe, shared_env
from tests.games.tensor_equilibrium.cases import GAME, position
from tests.games.tensor_equilibrium.reference import Reference
from tests.games.tensor_equilibrium.rules import Act, Rules
from tests.games.tensor_equilibrium.test_reference import CHOICES, random_config

STATE_BYTES = {2: 184, 3: 244, 4: 308}
BATCH = 4  # of one size, since a kernel is traced anew for every size
LAST_PLY = 10_000

# Together, every value of `CHOICES`.
VARIANTS: tuple[dict[str, Any], ...] = (
    {
        **{"players": 3, "board_radius": 2, "op_cost": (1, 1, 1, 1), "op_tweaks": (0, 1, 2, 3)},
        **{"tier_level": (0, 3, 4), "tiebreak_order": (3, 0, 4, 2, 1), "pass_reward": (3, 4, 5, 6)},
        **{"cost_load": 1, "hack_gpu_gain": 1, "tweak_optional": False, "hack_passed_players": False},
        **{"face_down_counts_for_adjacency": False, "add_may_reuse_cell": False, "reward_mode": "rank"},
        **{"tiles_per_type": 16, "tiles_per_type_per_player": 4, "load_tweaks": 0},
    },
    {
        **{"require_connected": True, "min_board_tiles": 0, "op_needs_effect": False, "market_size": 7},
        **{"mult_copies_face_up": False, "mult_can_copy_face_down": False, "download_needs_space": False},
        **{"flip_when_capped": False, "level_max": 4, "gpu_max": 9, "first_player": 1, "load_tweaks": 2},
        **{"setup_order": "seat", "hack_bonus": False, "final_pass_reward": True, "op_copies": (2, 2, 2, 1)},
    },
    {
        **{"players": 4, "board_radius": 1, "dark_cells": (0, 5), "centre_cell": 2, "level_min": 2},
        **{"min_board_tiles": 3, "tiles_per_type_per_player": 2, "market_size": 3, "max_rounds": 5},
        **{"final_includes_passed": False, "score_truncated": False, "observe_pile_counts": True},
    },
    {"max_decisions": 60},
)


def default_env(players: int) -> te.Env:
    return shared_env(GAME, players=players)


Arrays = dict[str, np.ndarray]


def plain_games(env: te.Env, now: Arrays) -> Iterator[dict[str, Any]]:
    """Return every game of a batch as `env.state_to_dict` gives it."""
    columns = {name: values.tolist() for name, values in now.items()}
    for row in range(len(now["phase"])):
        yield to_dict(env.rules, {name: column[row] for name, column in columns.items()})


def legal_lists(now: Arrays) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in now["legal_action_mask"]]


class Lockstep:
    """Uniform play of a batch on both engines."""

    def __init__(self, config: dict[str, Any], batch: int, seed: int) -> None:
        self.env = shared_env(GAME, **config)
        self.config, self.ply = config, 0
        self.state = self.env.init(batch, seed)
        self.games = [Reference(game_key(seed, row, 0), **config) for row in range(batch)]
        self.policies = [policy_key(seed, row) for row in range(batch)]

    @property
    def over(self) -> bool:
        return all(game.done for game in self.games)

    def step(self) -> None:
        """Play one action in every game that is not over."""
        actions = [0] * len(self.games)
        for row, game in enumerate(self.games):
            game.rewards = [0.0] * game.num_players
            if not game.done:
                actions[row] = uniform_action(self.policies[row], self.ply, game.legal_actions())
                game.apply(actions[row])
        self.state, self.ply = self.env.step(self.state, actions), self.ply + 1

    def compare(self) -> None:
        """Assert that state, mask, rewards and flags agree."""
        where, now = f"ply {self.ply} of {self.config}", self.state.numpy()
        for row, (found, game) in enumerate(zip(plain_games(self.env, now), self.games, strict=True)):
            expected = game.to_dict()
            differ = {name: (found[name], expected[name]) for name in found if found[name] != expected[name]}
            assert not differ, f"row {row}, {where}"
        assert legal_lists(now) == [game.legal_actions() for game in self.games], where
        assert np.allclose(now["rewards"], [game.rewards for game in self.games]), where
        assert now["terminated"].tolist() == [game.terminated for game in self.games], where
        assert now["truncated"].tolist() == [game.truncated for game in self.games], where

    def compare_observations(self) -> None:
        for player in range(self.env.num_players):
            found = observe(self.state, player)
            assert (found == [game.observation(player) for game in self.games]).all(), (self.ply, player)

    def compare_round_trip(self) -> None:
        """Assert that states play on alike after a round trip through dictionaries."""
        kept = self.state.numpy()
        again = self.env.state_from_dicts(list(plain_games(self.env, kept))).numpy()
        for name in kept.keys() - {"key", "episode", "rewards"}:
            live = ~(kept["terminated"] | kept["truncated"])
            assert (kept[name][live] == again[name][live]).all(), (name, self.ply)


def run(config: dict[str, Any], batch: int = BATCH, plies: int = LAST_PLY, look: int = 0, seed: int = 3) -> Lockstep:
    """Play to the end, or so far; every `look` plies, if any, with observations and states written down."""
    both = Lockstep(config, batch, seed)
    both.compare()
    while not both.over and both.ply < plies:
        if look and both.ply % look == 0:
            both.compare_observations()
            both.compare_round_trip()
        both.step()
        both.compare()
    return both


@pytest.mark.few(1)
@pytest.mark.parametrize("players", [2, 3, 4])
def test_lockstep_of_default_games(players: int) -> None:
    """Check the first third or so of the games; the traces are whole games."""
    run({"players": players}, plies=90, look=80 if players == 3 else 0)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(VARIANTS)))
def test_lockstep_of_variants(number: int) -> None:
    both = run(VARIANTS[number], plies=120, seed=number)
    assert number < 3 or all(game.truncated for game in both.games)


def test_variants_use_every_value() -> None:
    default = Rules()
    for name, values in CHOICES.items():
        used = {config.get(name, getattr(default, name)) for config in VARIANTS}
        assert used >= set(values), name


@pytest.mark.slow
@pytest.mark.parametrize("players", [2, 3, 4])
def test_lockstep_of_many_default_games(players: int) -> None:
    assert run({"players": players}, batch=700, look=60, seed=17).over


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_lockstep_of_random_variants(first: int) -> None:
    for number in range(first, first + 20):
        assert run(random_config(number), batch=12, look=90, seed=number).over


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME, BATCH) == 12


# *** what must not be seen ***


@pytest.mark.slow
def test_the_order_of_the_pile_is_not_seen() -> None:
    """Check that games with different keys look alike until the first draw."""
    env, batch = default_env(2), BATCH
    state = env.state_from_dicts([position(pile=[2, 2, 2, 2, 2])] * batch)
    for action in (Act.DOWNLOAD, Act.TAKE, Act.TAKE + 1, Act.TAKE + 2):
        for player in (0, 1):
            seen = observe(state, player)
            assert (seen == seen[0]).all()
        state = env.step(state, [int(action)] * batch)
    assert len({tuple(game["market"]) for game in plain_games(env, state.numpy())}) > 1


@pytest.mark.slow
def test_the_contents_of_the_pile_are_not_seen() -> None:
    """Check that games whose piles and supplies have exchanged tiles differ in the supply alone (G44)."""
    env = default_env(2)
    state = env.state_from_dicts([position(pile=[2, 2, 2, 2, 2]), *[position(pile=[3, 1, 2, 2, 2])] * (BATCH - 1)])
    first, second, *_ = env.observe(state, 0).numpy().astype(int)
    supply = 2 * (10 * 37 + 37) + 9
    assert np.flatnonzero(first != second).tolist() == [supply, supply + 1]


# *** budgets ***


@pytest.mark.parametrize("players", STATE_BYTES)
def test_state_bytes(players: int) -> None:
    assert default_env(players).state_bytes == STATE_BYTES[players] <= 320
