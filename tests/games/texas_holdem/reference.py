"""Texas hold'em in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings T1-T12 are cited below.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

from tests.games.chance import Key, draw

FOLD, CALL = 0, 1


def rank_of_hand(ranks: list[int], flush: bool, deck_ranks: int) -> tuple[int, list[int]]:
    """Return the category and the ranks that decide among equals, of at most five cards (T8)."""
    groups = sorted(Counter(ranks).items(), key=lambda item: (item[1], item[0]), reverse=True)
    order, counts = [rank for rank, _ in groups], [count for _, count in groups]
    straight = len(ranks) == 5 and len(counts) == 5 and max(ranks) - min(ranks) == 4
    if deck_ranks == 13 and sorted(ranks) == [0, 1, 2, 3, 12]:
        straight, order = True, [3]
    if straight:
        return (8 if flush else 4), order[:1]
    if flush:
        return 5, order
    kinds = {(4,): 7, (3, 2): 6, (3,): 3, (2, 2): 2, (2,): 1}
    for shape, category in kinds.items():
        if tuple(counts[: len(shape)]) == shape:
            return category, order
    return 0, order


class Reference:
    """One game."""

    num_players = 2
    truncated = False  # T6

    def __init__(
        self,
        key: Key,
        *,
        stacks: tuple[int, int] = (200, 200),
        small_blind: int = 1,
        big_blind: int = 2,
        raises: tuple[int, ...] = (50, 100),
        limit: tuple[int, ...] = (),
        max_raises: tuple[int, ...] = (),
        streets: tuple[int, ...] = (0, 3, 1, 1),
        hole_cards: int = 2,
        ranks: int = 13,
        suits: int = 4,
    ) -> None:
        self.stacks, self.sizes, self.limit, self.max_raises = stacks, raises, limit, max_raises
        self.big_blind, self.streets, self.ranks, self.suits = big_blind, streets, ranks, suits
        self.num_actions = 3 if limit else 3 + len(raises)
        left = list(range(ranks * suits))  # T1
        cards = [left.pop(draw(key, k, len(left))) for k in range(2 * hole_cards + sum(streets))]
        self.hands = [sorted(cards[:hole_cards]), sorted(cards[hole_cards : 2 * hole_cards])]
        self.board = self.by_streets(cards[2 * hole_cards :])
        self.bets = [big_blind, small_blind]  # T2
        self.street = 0
        self.current_player = 0 if streets[0] else 1
        self.rounds: list[list[int]] = [[]]  # the actions of each street
        self.last_raise = big_blind
        self.terminated = False
        self.rewards = [0.0, 0.0]

    def by_streets(self, cards: list[int]) -> list[int]:
        board: list[int] = []
        for count in self.streets:
            board += sorted(cards[len(board) : len(board) + count])
        return board

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.hands = [sorted(hand) for hand in state["hands"]]
        game.board = game.by_streets(list(state["board"]))
        for action in state["history"]:
            game.apply(action)
        game.rewards = [0.0, 0.0]  # of the last ply, not of the position
        return game

    def to_dict(self) -> dict[str, Any]:  # T12
        return {"hands": self.hands, "board": self.board, "history": [a for one in self.rounds for a in one]}

    def amount(self, action: int) -> int:
        """Return the chips that a raise puts in beside those of a call, as far as there are any (T4)."""
        rest = self.stacks[self.current_player] - max(self.bets)
        if self.limit:
            return min(self.limit[self.street], rest)
        if action == self.num_actions - 1:
            return rest
        return self.sizes[action - 2] * 2 * max(self.bets) // 100 if action >= 2 else 0

    def legal_actions(self) -> list[int]:
        if self.terminated:
            return []
        me, other = self.current_player, 1 - self.current_player
        legal = [CALL] if self.bets[0] == self.bets[1] else [FOLD, CALL]  # T3
        rest = self.stacks[me] - max(self.bets)
        if rest <= 0 or self.bets[other] == self.stacks[other]:  # T4
            return legal
        if self.max_raises and sum(a > CALL for a in self.rounds[-1]) == self.max_raises[self.street]:  # T5
            return legal
        for action in range(2, self.num_actions):
            whole = bool(self.limit) or action == self.num_actions - 1
            if whole or self.last_raise <= self.amount(action) < rest:
                legal.append(action)
        return legal

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        me, first, amount = self.current_player, not self.rounds[-1], self.amount(action)
        self.rounds[-1].append(action)
        self.current_player = 1 - me
        if action == FOLD:
            self.end(winner=1 - me)
        elif action == CALL:
            self.bets[me] = min(max(self.bets), self.stacks[me])
            if not first:
                self.end_street()
        else:
            self.last_raise = amount
            self.bets[me] = max(self.bets) + amount

    def end_street(self) -> None:
        last = self.street == len(self.streets) - 1
        if last or any(bet == stack for bet, stack in zip(self.bets, self.stacks, strict=True)):  # T7
            best = [self.best(player) for player in (0, 1)]
            self.current_player, self.street = 0, len(self.streets) - 1
            self.end(winner=None if best[0] == best[1] else int(best[1] > best[0]))
            return
        self.street += 1
        self.rounds.append([])
        self.last_raise = self.big_blind
        self.current_player = 0  # T2

    def best(self, player: int) -> tuple[int, list[int]]:
        """Return the best hand of a player (T8)."""
        cards = [*self.hands[player], *self.board]
        hands = combinations(cards, min(5, len(cards)))
        return max(
            rank_of_hand(
                [card // self.suits for card in hand],
                len(hand) == 5 and len({card % self.suits for card in hand}) == 1,
                self.ranks,
            )
            for hand in hands
        )

    def end(self, winner: int | None) -> None:
        self.terminated = True
        stake = 0 if winner is None else min(self.bets)  # T7, T9
        self.rewards = [float(stake if player == winner else -stake) for player in (0, 1)]

    def longest(self) -> int:
        """Return the greatest number of plies that T6 counts."""
        raises, top = 0, self.big_blind
        while top < max(self.stacks):
            sizes = self.limit or [max(self.big_blind, min(self.sizes, default=10**6) * 2 * top // 100)]
            raises, top = raises + 1, top + min(sizes)
        return 2 * len(self.streets) + (min(raises, sum(self.max_raises)) if self.max_raises else raises)

    def observation(self, player: int) -> list[float]:  # T11
        deck = range(self.ranks * self.suits)
        opened = self.board[: sum(self.streets[: self.street + 1])]
        seen: list[float] = [int(p == player) for p in (0, 1)]
        seen += [int(card in self.hands[player]) for card in deck] + [int(card in opened) for card in deck]
        seen += [int(street == self.street) for street in range(len(self.streets))]
        seen += [self.bets[p] / max(self.stacks) for p in (player, 1 - player)]
        history = self.to_dict()["history"]
        for ply in range(self.longest()):
            seen += [int(history[ply : ply + 1] == [action]) for action in range(self.num_actions)]
        return seen
