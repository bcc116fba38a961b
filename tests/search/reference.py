"""Monte Carlo tree search of one game in plain Python: the reference of `te.search.playout_policy`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensor_envs as te
from tensor_envs._engine.game import uniform_action
from tensor_envs._engine.random import seed_words
from tensor_envs.rules.chance import KeyedChance, threefry
from tensor_envs.rules.scalar import int32, scalar, uint32

real = np.float32
MOVES = 256  # of a playout that are remembered, the first ones


class Node:
    def __init__(self, state: Any, returns: list[Any], mask: int, actions: int):
        self.state, self.returns, self.mask = state, returns, mask
        self.visits, self.counts = 0, [0] * actions
        self.sums: list[Any] = [real(0.0)] * actions
        self.children: list[Node | None] = [None] * actions
        self.outcomes = dict[int, int]()  # proven ones for the player to move, by action

    def outcome(self, largest: Any) -> int | None:
        """Return the proven outcome for the player to move."""
        best = max(self.outcomes.values(), default=-1)
        wins = best == 1 and largest <= 1
        return best if wins or len(self.outcomes) == self.mask.bit_count() else None

    def choose(self, exploration: float, share: Any, mask: int, history: list[Any]) -> int:
        """Return the action of the highest score. history: mean returns of the player's actions, times their weight."""
        explore = real(real(exploration * np.sqrt(self.visits) + 1e-6) * real(1 / mask.bit_count()))
        scores = np.full(len(self.counts), -np.inf)
        for a, (n, s) in enumerate(zip(self.counts, self.sums, strict=True)):
            if mask >> a & 1 and a not in self.outcomes:
                value = real(real(s / real(max(n, 1))) * share)
                losses = real(real(real(n) * real(real(1) - value)) * real(0.5))
                known = real(history[a] / real(losses + real(1)))
                scores[a] = real(real(value + real(explore / real(n + 1))) + known)
        return int(np.argmax(scores))


class Search:
    """Plain search of one game that `te.debug` plays."""

    def __init__(
        self,
        plain: Any,
        row: int,
        seed: int,
        exploration: float = 4.0,
        limit: int = 2**31 - 1,
        chance: str = "sampled",
        prove: bool = True,
        history_weight: float = 3.0,
    ):
        self.game, self.limit = plain.game, limit
        self.exploration, self.history_weight = exploration, real(history_weight)
        self.determinizes = self.game.determinizes
        self.replays = self.determinizes or (self.game.spec.chance and chance == "open")
        spec = self.game.spec
        is_exact = spec.num_players <= 2 and spec.perfect_information and not spec.chance
        self.proves = prove and is_exact and (spec.zero_sum or spec.num_players == 1) and not self.replays
        self.row, self.seed = row, seed_words(seed)
        self.players, self.actions = self.game.spec.num_players, self.game.spec.num_actions
        self.legal, self.widths, self.plies = ([0] * self.actions for _ in range(3))
        self.taken = [[0] * self.actions for _ in range(self.players)]
        self.turns, self.events = 0, dict.fromkeys(self.game.spec.events, 0)
        self.begin(plain.state)

    def begin(self, s: Any) -> None:
        self.key = [int(x.value) for x in threefry(threefry(self.seed, (self.row, s.episode)), (uint32(s.ply), 0))]
        self.largest = real(1.0)
        self.uses = [[0] * self.actions for _ in range(self.players)]
        self.gains = [[real(0.0)] * self.actions for _ in range(self.players)]
        self.moves: list[tuple[int, int]] = []
        self.root = self.node(s, [real(0.0)] * self.players)

    def play_on(self, s: Any, action: int) -> None:
        """Advance the root by an action; the tree below it is kept."""
        below, largest = self.root.children[action], self.largest
        self.begin(s)
        if below is not None:
            self.root, self.largest, waiting = below, largest, [below]
            paid = below.returns
            while waiting:
                node = waiting.pop()
                node.returns = [real(x - y) for x, y in zip(node.returns, paid, strict=True)]
                if any(paid):
                    node.outcomes.clear()
                waiting += [child for child in node.children if child is not None]

    def node(self, s: Any, returns: list[Any]) -> Node:
        return Node(s, returns, self.mask(s), self.actions)

    def mask(self, s: Any) -> int:
        return sum(int(w.value) << 32 * k for k, w in enumerate(self.game.mask(s)))

    def count(self, s: Any, action: int, last: int) -> int:
        """Count a decision of a playout. Returns the player."""
        legal, mover = [k for k in range(self.actions) if self.mask(s) >> k & 1], int(scalar(s.current_player).value)
        for k in legal:
            self.legal[k] += 1
        self.widths[len(legal) - 1] += 1
        self.plies[action] += int(scalar(s.ply).value)
        self.taken[mover][action] += 1
        self.turns += mover != last
        events = self.game.step_with_events(s, int32(action), None)[-1]
        for name, happened in zip(self.events, events, strict=True):
            self.events[name] += int(scalar(happened).value)
        return mover

    def play(self, s: Any, action: int, returns: list[Any]) -> tuple[Any, list[Any], bool]:
        s, rewards, terminated, truncated = self.game.step(s, int32(action), None)
        paid = [real(x + real(r.value)) for x, r in zip(returns, rewards, strict=True)]
        return s, paid, bool(terminated.value or truncated.value)

    def playout(self, s: Any, returns: list[Any], over: bool, simulation: int) -> list[Any]:
        key, played, last = [uint32(self.key[0] ^ simulation), uint32(self.key[1])], 0, -1
        self.moves = []
        while not over and played < self.limit:
            played += 1
            action = uniform_action(s, self.game.mask(s), self.actions, key, live=False)
            last = self.count(s, int(action.value), last)
            if len(self.moves) < MOVES:
                self.moves.append((last, int(action.value)))
            s, returns, over = self.play(s, int(action.value), returns)
        return returns

    def rekeyed(self, s: Any, simulation: int) -> Any:
        """Return the state with the chance of a simulation."""
        if not self.game.spec.chance:
            return s
        return s.replace(key=[uint32(self.key[0] ^ simulation), ~uint32(self.key[1])])

    def simulate(self, simulation: int) -> None:
        if self.proves and self.root.outcome(self.largest) is not None:
            return
        way, s, returns, over = (self.replay if self.replays else self.advance)(simulation)
        ends = self.playout(s, returns, over, simulation)
        self.largest = max(self.largest, *map(abs, ends))
        for mover, action in (*self.moves, *((mover, action) for _, action, mover, _ in way)):
            self.uses[mover][action] += 1
            self.gains[mover][action] = real(self.gains[mover][action] + ends[mover])
        for node, action, mover, before in way:
            node.visits += 1
            node.counts[action] += 1
            node.sums[action] = real(node.sums[action] + real(ends[mover] - before[mover]))
        outcome = int(ends[0]) if self.proves and over and ends[0] in (-1, 0, 1) else None
        for node, action, mover, _ in reversed(way):
            if outcome is None:
                break
            node.outcomes[action] = -outcome if mover else outcome
            of_mover = node.outcome(self.largest)
            outcome = -of_mover if mover and of_mover is not None else of_mover

    def value(self, action: int) -> Any:
        """Return the value of an action of the root."""
        if action in self.root.outcomes:
            return real(self.root.outcomes[action])
        return self.root.sums[action] / real(max(self.root.counts[action], 1))

    def weights(self) -> list[Any]:
        """Return the shares of visits of the root's actions, without those that lose what is proven."""
        root, proven = self.root, self.root.outcome(self.largest) if self.proves else None
        kept = list(root.counts)
        for action in range(self.actions):
            outcome = root.outcomes.get(action)
            if outcome == -1 if proven is None else outcome != proven:
                kept[action] = 0
        kept = kept if any(kept) else root.counts
        return [real(real(n) / real(max(sum(kept), 1))) for n in kept]

    def chosen(self, node: Node, s: Any, returns: list[Any], mask: int) -> tuple[Node, int, int, list[Any]]:
        """Return a step of a simulation: the node, the action, who plays it, and the returns before it."""
        mover, share = int(scalar(s.current_player).value), real(real(1) / self.largest)
        known = zip(self.uses[mover], self.gains[mover], strict=True)
        history = [real(real(real(gain / real(max(n, 1))) * share) * self.history_weight) for n, gain in known]
        return node, node.choose(self.exploration, share, mask, history), mover, returns

    def advance(self, simulation: int) -> tuple[Any, Any, list[Any], bool]:
        """Descend the tree, whose nodes are positions, and play only the last action."""
        node, way = self.root, []
        while True:
            way.append(self.chosen(node, node.state, node.returns, node.mask))
            action = way[-1][1]
            child = node.children[action]
            if child is None:
                break
            node = child
        # sampled: a position has the chance of the simulation that found it
        s, returns, over = self.play(self.rekeyed(node.state, simulation), action, node.returns)
        if not over:
            node.children[action] = self.node(s, returns)
        return way, s, returns, over

    def replay(self, simulation: int) -> tuple[Any, Any, list[Any], bool]:
        """Play every action from the root: nodes are sequences of actions, chance and what is hidden are resampled."""
        node, way, s = self.root, [], self.rekeyed(self.root.state, simulation)
        if self.determinizes:
            key = [~uint32(self.key[0] ^ simulation), uint32(self.key[1])]
            s = self.game.determinize(s, s.current_player, KeyedChance(key))
        returns, over = [real(0.0)] * self.players, False
        while True:
            way.append(self.chosen(node, s, returns, self.mask(s)))
            action = way[-1][1]
            s, returns, over = self.play(s, action, returns)
            child = node.children[action]
            if child is None and not over:
                node.children[action] = self.node(s, returns)
            if child is None or over:
                return way, s, returns, over
            node = child


def search_of(
    env: te.Env,
    seed: int,
    row: int,
    actions: list[int],
    simulations: int,
    search_seed: int,
    more: list[int] | None = None,
    **options: Any,
) -> Search:
    """Search the position behind `actions`, and once more after each of `more`."""
    plain = te.debug(env, seed, row)
    for action in actions:
        plain.step(action)
    search = Search(plain, row, search_seed, **options)
    for following in (None, *(more or [])):
        if following is not None:
            plain.step(following)
            search.play_on(plain.state, following)
        for k in range(1, simulations + 1):
            search.simulate(k)
    return search
