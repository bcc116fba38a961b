"""Comparison with pokerkit: ranks of hands, and whole games ply by ply with bets, ends and payoffs."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.texas_holdem.hands import strength
from tensor_envs.games.texas_holdem.notation import card_name
from tensor_envs.games.texas_holdem.rules import CALL, FOLD, TexasHoldem
from tensor_envs.rules import int32
from tests.games.shared import shared_env

pokerkit = pytest.importorskip("pokerkit")
GAME = "texas_holdem"
LIMIT: dict[str, Any] = {"limit": (2, 2, 4, 4), "max_raises": (4, 4, 4, 4)}  # the blind is no raise to pokerkit
CONFIGS: list[dict[str, Any]] = [
    {},
    {"stacks": (23, 60), "small_blind": 2, "big_blind": 5, "raises": (33, 75, 150)},
    {"stacks": (150, 41), "raises": (50, 60, 70, 300)},
    LIMIT,
    LIMIT | {"stacks": (17, 30)},
]
AUTOMATIONS = (
    "ANTE_POSTING", "BET_COLLECTION", "BLIND_OR_STRADDLE_POSTING", "HOLE_CARDS_SHOWING_OR_MUCKING",
    "HAND_KILLING", "CHIPS_PUSHING", "CHIPS_PULLING", "RUNOUT_COUNT_SELECTION",
)  # fmt: skip


def check_ranks(hands: list[list[int]]) -> None:
    """Check that hands have the same order in both engines; names of cards are pokerkit's."""
    rules = TexasHoldem()
    ours = [int(strength([int32(card) for card in hand], rules.ranks, rules.suits).value) for hand in hands]
    theirs = [pokerkit.StandardHighHand.from_game("".join(card_name(rules, card) for card in hand)) for hand in hands]
    order = sorted(range(len(hands)), key=lambda k: ours[k])
    for low, high in pairwise(order):
        if ours[low] == ours[high]:
            assert theirs[low] == theirs[high], (hands[low], hands[high])
        else:
            assert theirs[low] < theirs[high], (hands[low], hands[high])


def seven_cards(rng: random.Random) -> list[int]:
    """Return seven random cards, often of few ranks or of few suits, so that all categories occur."""
    decks = (range(52), rng.sample(range(52), 12), [c for c in range(52) if c % 4 in (0, 1)], range(28, 52))
    return rng.sample(list(rng.choice(decks)), 7)


def test_hands_rank_alike() -> None:
    rng = random.Random(1)
    check_ranks([seven_cards(rng) for _ in range(300)])


@pytest.mark.slow
def test_many_hands_rank_alike() -> None:
    rng = random.Random(2)
    hands = [seven_cards(rng) for _ in range(5000)]
    check_ranks(hands)
    categories = {int(strength([int32(c) for c in hand], 13, 4).value) >> 26 for hand in hands}
    assert categories == set(range(9))


class Judge:
    """A game of pokerkit with our deal."""

    def __init__(self, rules: TexasHoldem, hands: list[list[int]], board: list[int]):
        self.rules = rules
        self.state = self.new_state(rules)
        for player in (0, 1):
            self.state.deal_hole("".join(card_name(rules, card) for card in hands[player]))
        self.board = iter(board)
        self.stacks = list(rules.stacks)

    @staticmethod
    def new_state(rules: TexasHoldem) -> Any:
        automations = tuple(pokerkit.Automation[name] for name in AUTOMATIONS)
        blinds = (rules.small_blind, rules.big_blind)  # pokerkit's player 1 is the button, too
        if rules.limit:
            limits = rules.limit[0], rules.limit[-1]
            return pokerkit.FixedLimitTexasHoldem.create_state(automations, True, 0, blinds, *limits, rules.stacks, 2)
        return pokerkit.NoLimitTexasHoldem.create_state(automations, True, 0, blinds, rules.big_blind, rules.stacks, 2)

    def deal(self) -> None:
        """Open the cards of the board for which pokerkit waits."""
        state = self.state
        while state.status and state.can_burn_card():
            state.burn_card("??")
            count = state.street.board_dealing_count
            state.deal_board("".join(card_name(self.rules, next(self.board)) for _ in range(count)))

    def raised_to(self, action: int) -> int:
        """Return the chips of the present street that a raise asks for."""
        state = self.state
        if self.rules.limit:
            return int(state.min_completion_betting_or_raising_to_amount or 0)
        player = state.actor_index
        if action == self.rules.num_actions - 1:
            return int(state.stacks[player] + state.bets[player])
        owed = max(state.bets) - state.bets[player]
        pot = state.total_pot_amount + owed  # after a call
        return int(max(state.bets) + pot * self.rules.raises[action - 2] // 100)

    def legal_actions(self) -> list[int]:
        state = self.state
        legal = [FOLD] if max(state.bets) > state.bets[state.actor_index] else []
        legal += [CALL] if state.can_check_or_call() else []
        for action in range(2, self.rules.num_actions):
            amount = self.raised_to(action)
            whole = amount >= state.stacks[state.actor_index] + state.bets[state.actor_index]
            last = action == self.rules.num_actions - 1
            if state.can_complete_bet_or_raise_to(amount) and (bool(self.rules.limit) or whole == last):
                legal.append(action)
        return legal

    def apply(self, action: int) -> None:
        if action == FOLD:
            self.state.fold()
        elif action == CALL:
            self.state.check_or_call()
        else:
            self.state.complete_bet_or_raise_to(self.raised_to(action))
        self.deal()


def play_in_lockstep(config: dict[str, Any], batch: int, seed: int) -> None:
    """Play random games in both engines; compare actions, players, chips, ends and returns at every ply."""
    env = shared_env(GAME, **config)
    state = env.init(batch, seed)
    now = state.numpy()
    deals = zip(now["hands"].tolist(), now["board"].tolist(), strict=True)
    judges = [Judge(env.rules, hands, board) for hands, board in deals]
    returns = np.zeros((batch, 2))
    while not now["terminated"].all():
        actions = te.agents.uniform(state).numpy()
        for row in np.flatnonzero(~now["terminated"]).tolist():
            judge = judges[row]
            assert judge.state.status and judge.state.actor_index == now["current_player"][row]
            left = [stack - bet for stack, bet in zip(env.rules.stacks, now["bets"][row].tolist(), strict=True)]
            assert left == list(judge.state.stacks), row
            assert np.flatnonzero(now["legal_action_mask"][row]).tolist() == judge.legal_actions(), row
            judge.apply(int(actions[row]))
        state = env.step(state, actions)
        now = state.numpy()
        returns += now["rewards"]
        for row in np.flatnonzero(now["terminated"]).tolist():
            assert not judges[row].state.status
            assert returns[row].tolist() == list(judges[row].state.payoffs), row
    assert len(np.unique(returns[:, 0])) > 8


@pytest.mark.few("{}")
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_random_games_agree(config: dict[str, Any]) -> None:
    play_in_lockstep(config, batch=64, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_thousands_of_random_games_agree(config: dict[str, Any]) -> None:
    play_in_lockstep(config, batch=1000, seed=2)
