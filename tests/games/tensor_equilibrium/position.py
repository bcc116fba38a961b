"""Position of the reference engine: the fields of the state, the set-up, legal actions and observations.

Source: rulebook v0.1 by Tony Alicea. F and G numbers are facts and rulings of the game's rules file.
"""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any, Self

from tests.games.chance import Key, draw
from tests.games.tensor_equilibrium.rules import ADD, DIV, MUL, SUB, Act, Hexagon, Phase, Rules, kind


class State:
    """State table of the rules file for P seats and H cells; 0/1 stand for bools inside lists."""

    board: list[list[int]]  # [P][H] 0 empty, 1 + t a face-up tile of type t, 6 + t a face-down one
    level: list[list[int]]  # [P][5] weight tokens
    storage: list[list[int]]  # [P][5] tiles by type
    hand: list[list[int]]  # [P][4] operation cards
    gpu: list[int]  # [P]
    card: list[int]  # [P] index into tensor_cards
    order: list[int]  # [P] seats in turn order
    next_order: list[int]  # [P] seats in order of passing, then -1
    passed: list[int]  # [P]
    n_passed: int
    pile: list[int]  # [5] by type; during the set-up, the pool that players choose from
    supply: list[int]  # [5]
    market: list[int]  # [5]
    ops: list[int]  # [4] operation cards on the action board
    phase: int
    pos: int  # in `order`; during the set-up, players that are done
    turn: int
    actor: int  # not `turn` when a hacked player tweaks; both -1 at the end
    pend_target: int  # the seat that a tile is on its way to, else -1
    pend_type: int  # of a tile on its way; ADD: removed type, then new type; else -1
    pend_slot: int  # ADD: vacated cell; MUL: d * H + h of the chosen pair; else -1
    picks_left: int
    tweaks_left: int
    pend_flip: list[list[int]]  # [P][5] types of which one tile is still to be flipped
    final: bool
    final_left: int  # final actions not yet begun
    round: int
    decisions: int
    done: bool
    truncated: bool


class Position(State):
    """State under its rules, with its legal actions and observations."""

    def __init__(self, key: Key, **config: Any) -> None:
        self.key, self.rules = key, Rules(**config)
        rules, seats, self.hexagon = self.rules, range(self.rules.players), Hexagon(self.rules.board_radius)
        self.cells = self.hexagon.cells
        self.light = [h not in rules.dark_cells for h in self.cells]
        self.centre = self.hexagon.middle if rules.centre_cell < 0 else rules.centre_cell
        if not (self.light[self.centre] and any(self.light[h] for h in self.hexagon.around[self.centre])):
            raise ValueError(f"the centre {self.centre} and a cell beside it must be light")
        self.edge = Act.CELL + len(self.cells)  # the first EDGE action
        self.num_actions, self.num_players = self.edge + 3 * len(self.cells), rules.players

        first = draw(key, 0, rules.players) if rules.first_player < 0 else rules.first_player
        undealt = list(range(len(rules.tensor_cards)))
        dealt = [undealt.pop(draw(key, 1 + p, len(undealt))) for p in seats]  # G4
        pool = rules.tiles_per_type_per_player * rules.players  # F4
        self.board = [[0] * len(self.cells) for _ in seats]
        self.level = [[rules.level_start] * 5 for _ in seats]  # F2
        self.storage = [[0] * 5 for _ in seats]
        self.hand = [[0] * 4 for _ in seats]
        self.gpu = [rules.gpu_start_first if p == first else rules.gpu_start for p in seats]  # F7
        self.card = list(rules.fixed_cards) or dealt
        self.order = [(first + i) % rules.players for i in seats]  # F8
        self.next_order = [-1] * rules.players
        self.passed, self.n_passed = [0] * rules.players, 0
        self.pile, self.supply, self.market = [pool] * 5, [rules.tiles_per_type - pool] * 5, [0] * 5
        self.ops = [rules.op_copies[rules.players - 1]] * 4  # F3
        self.phase, self.pos = Phase.SETUP_CENTRE, 0
        self.turn = self.actor = self.order[0] if rules.setup_order == "turn" else 0  # G14
        self.pend_target = self.pend_type = self.pend_slot = -1
        self.picks_left = self.tweaks_left = self.final_left = self.round = self.decisions = 0
        self.pend_flip = [[0] * 5 for _ in seats]
        self.final = self.done = self.truncated = False
        self.rewards = [0.0] * rules.players

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Self:
        game = cls(key, **config)
        if wrong := set(state) ^ set(State.__annotations__):
            raise ValueError(f"missing or unknown fields: {sorted(wrong)}")
        for name, value in state.items():
            setattr(game, name, bool(value) if State.__annotations__[name] is bool else deepcopy(value))
        return game

    def to_dict(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in State.__annotations__}
        return {name: deepcopy(value) if isinstance(value, list) else int(value) for name, value in values.items()}

    # *** limits (F13) and cell sets ***

    def tier(self, p: int) -> int:
        return max(i for i, level in enumerate(self.rules.tier_level) if max(self.level[p]) >= level)

    def hand_limit(self, p: int) -> int:
        return self.rules.tier_hand[self.tier(p)]

    def storage_limit(self, p: int) -> int:
        return self.rules.tier_storage[self.tier(p)]

    def space(self, p: int) -> int:
        return max(0, self.storage_limit(p) - sum(self.storage[p]))  # G16

    def partner(self, p: int, t: int) -> int:
        """Return the type beside t on the player's Tensor card, -1 for the free type (F23)."""
        for row in self.rules.tensor_cards[self.card[p]]:
            if t in row:
                return row[1 - row.index(t)]
        return -1

    def touches_partner(self, p: int, h: int, t: int) -> bool:
        partner = self.partner(p, t)
        codes = [1 + partner]
        if self.rules.face_down_counts_for_adjacency:  # G24
            codes.append(6 + partner)
        return partner < 0 or any(self.board[p][n] in codes for n in self.hexagon.around[h])

    def touches(self, p: int, h: int) -> bool:
        return any(self.board[p][n] for n in self.hexagon.around[h])

    def occupied(self, p: int) -> list[int]:
        return [h for h in self.cells if self.board[p][h]]

    def vacant(self, p: int, h: int) -> bool:
        return h >= 0 and self.light[h] and not self.board[p][h]

    def open_cells(self, p: int) -> list[int]:
        return [h for h in self.cells if self.vacant(p, h) and self.touches(p, h)]  # F22

    def load_cells(self, p: int, t: int) -> list[int]:
        return [h for h in self.open_cells(p) if self.touches_partner(p, h, t)]

    def removable(self, p: int) -> list[int]:
        cells = self.occupied(p)
        if len(cells) <= self.rules.min_board_tiles:  # G28
            return []
        return [h for h in cells if not self.rules.require_connected or self.connected(set(cells) - {h})]  # G29

    def connected(self, cells: set[int]) -> bool:
        reached = set(list(cells)[:1])
        while grown := {n for h in reached for n in self.hexagon.around[h] if n in cells} - reached:
            reached |= grown
        return reached == cells

    def add_removable(self, p: int) -> list[int]:
        """Return the tiles that ADD may remove: another type is in supply (G31), and a cell for it remains."""
        found = []
        for h in self.removable(p):
            code = self.board[p][h]
            self.board[p][h] = 0
            others = [t for t in range(5) if t != kind(code) and self.supply[t]]
            if others and self.add_cells(p, h):
                found.append(h)
            self.board[p][h] = code
        return found

    def add_cells(self, p: int, vacated: int) -> list[int]:
        return [h for h in self.open_cells(p) if h != vacated or self.rules.add_may_reuse_cell]  # G30

    def mul_cells(self, p: int, d: int) -> list[int]:
        """Return the cells for the first copy; the second lies beyond it in direction d (F31)."""
        pairs = [(h, self.hexagon.neighbour[h][d]) for h in self.cells]
        free = [(h, n) for h, n in pairs if self.vacant(p, h) and self.vacant(p, n)]
        return [h for h, n in free if self.touches(p, h) or self.touches(p, n)]

    def mul_edges(self, p: int) -> list[int]:
        """Return d * H + h of each pair of tiles that MUL can copy."""
        return [
            d * len(self.cells) + h
            for d in range(3)
            if self.mul_cells(p, d)
            for h in self.cells
            if self.copyable(p, d, h)
        ]

    def copyable(self, p: int, d: int, h: int) -> bool:
        n = self.hexagon.neighbour[h][d]
        if n < 0 or not (self.board[p][h] and self.board[p][n]):
            return False
        codes = [self.board[p][h], self.board[p][n]]
        types = [kind(code) for code in codes]
        face_up = self.rules.mult_can_copy_face_down or max(codes) <= 5  # G33
        return face_up and all(self.supply[t] >= types.count(t) for t in types)  # G31

    def effect(self, o: int) -> list[int]:
        """Return the actor's first choices for operation o: cells, or edges for MUL."""
        choices = {SUB: self.removable, ADD: self.add_removable, DIV: self.occupied, MUL: self.mul_edges}
        return choices[o](self.actor)

    # *** legal actions ***

    def legal_actions(self) -> list[int]:
        a, phase, types = self.actor, self.phase, range(5)
        if phase == Phase.MAIN:
            return self._main_actions()
        if phase in (Phase.SETUP_CENTRE, Phase.SETUP_TYPE):  # F5: from the top row, then from the bottom row
            return [Act.TYPE + t for t in sorted(self.rules.tensor_cards[self.card[a]][phase])]
        if phase == Phase.PICK:
            return [Act.TAKE + t for t in types if self.market[t]]
        if phase == Phase.TWEAK:  # G20, G22
            tweaks = [Act.TWEAK + t for t in types if self.level[a][t] < self.rules.level_max]
            return tweaks + [int(Act.STOP)] * self.rules.tweak_optional
        if phase == Phase.ADD_TYPE:  # F29
            return [Act.TYPE + t for t in types if t != self.pend_type and self.supply[t]]
        if phase == Phase.MUL_EDGE:
            return [self.edge + edge for edge in self.mul_edges(a)]
        return [Act.CELL + h for h in sorted(self._cell_choices())]

    def _cell_choices(self) -> list[int]:
        a = self.actor
        match self.phase:
            case Phase.SETUP_CELL:  # G15
                return [h for h in self.hexagon.around[self.centre] if self.light[h]]
            case Phase.PLACE:
                return self.load_cells(self.pend_target, self.pend_type)
            case Phase.SUB_CELL:
                return self.removable(a)
            case Phase.ADD_REMOVE:
                return self.add_removable(a)
            case Phase.ADD_CELL:
                return self.add_cells(a, self.pend_slot)
            case Phase.DIV_CELL:
                return self.occupied(a)
            case Phase.MUL_CELL:
                return self.mul_cells(a, self.pend_slot // len(self.cells))
            case Phase.FLIP:
                codes = [1 + t for t in range(5) if self.pend_flip[a][t]]
                return [h for h in self.cells if self.board[a][h] in codes]
        return []  # the game is over

    def _main_actions(self) -> list[int]:
        rules, a = self.rules, self.actor
        gpu, hand, storage = self.gpu[a], self.hand[a], self.storage[a]
        legal: list[int] = [Act.PASS]  # F12
        draws = self.space(a) > 0 and sum(self.market) > 0
        if gpu >= rules.cost_download and (draws or not rules.download_needs_space):  # G17
            legal.append(Act.DOWNLOAD)
        if sum(hand) < self.hand_limit(a):  # F19
            legal += [Act.CODE + o for o in range(4) if self.ops[o] and gpu >= rules.op_cost[o]]
        if gpu >= rules.cost_run:  # G32
            legal += [Act.RUN + o for o in range(4) if hand[o] and (self.effect(o) or not rules.op_needs_effect)]
        if gpu >= rules.cost_load:  # G27
            legal += [Act.LOAD + t for t in range(5) if storage[t] and self.load_cells(a, t)]
        for k in range(1, rules.players):
            q = (a + k) % rules.players
            if gpu >= rules.cost_hack and (rules.hack_passed_players or not self.passed[q]):  # G25
                legal += [Act.HACK + 5 * (k - 1) + t for t in range(5) if storage[t] and self.load_cells(q, t)]
        return legal

    # *** observation ***

    def observation(self, player: int) -> list[int]:
        """Return `cells`, `players`, `table`, `pending` and `mask` end to end, seats counted from the observer on."""
        seats = [(player + k) % self.num_players for k in range(self.num_players)]
        cells = [int(self.board[p][h] == code) for p in seats for code in range(1, 11) for h in self.cells]
        players = [number for p in seats for number in self._player_numbers(p)]
        pile = self.pile if self.rules.observe_pile_counts else [0] * 5  # G44
        table = [*self.market, *self.ops, *self.supply, sum(self.pile), *pile, self.picks_left, self.tweaks_left]
        table += [int(self.final), self.final_left, self.round, self.num_players]
        slot = self.pend_slot
        direction = slot // len(self.cells) if self.phase == Phase.MUL_CELL else -1
        pending = one_hot(self.phase, Phase) + one_hot(self.pend_target, seats) + one_hot(self.pend_type, range(5))
        pending += one_hot(slot % len(self.cells) if slot >= 0 else -1, self.cells) + one_hot(direction, range(3))
        legal = self.legal_actions() if player == self.actor else []
        return cells + players + table + pending + [int(action in legal) for action in range(self.num_actions)]

    def _player_numbers(self, p: int) -> list[int]:
        rows = [int(t in row) for row in self.rules.tensor_cards[self.card[p]] for t in range(5)]
        places = [self.order.index(p), self.next_order.index(p) if p in self.next_order else -1]
        limits = [self.hand_limit(p), self.storage_limit(p), self.rules.tier_income[self.tier(p)]]
        held = [*self.level[p], *self.storage[p], *self.hand[p], self.gpu[p]]
        return [*held, *rows, *self.pend_flip[p], self.passed[p], *places, *limits, int(p == self.turn)]


def one_hot(value: Any, values: Iterable[Any]) -> list[int]:
    return [int(value == other) for other in values]
