"""Reference engine of Three Will on lists and ints, one game at a time.

Source: "3Will-3Agent-3D", K. J. L. Percival, revision of 26 June 2015. F, G and I numbers are the facts, gap rulings
and invariants of the game's rules file. Squares are 8*row + column, agents 8*player + slot; level 0 is a single or
higher agent, 1 a lower one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.games.chance import Key, bits, draw

MOVE, FREE, FMOVE, CHALLENGE, OVER = range(5)
PASS, USE_FREE, EXAMINE = 24, 25, 26
STEP, LEAP, ATTEMPT = "step", "leap", "attempt"
AGENTS = range(16)
SLOTS = range(8)
LISTS = ["pos", "lvl", "ids", "dr", "free"]
SCALARS = ["ces", "die", "phase", "player", "t", "turns", "challenge_left", "declarer", "turn_owner", "after"]
SCALARS += ["winner", "truncated"]

# Per die face 1..6 the options (forward, right), in the mover's terms (F13, G1, G2).
Chart = tuple[tuple[tuple[int, int], ...], ...]
CHART: Chart = (((1, 0),), ((0, 1),), ((0, -1),), ((1, 1),), ((1, -1),), ((-1, 0), (-1, -1), (-1, 1)))


@dataclass(frozen=True)
class Config:
    """Rule fields, one for each gap ruling that is a matter of choice."""

    chart: Chart = CHART  # G1, G2
    first_player: int = -1  # G4: -1 draws
    fail_ends_turn: bool = True  # G9
    loan: bool = True  # G10
    cards_each: int = 4
    cards_total: int = 8
    leap_diagonals: bool = True  # G15
    held_under_locked: str = "released"  # G17: or "held"
    supplementary: bool = True  # G23
    challenge: bool = True  # G24
    challenge_ends_turn: bool = True  # G26
    ids_visible: bool = False  # G27
    max_turns: int = 600  # G28
    to_win: int = 3  # G29


def owner(agent: int) -> int:
    return agent // 8


class Reference:
    """Game whose `declarer`, `turn_owner` and `after` are -1 unless a declaration is open or ended the game."""

    num_players = 2
    num_actions = 34

    def __init__(self, key: Key, **config: Any) -> None:
        self.config = Config(**config)
        if self.config.held_under_locked not in ("released", "held"):
            raise ValueError(f"held_under_locked: {self.config.held_under_locked!r}")
        self.key = key
        # F3, G3: the slots of either player run from that player's left.
        self.pos = [8 + s for s in SLOTS] + [55 - s for s in SLOTS]
        self.lvl = [0] * 16
        self.ids: list[int] = []
        for first in (0, 8):
            order = sorted(SLOTS, key=lambda slot: bits(key, first + slot))
            self.ids += [1 + order.index(slot) for slot in SLOTS]
        self.ces = draw(key, 16, 9)  # F5
        self.dr = [self.config.cards_each] * 2  # F6
        self.free = [0, 0]
        self.phase = MOVE
        self.player = self.config.first_player if self.config.first_player >= 0 else draw(key, 17, 2)
        self.t = self.turns = 0
        self.challenge_left = int(self.config.challenge)
        self.declarer = self.turn_owner = self.after = self.winner = -1
        self.truncated = False
        self.rewards = [0.0, 0.0]  # until the last action
        self.roll()

    @classmethod
    def from_dict(cls, state: Mapping[str, Any], key: Key, **config: Any) -> "Reference":
        game = cls(key, **config)
        for name in LISTS:
            setattr(game, name, list(state[name]))
        for name in SCALARS:
            setattr(game, name, state[name])
        return game

    def to_dict(self) -> dict[str, Any]:
        lists = {name: list(getattr(self, name)) for name in LISTS}
        return lists | {name: int(getattr(self, name)) for name in SCALARS}

    @property
    def current_player(self) -> int:
        return self.player

    @property
    def terminated(self) -> bool:
        return self.winner >= 0

    # The board.

    def stack(self, cell: int) -> list[int]:
        """Return the agents of a square, the higher one first."""
        return sorted((a for a in AGENTS if self.pos[a] == cell), key=lambda a: self.lvl[a])

    def locked(self, agent: int) -> bool:
        return self.pos[agent] // 8 == (7 if owner(agent) == 0 else 0)  # the goal row: F11, G16

    def active(self, agent: int) -> bool:
        return not self.locked(agent) and self.lvl[agent] == 0  # F15

    def held(self, agent: int) -> bool:
        return not self.locked(agent) and self.lvl[agent] == 1

    def bank(self) -> int:
        return self.config.cards_total - sum(self.dr) - sum(self.free)  # G10

    def wins_by_base(self, player: int) -> bool:
        return sum(self.locked(a) for a in AGENTS if owner(a) == player) >= self.config.to_win  # F7

    def wins_by_immobility(self, player: int) -> bool:
        blocked = not any(self.active(a) for a in AGENTS if owner(a) != player)
        return self.config.supplementary and blocked  # F8, F29, G23

    def victor(self, favoured: int) -> int:
        """Return the winner, or -1: bases before immobility, in each the favoured player first (G22)."""
        for wins in (self.wins_by_base, self.wins_by_immobility):
            for player in (favoured, 1 - favoured):
                if wins(player):
                    return player
        return -1

    def context(self) -> list[int]:
        """Return the declarer's agents that may be examined (F29, G24)."""
        own = [a for a in AGENTS if owner(a) == self.declarer]
        if self.wins_by_base(self.declarer):
            return [a for a in own if self.locked(a)]
        prisoners = [b for b in AGENTS if owner(b) != self.declarer and self.held(b)]
        return [a for a in own if any(self.pos[a] == self.pos[b] for b in prisoners)]

    # Legal actions.

    def target(self, slot: int, option: int) -> tuple[str, int] | None:
        """Return the operation and the square of an agent of the player to act, for an option of the directive."""
        agent = 8 * self.player + slot
        options = self.config.chart[self.die - 1]
        if option >= len(options) or not self.active(agent):
            return None
        forward, right = options[option]
        sign = 1 if self.player == 0 else -1
        row, column = divmod(self.pos[agent], 8)
        row, column = row + sign * forward, column + sign * right
        if not 0 <= row < 8:
            return None
        wraps = not 0 <= column < 8
        if wraps and (self.phase != FMOVE or (forward != 0 and not self.config.leap_diagonals)):
            return None  # F14, F21, G15
        cell = 8 * row + column % 8
        agents = self.stack(cell)
        if not agents:
            return (LEAP if wraps else STEP), cell  # G6
        payable = self.dr[self.player] > 0 or (self.config.loan and self.bank() > 0)  # F19, G10
        return (ATTEMPT, cell) if self.active(agents[0]) and payable else None  # F17, G19

    def operations(self) -> dict[int, tuple[str, int]]:
        targets = {3 * s + o: self.target(s, o) for s in SLOTS for o in range(3)}
        return {action: target for action, target in targets.items() if target is not None}

    def legal_actions(self) -> list[int]:
        if self.phase in (MOVE, FMOVE):
            operations = self.operations()
            must_step = any(kind == STEP for kind, _ in operations.values())  # F9, G11, G14
            return list(operations) + ([] if must_step else [PASS])
        if self.phase == FREE:
            return [PASS, USE_FREE]
        if self.phase == CHALLENGE:
            return [PASS] + [EXAMINE + a % 8 for a in self.context()]
        return []

    # Playing.

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"illegal action {action}")
        self.t += 1
        if self.phase == CHALLENGE:
            self.decide_challenge(action)
        elif action == PASS:
            self.end_turn()
        elif action == USE_FREE:
            self.free[self.player] -= 1
            self.roll()  # G12
            self.phase = FMOVE
        else:
            self.operate(8 * self.player + action // 3, *self.operations()[action])

    def operate(self, agent: int, kind: str, cell: int) -> None:
        if kind != ATTEMPT:
            self.move(agent, cell)
            self.after_operation(special=kind == LEAP)
            return
        if self.dr[self.player] > 0:
            self.dr[self.player] -= 1
        else:
            self.free[1 - self.player] += 1  # G10: straight from the bank, double or not
        if 1 + draw(self.key, 65 + 2 * self.t, 6) == self.die:  # G8
            self.pile(agent, cell)
            self.after_operation(special=True)
        elif self.config.fail_ends_turn:  # G9
            self.end_turn()

    def move(self, agent: int, cell: int) -> None:
        below = [b for b in self.stack(self.pos[agent]) if b != agent]
        self.pos[agent] = cell
        for b in below:
            if self.locked(b):
                self.lvl[b] = 0  # F24, G18: it stays
            else:
                self.pos[b] = cell  # G5
        self.settle()

    def pile(self, agent: int, cell: int) -> None:
        """Apply the stacking protocol (F16)."""
        source = self.pos[agent]
        rest = [b for b in self.stack(source) if b != agent]
        top, *low = self.stack(cell)
        self.pos[agent], self.lvl[agent], self.lvl[top] = cell, 0, 1
        for b in rest:
            self.lvl[b] = 0
        if low:
            ejected = top if self.locked(low[0]) else low[0]  # F26
            self.pos[ejected], self.lvl[ejected] = source, len(rest)
        self.settle()

    def settle(self) -> None:
        """Let no locked agent hold a free one or stand over it (F24, F25, G17, G20)."""
        if self.config.held_under_locked == "held":
            return
        for a in AGENTS:
            for b in AGENTS:
                if self.pos[a] == self.pos[b] and self.locked(a) and not self.locked(b):
                    self.lvl[a], self.lvl[b] = 1, 0

    def after_operation(self, special: bool) -> None:
        free_follows = not special and self.free[self.player] > 0  # F10, F20, G13
        winner = self.victor(self.player)
        if winner >= 0 and self.challenge_left:
            self.declarer, self.turn_owner, self.after = winner, self.player, 1 if free_follows else -1
            self.player, self.phase = 1 - winner, CHALLENGE  # G21, G24
        elif winner >= 0:
            self.finish(winner)
        elif free_follows:
            self.phase = FREE
        else:
            self.end_turn()

    def decide_challenge(self, action: int) -> None:
        if action == PASS:
            self.finish(self.declarer)
            return
        self.challenge_left = 0
        examined = 8 * self.declarer + action - EXAMINE
        if self.ids[examined] != self.ces:
            self.finish(self.declarer)  # F23: also by card 0, which no agent bears
            return
        double = 8 * self.player + self.ids[8 * self.player :][:8].index(self.ces)
        for values in (self.pos, self.lvl):
            values[examined], values[double] = values[double], values[examined]  # G25
        self.settle()
        winner = self.victor(self.declarer)
        if winner >= 0:
            self.finish(winner)
            return
        resume_free = self.after == 1 and not self.config.challenge_ends_turn
        self.player = self.turn_owner
        self.declarer = self.turn_owner = self.after = -1
        if resume_free:
            self.phase = FREE
        else:
            self.end_turn()  # G26

    def end_turn(self) -> None:
        self.turns += 1
        if self.turns >= self.config.max_turns:  # G28
            self.phase, self.truncated = OVER, True
            return
        self.player, self.phase = 1 - self.player, MOVE
        self.roll()

    def finish(self, winner: int) -> None:
        self.phase, self.winner = OVER, winner
        self.rewards = [1.0 if player == winner else -1.0 for player in (0, 1)]

    def roll(self) -> None:
        self.die = 1 + draw(self.key, 64 + 2 * self.t, 6)

    # What a player sees.

    def observation(self, player: int) -> list[float]:
        """Return the observation from the player's side: 322 numbers, 338 with the agents' numbers (G27)."""
        other, config = 1 - player, self.config
        chair = [8 * p + s for p in (player, other) for s in SLOTS]
        seen: list[float] = []
        for a in chair:
            row, column = divmod(self.pos[a] if player == 0 else 63 - self.pos[a], 8)
            seen += [row == i for i in range(8)] + [column == i for i in range(8)]
            seen += [self.active(a), self.held(a), self.locked(a)]
        seen += [self.phase in (MOVE, FMOVE) and self.die == face for face in range(1, 7)]
        seen += [self.phase == phase for phase in (MOVE, FREE, FMOVE, CHALLENGE)]
        each, total = max(1, config.cards_each), max(1, config.cards_total)
        seen += [self.dr[p] / each for p in (player, other)] + [self.free[p] / total for p in (player, other)]
        seen += [self.bank() / total]
        seen += [self.challenge_left, self.turns / config.max_turns, self.player == player]
        if config.ids_visible:
            seen += [self.ids[a] / 8 for a in chair]
        return [float(x) for x in seen]

    # Invariants.

    def pairs(self) -> list[tuple[int, ...]]:
        """Return every stack of two, the higher agent first."""
        return [tuple(agents) for cell in range(64) if len(agents := self.stack(cell)) == 2]

    def step_exists(self) -> bool:
        """Return whether the die points an active agent to an empty square, computed without `target`."""
        movers = [a for a in AGENTS if owner(a) == self.player and self.active(a)]
        signed = [(f, r) if self.player == 0 else (-f, -r) for f, r in self.config.chart[self.die - 1]]
        near = [(self.pos[a] // 8 + f, self.pos[a] % 8 + r) for a in movers for f, r in signed]
        return any(r in range(8) and c in range(8) and 8 * r + c not in self.pos for r, c in near)

    def check(self, before: "Reference | None") -> None:
        """Assert the invariants of the state, then those of the step from `before`, a copy from one action ago."""
        config, pairs, legal = self.config, self.pairs(), self.legal_actions()
        for cell in range(64):
            assert [self.lvl[a] for a in self.stack(cell)] in ([], [0], [0, 1]), "I1"
        if config.held_under_locked == "released":
            assert all(self.locked(low) or self.active(high) for high, low in pairs), "I2"
        assert min(*self.dr, *self.free, self.bank()) >= 0, "I3"
        assert (self.winner >= 0) + self.truncated == (self.phase == OVER) == (not legal), "I5"
        assert self.winner < 0 or self.wins_by_base(self.winner) or self.wins_by_immobility(self.winner), "I5"
        assert self.phase in (CHALLENGE, OVER) or self.victor(0) == -1, "I6"
        if self.phase in (MOVE, FMOVE):
            assert (PASS in legal) == (not self.step_exists()), "I7"
        assert self.phase != FREE or self.free[self.player] > 0, "I8"
        assert self.phase != CHALLENGE or (self.challenge_left and self.context()), "I8"
        assert sorted(self.ids[:8]) == sorted(self.ids[8:]) == list(range(1, 9)), "I11"
        if not config.ids_visible:
            other = self.to_dict() | {"ids": self.ids[::-1], "ces": (self.ces + 1) % 9}
            blind = type(self).from_dict(other, self.key, **vars(config))
            assert all(self.observation(p) == blind.observation(p) for p in (0, 1)), "I13"
        assert self.rewards in ([0.0, 0.0], [1.0, -1.0], [-1.0, 1.0]), "I14"
        if before is None:
            return
        banked = self.bank() - before.bank()
        used_free = before.phase == FREE and self.phase == FMOVE
        paid = used_free or self.dr[before.player] == before.dr[before.player] - 1
        assert banked == 1 if paid else banked in (0, -1), "I3"
        assert all(now <= was for now, was in zip(self.dr, before.dr, strict=True)), "I3"
        moved = [a for a in AGENTS if self.pos[a] != before.pos[a]]
        assert before.phase == CHALLENGE or not any(before.locked(a) for a in moved), "I4"
        assert self.phase != FMOVE or used_free or (before.phase == FMOVE and not config.fail_ends_turn), "I8"
        assert len(moved) <= 2, "I9"
        if before.phase in (MOVE, FMOVE) and not paid and banked == 0:  # no attempt
            whole = [pair for pair in before.pairs() if self.locked(pair[0]) == self.locked(pair[1])]
            assert all(pair in pairs for pair in whole), "I10"
            assert all(pair in before.pairs() or pair[::-1] in before.pairs() for pair in pairs), "I10"
        assert (self.ids, self.ces) == (before.ids, before.ces), "I11"
        assert any(self.rewards) == (self.winner >= 0), "I14"
        assert self.turns - before.turns in (0, 1), "I14"
