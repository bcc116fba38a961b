"""Comparison with OpenSpiel: its `gin_rummy` plays the same games and shows both players the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.gin_rummy.players import careful_actions
from tests.games.openspiel import OtherNumbers, play_beside
from tests.games.shared import observe, shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")
GAME = "gin_rummy"
KNOCK = 55
CONFIGS: list[dict[str, Any]] = [
    {},
    {"oklahoma": True},
    {"knock_card": 3, "gin_bonus": 0, "undercut_bonus": 7},
    {"knock_card": 0},
]


class Judge(OtherNumbers):
    """OpenSpiel's game, with the knocks that it misses (G6)."""

    missed = 0

    def legal_actions(self) -> list[int]:
        actions: list[int] = self.state.legal_actions()
        if self.state.is_terminal() or KNOCK in actions or not self.may_knock():
            return actions
        self.missed += 1
        return sorted([*actions, KNOCK])

    def may_knock(self) -> bool:
        """Return whether a discard leaves a deadwood that OpenSpiel itself finds low enough."""
        cards = list(self.state.hands()[self.state.current_player()])
        phase = str(self.state.current_phase())
        if phase.endswith("WALL"):
            cards.append(self.state.upcard())
        if not phase.endswith(("WALL", "DISCARD")):
            return False
        utils = pyspiel.gin_rummy.GinRummyUtils(13, 4, 10)
        return bool(utils.legal_discards(cards, self.state.knock_card()))

    def apply_action(self, action: int) -> None:
        self.state.apply_action(action)


def play_in_lockstep(config: dict[str, Any], batch: int, seed: int, care: float) -> Counter[str]:
    """Play games in both engines; compare all that `play_beside` does, observations and known cards.

    Returns:
        How often games ended with gin, a knock, an undercut or as a draw, and how often OpenSpiel missed a knock.
    """
    env = shared_env(GAME, **config)
    game = pyspiel.load_game(GAME, config)
    assert game.num_distinct_actions() == env.num_actions
    state = env.init(batch, seed)
    others = [Judge(game.new_initial_state()) for _ in range(batch)]
    upcards = state.upcard.numpy()
    for hands, upcard, other in zip(state.hands.numpy().tolist(), upcards.tolist(), others, strict=True):
        for card in (*members(hands[0]), *members(hands[1]), upcard):
            other.apply_action(card)
    drawn = [0] * batch
    rng = np.random.default_rng(seed)

    def choose(state: te.State, ended: np.ndarray) -> np.ndarray:
        """Note the cards that the actions draw from the stock."""
        actions = careful_actions(state, rng, care)
        for row in np.flatnonzero(actions == KNOCK).tolist():
            if KNOCK not in others[row].state.legal_actions():  # which its engine could not play
                actions[row] = min(others[row].state.legal_actions())
        before = state.stock.numpy()
        after = env.step(state, actions).stock.numpy()
        drawn[:] = [members(int(cards))[-1] if cards else 0 for cards in before & ~after]
        return actions

    def look(state: te.State) -> None:
        known = state.known.numpy().tolist()
        for player in (0, 1):
            theirs = np.array([other.observation_tensor(player) for other in others])
            assert (observe(state, player)[:, : theirs.shape[1]] == theirs).all(), player
            assert [members(cards[player]) for cards in known] == [other.known_cards()[player] for other in others]

    last, returns = play_beside(state, others, choose, look, chance=lambda row: drawn[row])
    assert (returns.sum(1) == 0).all()
    return Counter(missed=sum(other.missed for other in others), **ends(last, returns))


def members(cards: int) -> list[int]:
    return [card for card in range(52) if cards >> card & 1]


def ends(state: te.State, returns: np.ndarray) -> dict[str, int]:
    """Count results."""
    knocks = (state.laid.numpy() >= 0).any((1, 2))
    answerer = state.current_player.numpy()
    won = returns[np.arange(len(returns)), 1 - answerer]
    gin = (state.hands.numpy()[np.arange(len(returns)), 1 - answerer] == 0) & knocks
    counts = {"gin": gin, "knock": knocks & ~gin & (won >= 0), "undercut": knocks & (won < 0), "draw": ~knocks}
    return {name: int(rows.sum()) for name, rows in counts.items()}


@pytest.mark.few(1)
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_games_agree(config: dict[str, Any]) -> None:
    play_in_lockstep(config, batch=12, seed=1, care=0.9)


@pytest.mark.slow
@pytest.mark.parametrize("care", (0, 0.9, 1))
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_many_games_agree(config: dict[str, Any], care: float) -> None:
    ended = play_in_lockstep(config, batch=300, seed=2, care=care)
    assert ended["gin"] + ended["knock"] > (150 if care else -1)


def test_names_are_openspiels() -> None:
    env = shared_env(GAME)
    state = pyspiel.load_game(GAME).new_initial_state()
    names = [state.action_to_string(0, action).partition("Action: ")[2] for action in range(env.num_actions)]
    assert [env.action_to_string(action) for action in range(env.num_actions)] == names
