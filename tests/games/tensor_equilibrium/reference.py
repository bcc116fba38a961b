"""Reference engine of Tensor, a game of equilibrium, on plain lists and ints.

Source: rulebook v0.1 by Tony Alicea. F and G numbers are facts and rulings of the game's rules file. This file has the
effects of actions, `position.py` legal actions and observations, `rules.py` the configuration, `invariants.py` the
checks.
"""

from tests.games.chance import draw
from tests.games.tensor_equilibrium.invariants import check_state, check_step
from tests.games.tensor_equilibrium.position import Position
from tests.games.tensor_equilibrium.rules import ADD, DIV, MUL, SUB, Act, Phase, kind

FIRST_PHASE = {SUB: Phase.SUB_CELL, ADD: Phase.ADD_REMOVE, DIV: Phase.DIV_CELL, MUL: Phase.MUL_EDGE}


class Reference(Position):
    """Position that actions can be played on."""

    @property
    def current_player(self) -> int:
        return self.actor

    @property
    def terminated(self) -> bool:
        return self.done and not self.truncated

    def check(self, before: "Reference | None") -> None:
        """Assert the invariants of this state and, given a copy from before the last action, of that step."""
        check_state(self)
        if before is not None:
            check_step(before, self)

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal in phase {self.phase}")
        self.rewards = [0.0] * self.num_players
        self.decisions += 1
        match self.phase:
            case Phase.SETUP_CENTRE | Phase.SETUP_TYPE | Phase.SETUP_CELL:
                self._set_up(action)
            case Phase.MAIN:
                self._main(action)
            case Phase.PICK:
                self._pick(action - Act.TAKE)
            case Phase.PLACE:
                self._place(action - Act.CELL)
            case Phase.TWEAK:
                self._tweak(action)
            case Phase.FLIP:
                self._flip(action - Act.CELL)
            case _:
                self._operate(action)
        if self.phase in (Phase.MAIN, Phase.FLIP) and self.decisions >= self.rules.max_decisions:
            self._finish(truncated=True)  # G43, never inside an action

    # *** actions, phase by phase ***

    def _set_up(self, action: int) -> None:
        a = self.actor
        if self.phase == Phase.SETUP_CENTRE:
            self.pile[action - Act.TYPE] -= 1
            self.board[a][self.centre] = 1 + action - Act.TYPE
            self.phase = Phase.SETUP_TYPE
        elif self.phase == Phase.SETUP_TYPE:
            self.pend_type, self.phase = action - Act.TYPE, Phase.SETUP_CELL
        else:
            self.pile[self.pend_type] -= 1
            self.board[a][action - Act.CELL] = 1 + self.pend_type
            self.pend_type, self.pos = -1, self.pos + 1
            if self.pos == self.num_players:
                self.pos = 0
                self._refill()  # F9
                self._begin_turn()
            else:
                seat = self.order[self.pos] if self.rules.setup_order == "turn" else self.pos  # G14
                self.turn = self.actor = seat
                self.phase = Phase.SETUP_CENTRE

    def _main(self, action: int) -> None:
        if action == Act.PASS:
            self._pass()
        elif action == Act.DOWNLOAD:
            self.gpu[self.actor] -= self.rules.cost_download
            self.picks_left = min(self.space(self.actor), sum(self.market))  # F16, G18
            self.phase = Phase.PICK
            self._end_picks()
        elif action < Act.RUN:
            self._code(action - Act.CODE)
        elif action < Act.LOAD:
            self._run(action - Act.RUN)
        elif action < Act.HACK:
            self.gpu[self.actor] -= self.rules.cost_load
            self._send(self.actor, action - Act.LOAD)
        else:
            k, t = divmod(action - Act.HACK, 5)
            self.gpu[self.actor] -= self.rules.cost_hack
            self._gain(self.actor, self.rules.hack_gpu_gain)  # G26
            self._send((self.actor + 1 + k) % self.num_players, t)

    def _pass(self) -> None:
        a, n = self.actor, self.n_passed
        if not self.final or (self.rules.final_pass_reward and not self.passed[a]):  # F32, G40
            self._gain(a, self.rules.pass_reward[n])
            self.next_order[n], self.passed[a], self.n_passed = a, 1, n + 1
        self._end_turn()

    def _gain(self, p: int, amount: int) -> None:
        self.gpu[p] = min(self.rules.gpu_max, self.gpu[p] + amount)  # G11

    def _code(self, o: int) -> None:
        self.gpu[self.actor] -= self.rules.op_cost[o]
        self.ops[o] -= 1
        self.hand[self.actor][o] += 1
        self._end_turn()

    def _run(self, o: int) -> None:
        self.gpu[self.actor] -= self.rules.cost_run
        self.hand[self.actor][o] -= 1
        self.ops[o] += 1  # F27
        self.tweaks_left = self.rules.op_tweaks[o]
        if self.effect(o):
            self.phase = FIRST_PHASE[o]
        else:
            self._go_on_tweaking(self.actor)  # G32

    def _send(self, target: int, t: int) -> None:
        self.storage[self.actor][t] -= 1
        self.pend_target, self.pend_type, self.phase = target, t, Phase.PLACE

    def _pick(self, t: int) -> None:
        self.market[t] -= 1
        self.storage[self.actor][t] += 1
        self.picks_left -= 1
        self._end_picks()

    def _end_picks(self) -> None:
        if self.picks_left:
            return
        if not self.final:
            self._refill()  # F17
            if sum(self.pile) == 0:  # F40, G38
                self.final, self.final_left = True, self.num_players
        self._end_turn()

    def _refill(self) -> None:
        while sum(self.market) < self.rules.market_size and sum(self.pile) > 0:
            left = sum(self.pile)
            x, t = draw(self.key, 16 + self.rules.pile_start - left, left), 0
            while x >= self.pile[t]:
                x, t = x - self.pile[t], t + 1
            self.pile[t] -= 1
            self.market[t] += 1

    def _place(self, h: int) -> None:
        p, t = self.pend_target, self.pend_type
        self.board[p][h] = 1 + t
        self.pend_target = self.pend_type = -1
        if t in self.rules.tensor_cards[self.card[p]][0] and (p == self.turn or self.rules.hack_bonus):
            self.tweaks_left = self.rules.load_tweaks  # F24, F26
        self._go_on_tweaking(p)

    def _operate(self, action: int) -> None:
        """Apply one choice of a running operation; tweaks follow the last one."""
        h, mine = action - Act.CELL, self.board[self.actor]
        match self.phase:
            case Phase.ADD_REMOVE:
                self.pend_slot, self.pend_type, self.phase = h, kind(mine[h]), Phase.ADD_TYPE
                self._remove(h)
                return
            case Phase.ADD_TYPE:
                self.pend_type, self.phase = action - Act.TYPE, Phase.ADD_CELL
                return
            case Phase.MUL_EDGE:
                self.pend_slot, self.phase = action - self.edge, Phase.MUL_CELL
                return
            case Phase.SUB_CELL:
                self._remove(h)
            case Phase.ADD_CELL:
                self._take_from_supply(h, 1 + self.pend_type)
            case Phase.DIV_CELL:
                mine[h] += 5 if mine[h] <= 5 else -5
            case Phase.MUL_CELL:
                d, source = divmod(self.pend_slot, len(self.cells))
                neighbour = self.hexagon.neighbour
                for old, new in ((source, h), (neighbour[source][d], neighbour[h][d])):  # G34
                    face_up = self.rules.mult_copies_face_up  # G33
                    self._take_from_supply(new, 1 + kind(mine[old]) if face_up else mine[old])
        self.pend_type = self.pend_slot = -1
        self._go_on_tweaking(self.actor)

    def _remove(self, h: int) -> None:
        self.supply[kind(self.board[self.actor][h])] += 1
        self.board[self.actor][h] = 0

    def _take_from_supply(self, h: int, code: int) -> None:
        self.supply[kind(code)] -= 1
        self.board[self.actor][h] = code

    def _tweak(self, action: int) -> None:
        if action == Act.STOP:
            self.tweaks_left = 0
        else:
            self.level[self.actor][action - Act.TWEAK] += 1
            self.tweaks_left -= 1
        self._go_on_tweaking(self.actor)

    def _go_on_tweaking(self, p: int) -> None:
        if self.tweaks_left and min(self.level[p]) < self.rules.level_max:
            self.actor, self.phase = p, Phase.TWEAK
        else:
            self.tweaks_left = 0  # G20
            self._end_turn()

    def _flip(self, h: int) -> None:
        t = kind(self.board[self.actor][h])
        self.board[self.actor][h] = 6 + t
        self.pend_flip[self.actor][t] = 0
        self._next_flip()

    # *** turns, rounds, the end ***

    def _begin_turn(self) -> None:
        self.turn = self.actor = self.order[self.pos]
        self.phase = Phase.MAIN

    def _end_turn(self) -> None:
        if self.final:
            self._next_final_action()
        elif self.n_passed == self.num_players:
            self._end_round()
        else:
            self.pos = (self.pos + 1) % self.num_players
            while self.passed[self.order[self.pos]]:
                self.pos = (self.pos + 1) % self.num_players
            self._begin_turn()

    def _next_final_action(self) -> None:
        while self.final_left:  # F40
            self.final_left -= 1
            self.pos = (self.pos + 1) % self.num_players
            if self.rules.final_includes_passed or not self.passed[self.order[self.pos]]:  # G39
                self._begin_turn()
                return
        self._backpropagate()  # F41, G37: no income, no flips
        self._finish(truncated=False)

    def _end_round(self) -> None:
        seats = range(self.num_players)
        for p in seats:  # in the order of F33
            self.ops = [n + held for n, held in zip(self.ops, self.hand[p], strict=True)]
            self.hand[p] = [0] * 4
        self.order, self.next_order = self.next_order, [-1] * self.num_players
        self.passed, self.n_passed = [0] * self.num_players, 0
        for p in seats:
            self._gain(p, self.rules.tier_income[self.tier(p)])
        to_flip = self._backpropagate()
        self.round, self.pos = self.round + 1, 0
        if self.round == self.rules.max_rounds:  # G43
            self._finish(truncated=True)
            return
        for p in seats:
            for t in to_flip[p]:  # G36
                if self.board[p].count(1 + t) == 1:
                    self.board[p][self.board[p].index(1 + t)] = 6 + t
                else:
                    self.pend_flip[p][t] = 1
        self._next_flip()

    def _backpropagate(self) -> list[list[int]]:
        """Move all tokens (F34); for each seat, the types of which a tile is to be flipped (F37)."""
        rules, to_flip = self.rules, []
        for board, levels in zip(self.board, self.level, strict=True):
            count = [board.count(1 + t) for t in range(5)]
            ranking = sorted(rules.tiebreak_order, key=lambda t: -count[t])  # F36: the sort keeps the order of ties
            ups = [t for t in ranking[:3] if count[t] > 0] if len(set(count)) > 1 else []  # F35, F38
            to_flip.append([t for t in ups if rules.flip_when_capped or levels[t] < rules.level_max])  # G21
            for t in range(5):  # G19
                levels[t] = min(rules.level_max, max(rules.level_min, levels[t] + (1 if t in ups else -1)))
        return to_flip

    def _next_flip(self) -> None:
        for p in self.order:
            if any(self.pend_flip[p]):
                self.turn = self.actor = p
                self.phase = Phase.FLIP
                return
        self._begin_turn()

    def _finish(self, truncated: bool) -> None:
        self.phase, self.done, self.truncated = Phase.OVER, True, truncated
        self.turn = self.actor = -1
        self.pend_flip = [[0] * 5 for _ in self.board]  # flips that a cap has cut off
        if truncated and not self.rules.score_truncated:
            return
        keys = [(sorted(levels), gpu) for levels, gpu in zip(self.level, self.gpu, strict=True)]  # F42
        rivals, best = self.num_players - 1, max(keys)
        if self.rules.reward_mode == "rank":
            self.rewards = [sum((key > other) - (key < other) for other in keys) / rivals for key in keys]
        else:
            share = (self.num_players / keys.count(best) - 1) / rivals  # G42
            self.rewards = [share if key == best else -1 / rivals for key in keys]
