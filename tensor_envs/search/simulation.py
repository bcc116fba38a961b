"""Tree search as kernels: initialise roots, select actions, play them, expand nodes and back up returns.

A simulation descends from the root to an action that has not been tried, plays it, and adds the value of the new
position to every action on its path. Each action sums the returns of the player who chose it, for any number of
players. An action that ends its game has no child: a later visit plays it again, unless outcomes are proven.

The end of a game proves its outcome: a win, a draw or a loss. A position is won if one action wins, and it has the best
outcome of its actions once all of them are proven. Proven actions are not searched again, and a proven root ends its
search. Source: M. Winands, Y. Björnsson, J. Saito, "Monte-Carlo tree search solver", 2008.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tensor_envs._compiler.tape import FLOAT32, INT32
from tensor_envs._engine.kernels.base import Coords, MoveList, Tracer, load, store
from tensor_envs.rules.chance import KeyedChance, threefry
from tensor_envs.rules.kernel import (
    Cells,
    bitcast,
    branch,
    divide,
    do_while,
    loop,
    registers,
    sum_in_range,
    team_max,
    team_sum,
)
from tensor_envs.rules.lists import any_of, num_words, select
from tensor_envs.rules.scalar import Scalar, Value, float32, int32, maximum, minimum, scalar, uint32, where
from tensor_envs.rules.spec import GameState
from tensor_envs.search.memory import (
    MAX_ROWS,
    Edges,
    NetworkOutput,
    SearchConfig,
    TreeArrays,
    TreeMemory,
    clamp,
    num_results,
    whole_vectors,
    wrap_index,
)
from tensor_envs.search.records import DRAW, LOSS, OUTCOME_SHIFT, WIN, Counts, Edge, Node, PathStep, Walk
from tensor_envs.search.selection import Stage, is_finite, is_value

# receives a simulation's last position: place, state, flags, returns so far, and the rewards of the last action
LeafHandler = Callable[[Coords, GameState, Sequence[Scalar], Sequence[Scalar], Sequence[Scalar]], None]


class Result(NamedTuple):
    """Result of a search at its roots."""

    action: Any  # int32 [rows]; -1 if the network's output was not finite, or with more legal actions than declared
    # int32 [rows, 3 A + 2]; floats are stored by their bits:
    #
    #     visits [A] | weights [A] | values [A] | the root's value | its proven outcome
    #
    # With `SearchConfig.counts` each block of rows is followed by its counts [counts, lanes], see `Decisions`.
    numbers: Any


class Search(TreeMemory):
    """Stages of a search in a kernel."""

    def __init__(self, t: Tracer, arrays: TreeArrays, params: Cells, config: SearchConfig, root_noise: Any = None):
        super().__init__(t, arrays, params, config, root_noise)
        self.selection = config.selection(self)
        self.walk_words = Walk.size + self.players + num_words(self.actions)
        # one walk for each root: its position and the edge that it has chosen
        self.walks = t.block.registers(self.walk_words, INT32)
        self.current = t.registers()  # current positions of the simulations
        self.queue = t.block.registers(1, INT32)  # lanes of the roots whose simulations take another step
        self.counts = Counts(registers(Counts.size, INT32))
        # proven outcome, for player 0, of the position behind the edge that `prove` visits next
        self.outcomes = t.block.registers(1, INT32)

    def each_root(self, stage: Callable[[Coords], None]) -> None:
        self.t.block.each(stage, unroll_max=0)

    def root_in(self, lane: Scalar) -> Coords:
        """Return the root in a lane of the block."""
        return self.first_root if self.roots == 1 else self.t.block.at(wrap_index(lane, self.roots))

    def walk(self, at: Coords) -> Walk:
        return Walk(self.walks, at.register.index(0, self.walk_words), at.register.lanes, self.players)

    # *** roots and nodes ***

    def init_root(self, at: Coords, old: Cells, row_keys: Cells) -> tuple[GameState, list[Scalar]]:
        """Write a root from the batch's state and return its state and flags."""
        t = self.t
        there = self.in_batch(at)
        root = self.root(at)
        params = self.params
        loaded = t.words(old).load(there)
        s = t.layout.get_state(loaded)
        flags = t.layout.get_flags(loaded)
        # from seed, row, episode and ply alone: a search is the same in any batch
        key = threefry((params.seed_low, params.seed_high), (t.row_keys(row_keys, there)[2], s.episode))
        root.key_low, root.key_high = threefry(key, (uint32(s.ply), 0))
        root.slot = root.num_steps = root.num_legal = 0
        # slot 0 is the root: the search starts from the position of the batch, with returns of 0
        words, coords = self.words(at, 0)
        words.store(coords, s=s, flags=flags)
        self.walk(at).set_position(self.mover(s, flags), [0.0] * self.players, self.mask(s))
        # without visits, a resumed tree may have the edges of another position
        is_new = (self.resumed == 0) | (self.node(at, 0).visits == 0)
        # a resumed tree keeps the scale of its returns
        root.largest = where(self.resumed == 0, 1.0, root.largest)
        # a new root takes the first edges of the tree's array
        root.edge_words = where(is_new, 0, root.edge_words)
        self.write_node(at, 0, is_new)
        root.proven = root.skipped = 0
        if self.config.proves:
            # edges of a resumed root may already prove it
            with branch(~is_new):
                root.proven = self._outcome(at, self.edges_of(at, 0))
        if not self.selection.uses_network:
            # a search learns the history of actions anew
            with loop(self.players) as player, loop(self.padded_actions) as action:
                history = self.history(at, player, action)
                history.visits = history.value_sum = 0
        return s, flags

    def write_node(self, at: Coords, slot: Value, is_new: Value = True) -> None:
        """Write the position of a walk to a node; a new node gets edges, and statistics of 0."""
        walk = self.walk(at)
        node = self.node(at, slot)
        packed = self.config.packed
        # packed edges list the legal actions, so that the node needs no mask
        words = 0 if packed else num_words(self.actions)
        node.set_position(walk.mover, walk.returns(), [walk.mask(w) for w in range(words)])
        with branch(scalar(is_new)):
            if packed:
                self.take_edges(at, slot, walk.mask, walk.mover >= 0)
            # memory still has the numbers of earlier searches
            node.visits = 0
            if self.selection.uses_network:
                node.tried = node.max_visits = node.prior_sum = node.value_sum = 0
            edges = self.edges_of(at, slot)
            # with padding, so that trees are the same on all devices
            with edges.each(whole=True) as (k, _):
                edge = edges[k]
                edge.visits = edge.value_sum = edge.link = 0

    def has_edges(self, at: Coords, slot: Value) -> Scalar:
        """Return whether a node has edges: a finished game has none, nor has one of more actions than declared."""
        node = self.node(at, slot)
        return node.num_edges > 0 if self.config.packed else node.mover >= 0

    def mover(self, s: GameState, flags: Sequence[Scalar]) -> Scalar:
        """Return the player to move, or -1 once the game is over."""
        return where(flags[0] | flags[1], -1, s.current_player)

    def mask(self, s: GameState) -> list[Scalar]:
        mask = self.t.game.mask(s)
        assert isinstance(mask, list), "a tree has no room for memory"
        return mask

    # *** simulation ***

    def key(self, at: Coords, slot: Scalar) -> list[Scalar]:
        """Return the random key of a simulation's playout; its chance and its resampling use other keys."""
        root = self.root(at)
        return [root.key_low ^ uint32(slot - self.resumed), root.key_high]

    def _rekeyed(self, at: Coords, slot: Scalar, s: GameState) -> GameState:
        """Return the state with the random key of a simulation, if the game has chance."""
        if not self.t.game.spec.chance:
            return s
        low, high = self.key(at, slot)
        # inverted, so that chance and playout draw independent numbers
        return s.replace(key=[low, ~high])

    def simulate(self, slot: Scalar, on_leaf: LeafHandler) -> None:
        """Run one simulation of every root: descend, play the last action, write the new node."""
        # selection: from the root to an action that has no child yet
        self._descend(slot)
        # expansion: play this action and store the new position.
        # compilers vectorise a stage only if it reads no trees, so nodes are written after it, root by root
        expand = self._replayed if self.config.replays else self._advance
        self.t.block.each(lambda at: expand(at, slot, on_leaf))
        self.each_root(lambda at: self._link(at, slot))

    def _descend(self, slot: Scalar) -> None:
        """Choose actions in all roots, one level at a time: the branches of a single descent are unpredictable.

        If simulations replay, they also play the chosen actions, each with its own chance and hidden information.
        """
        each = self.t.block.each
        replays = self.config.replays
        counts = self.counts
        # a simulation that replays starts with chance and hidden information of its own
        if replays:
            each(lambda at: self._begin(at, slot))
        # the queue has the roots whose simulations are still inside their trees
        counts.queued = counts.steps = 0
        self.each_root(self._start)
        with do_while() as iteration:
            # live roots are appended to the same queue again: never more of them than have been read
            active = counts.queued
            counts.queued = 0
            self._choose_all(active)
            if replays:
                each(self._play)
                self.each_root(lambda at: self._enqueue(at, self.walk(at).live != 0))
            # a level has a step for each root that was still inside
            counts.steps += active
            iteration.again = counts.queued > 0
        # the backup may be in the next kernel, after the network
        self.root(self.first_root).num_steps = counts.steps
        if not replays:
            self.each_root(self._fetch)

    def _start(self, at: Coords) -> None:
        """Start a simulation at the root, unless the game is over."""
        walk = self.walk(at)
        walk.node = walk.leaf = walk.edge = walk.action = 0
        if not self.config.replays:
            # nothing is left to search where the game is over or its outcome is proven
            walk.live = self.has_edges(at, 0) & (self.root(at).proven == 0)
        self._enqueue(at, walk.live != 0)

    def _enqueue(self, at: Coords, live: Scalar) -> None:
        """Append a root to the queue if it is live; otherwise the next root overwrites it."""
        queued = self.counts.queued
        if self.roots > 1:
            # written in any case, since a branch on `live` is unpredictable
            self.queue[wrap_index(queued, self.roots)] = at.batch.lane
        self.counts.queued = queued + live

    def _choose_all(self, active: Scalar) -> None:
        """Choose the next action of every root in the queue, group by group."""
        size = self.selection.group
        with loop((active + (size - 1)) // size) as group:
            first = group * size
            # a group of one has no loop: its numbers are constants then, so that GPUs keep its arrays in registers
            count = 1 if size == 1 else minimum(active - first, size)

            def in_root(stage: Stage, k: Value) -> None:
                at = self.root_in(self.queue[wrap_index(first + k, self.roots)])
                walk = self.walk(at)
                stage(k, self.edges_of(at, walk.node, walk if self.config.replays else None))

            def each(stage: Stage) -> None:
                if size == 1:
                    in_root(stage, 0)
                    return
                with loop(count) as k:
                    in_root(stage, k)

            # a stage runs in all roots of the group before the next one, since a root's own stages wait for each other
            self.selection.prepare(each, count, self.counts.steps > 0)
            each(lambda k, edges: self._choose(k, edges, self.counts.steps + first + k))
            self.selection.complete_steps(count, lambda k: self.step(self.counts.steps + first + k))

    def _choose(self, k: Value, edges: Edges, number: Scalar) -> None:
        """Choose the next edge of root `k` of a group and record it as the step of a number."""
        at = edges.at
        slot = edges.slot
        walk = self.walk(edges.at)
        # selection: the open edge of the highest score
        best = self.selection.best(edges, self.selection.score(k, edges))
        edge = edges[best]
        child = edge.child
        self.selection.chosen(k, edge)
        # the path goes to memory, for the backup: a descent has no bound that registers could have
        step = self.step(number)
        step.node = self.node_offset(at, slot)
        step.edge = edges.offset(best)
        step.lane = at.batch.lane
        if self.config.replays:  # otherwise the backup reads both from the node
            player = walk.mover
            returned = select(walk.returns(), walk.mover)
            step.player = player
            step.returned = returned
        # if there is no child, the descent ends at this node, the leaf
        walk.node = child
        walk.leaf = slot
        action = edges.action(best)
        walk.edge = best
        walk.action = action
        if self.config.replays:
            # whether the simulation goes on is known once the action is played, see `_play`
            walk.untried = child == 0
        else:
            self._enqueue(at, child > 0)

    def _fetch(self, at: Coords) -> None:
        """Copy a simulation's leaf from the tree into registers, for the vectorised stage."""
        walk = self.walk(at)
        words, coords = self.words(at, walk.leaf)
        self.current.store_words(at, words.load(coords), words.count)
        walk.set_returns(self.node(at, walk.leaf).returns())

    def _advance(self, at: Coords, slot: Scalar, on_leaf: LeafHandler) -> None:
        """Play a simulation's last action in the state of its leaf, and store the new state."""
        t = self.t
        walk = self.walk(at)
        loaded = self.current.load(at)
        was = t.layout.get_flags(loaded)
        s = self._rekeyed(at, slot, t.layout.get_state(loaded))
        # clamped, since a root without edges has chosen nothing
        s, rewards, *flags = t.game.step(s, clamp(walk.action, self.actions), None)
        flags = [x | y for x, y in zip(was, flags, strict=True)]  # a finished root stays finished
        if self.config.proves:
            flags[0] = flags[0] | (walk.live == 0)  # a proven root has no playout
        # returns are sums of rewards since the root, so that rewards before the end count
        returns = [x + r for x, r in zip(walk.returns(), rewards, strict=True)]
        words, coords = self.words(at, slot)
        words.store(coords, s=s, flags=flags)
        walk.untried = 1
        walk.set_position(self.mover(s, flags), returns, self.mask(s))
        on_leaf(at, s, flags, returns, rewards)

    def _begin(self, at: Coords, slot: Scalar) -> None:
        """Load the root's position, from which a simulation replays its actions."""
        t = self.t
        walk = self.walk(at)
        words, coords = self.words(at, 0)
        loaded = words.load(coords)
        flags = t.layout.get_flags(loaded)
        s = self._rekeyed(at, slot, t.layout.get_state(loaded))
        if self.config.determinizes:
            # hidden information is resampled, so that the search cannot exploit what the player does not know
            low, high = self.key(at, slot)
            s = t.game.determinize(s, s.current_player, KeyedChance([~low, high]))
        self.current.store(at, s=s, flags=flags)
        walk.live = ~(flags[0] | flags[1])
        walk.untried = 0
        walk.set_position(self.mover(s, flags), [0.0] * self.players, self.mask(s))

    def _play(self, at: Coords) -> None:
        """Play the chosen action of a simulation that replays; finished ones stay as they are."""
        t = self.t
        walk = self.walk(at)
        loaded = self.current.load(at)
        s = t.layout.get_state(loaded)
        was = t.layout.get_flags(loaded)
        live = walk.live != 0
        # all roots play, since a stage without branches is vectorised; those that have ended keep their state
        after, rewards, *flags = t.game.step(s, clamp(walk.action, self.actions), None)
        s = t.game.where(live, after, s)
        flags = [where(live, new, old) for new, old in zip(flags, was, strict=True)]
        returns = [x + where(live, r, 0.0) for x, r in zip(walk.returns(), rewards, strict=True)]
        self.current.store(at, s=s, flags=flags)
        # a simulation ends with the first untried action, or with the game
        walk.live = live & (walk.untried == 0) & ~(flags[0] | flags[1])
        walk.set_position(self.mover(s, flags), returns, self.mask(s))

    def _replayed(self, at: Coords, slot: Scalar, on_leaf: LeafHandler) -> None:
        """Pass the last position of a simulation that replays to its handler: its action has been played."""
        loaded = self.current.load(at)
        s = self.t.layout.get_state(loaded)
        flags = self.t.layout.get_flags(loaded)
        on_leaf(at, s, flags, self.walk(at).returns(), [scalar(0.0)] * self.players)

    def _link(self, at: Coords, slot: Scalar) -> None:
        """Write the node that a simulation has reached and link it to its parent."""
        walk = self.walk(at)
        self.root(at).slot = slot
        self.write_node(at, slot)
        edge = self.edges_of(at, walk.leaf)[self.edge_number(walk.edge)]
        # a finished game has no node to descend to: a later visit plays the action again
        edge.link = where((walk.untried != 0) & self.has_edges(at, slot), slot, edge.link)

    def backward(self, slot: Scalar, returns: Callable[[Coords], Sequence[Scalar]]) -> None:
        """Add the returns of a simulation to every action on its path."""
        final = self.t.block.registers(self.players, FLOAT32)
        any_outcome = registers(1, INT32)
        any_outcome[0] = 0

        def settle(at: Coords) -> None:
            values = returns(at)
            self._raise_largest(at, slot, values)
            store(final, at.register, values)
            if self.config.proves:
                # only the end of a game is certain: neither a playout nor a network proves anything
                is_over = self.node(at, slot).mover < 0
                value = values[0]
                is_outcome = (value == -1.0) | (value == 0.0) | (value == 1.0)
                outcome = where(is_over & is_outcome, int32(value) + DRAW, 0)
                self.outcomes[at.register.index(0, 1)] = outcome
                any_outcome[0] |= outcome

        self.each_root(settle)
        if self.config.proves:
            # most simulations end in no finished game: then the paths are not visited twice
            with branch(any_outcome[0] != 0):
                self._prove()
        with loop(self.root(self.first_root).num_steps) as number:
            step = self.step(number)
            lane = step.lane
            node = self.node_at(step.node)
            edge = self._edge_of(step, node)
            at = self.root_in(lane)
            # the action's player gets the return since the action, whoever moves next: so any number of players works
            player = step.player if self.config.replays else node.mover
            returned = step.returned if self.config.replays else select(node.returns(), player)
            ended = select(load(final, at.register, self.players), player)
            gain = ended - returned
            visits = edge.visits
            total = edge.value_sum
            # strategies that need more than visits and sums update them from the numbers before this simulation
            self.selection.record(node, step, visits, total, gain)
            edge.visits, edge.value_sum = visits + 1, total + gain
            node.visits += 1
            if not self.selection.uses_network:
                self._add_to_history(at, player, self._action_of(step, edge), ended)

    def _raise_largest(self, at: Coords, slot: Scalar, returns: Sequence[Scalar]) -> None:
        """Raise the largest absolute return of a root to the returns of a simulation; `_outcome` depends on it."""
        root = self.root(at)
        largest = root.largest
        # a network's values may exceed what the game pays, so they do not count
        for x in self.node(at, slot).returns() if self.selection.uses_network else returns:
            largest = maximum(largest, maximum(x, -x))
        root.largest = largest

    def learn_moves(self, moves: MoveList, returns: Callable[[Coords], Sequence[Scalar]]) -> None:
        """Add the moves of playouts to the history of actions."""

        def learn(at: Coords) -> None:
            values = returns(at)
            with loop(moves.length(at)) as number:
                move = moves.get(at, number)
                player = sum_in_range(self.players - 1, lambda p: int32(move >= (p + 1) * self.actions))
                self._add_to_history(at, player, move - player * self.actions, select(values, player))

        self.each_root(learn)

    def _add_to_history(self, at: Coords, player: Scalar, action: Scalar, returned: Scalar) -> None:
        history = self.history(at, maximum(player, 0), clamp(action, self.actions))
        history.visits += 1
        history.value_sum += returned

    def _edge_of(self, step: PathStep, node: Node) -> Edge:
        """Return the edge that a step took at its node."""
        return self.edge_at(step.edge, whole_vectors(node.num_edges) if self.config.packed else self.width)

    def _action_of(self, step: PathStep, edge: Edge) -> Scalar:
        """Return the action of a step, given its edge."""
        # without packing, the edges of a node begin at a multiple of their words
        return edge.action if self.config.packed else step.edge % (self.config.edge_words * self.width)

    def _prove(self) -> None:
        """Mark the edges on the simulations' paths whose outcomes are proven, from the leaves to the roots."""
        num_steps = self.root(self.first_root).num_steps
        with loop(num_steps) as number:
            # a deeper step has a higher number
            step = self.step(num_steps - 1 - number)
            at = self.root_in(step.lane)
            index = at.register.index(0, 1)
            outcome = self.outcomes[index]
            with branch(outcome != 0):  # an action is proven if the position after it is
                node = self.node_at(step.node)
                edge = self._edge_of(step, node)
                # from the view of the player who chose the action
                edge.link |= where(node.mover == 0, outcome, LOSS + WIN - outcome) << OUTCOME_SHIFT
                # the node may be proven by this edge, which then proves the edge above it
                slot = self.slot_at(step.node, at)
                of_mover = self._outcome(at, self.edges_of(at, slot))
                of_first = where((of_mover != 0) & (node.mover != 0), LOSS + WIN - of_mover, of_mover)
                self.outcomes[index] = of_first
                # a proven root ends its search, see `_start`
                with branch(slot == 0):
                    self.root(at).proven = of_mover

    def _outcome(self, at: Coords, edges: Edges) -> Scalar:
        """Return the proven outcome of a node for the player to move; 0 if there is none."""
        best = registers(1, INT32)
        num_open = registers(1, INT32)
        best[0] = num_open[0] = 0
        # outcomes are ordered, LOSS < DRAW < WIN: the best one of the proven actions, and how many are not proven
        with edges.each() as (k, legal):
            outcome = where(legal, edges[k].outcome, 0)
            best[0] = maximum(best[0], outcome)
            num_open[0] += int32(legal & (outcome == 0))
        # a game that pays more than 1 may have something better than a win
        highest = team_max(best[0])
        wins = (highest == WIN) & (self.root(at).largest <= 1.0)
        # one win is enough; a draw or a loss needs proofs of all other actions
        return where(wins | (team_sum(num_open[0]) == 0), highest, 0)

    # *** network output ***

    def _row(self, at: Coords) -> Scalar:
        """Return a root's row in the network's output."""
        return clamp(minimum(at.batch.row, self.params.rows - 1), MAX_ROWS).to(INT32)

    def expand(self, at: Coords, slot: Scalar, output: NetworkOutput) -> None:
        """Write the network's priors and value to a new node."""
        row = self._row(at)
        node = self.node(at, slot)
        root = self.root(at)
        edges = self.edges_of(at, slot)
        num_legal = registers(1, INT32)
        invalid = registers(1, INT32)
        num_legal[0] = invalid[0] = 0

        def logit(edge: Scalar) -> Scalar:
            return output.logits[row * self.actions + edges.action(edge)]

        # logits of illegal actions may be anything, NaN included
        with edges.each() as (edge, legal):
            num_legal[0] += legal
            invalid[0] |= int32(legal & ~is_finite(logit(edge)))
        # priors are relative to the legal actions alone
        prior, relative = self.selection.softmax(edges, logit)
        with edges.each() as (edge, _):
            edges[edge].prior = self.selection.prior(edges, edge, prior(edge), relative(edge))
        values = [output.values[row * self.config.values + p] for p in range(self.config.values)]
        is_invalid = (team_max(invalid[0]) != 0) | any_of(~is_value(value) for value in values)
        node.raw_value = select(values, node.mover)
        with branch(is_invalid & (node.mover >= 0)):
            self.node(at, 0).raw_value = float("nan")  # for `finalize`
        root.num_legal = where(slot == 0, team_sum(num_legal[0]), root.num_legal)

    def network_returns(self, at: Coords, slot: Scalar, output: NetworkOutput) -> list[Scalar]:
        """Return a simulation's returns: the rewards so far plus the network's value of the rest of the game."""
        row = self._row(at)
        node = self.node(at, slot)
        count = self.config.values
        mover = node.mover
        # the network values the rest of the game; what was paid on the path is certain
        rest = [output.values[row * count + (p if count > 1 else 0)] for p in range(self.players)]
        # one value is that of the player to move, and the game has zero sum
        if count == 1 and self.players == 2:
            rest = [where(mover == p, x, -x) for p, x in enumerate(rest)]
        return [x + where(mover < 0, 0.0, y) for x, y in zip(node.returns(), rest, strict=True)]

    # *** result ***

    def finalize(self, at: Coords, result: Result, num_counts: int = 0) -> None:
        """Choose a root's action and write it with visits, weights and values.

        num_counts: counts of each game that follow in the result, see `Result.numbers`.
        """
        edges = self.edges_of(at, 0)
        node = self.node(at, 0)
        size = self.actions
        row = self.in_batch(at).batch.row
        mover = node.mover
        weight, score = self.selection.final(edges)
        best = edges.action(self.selection.best(edges, score))
        total = registers(1, FLOAT32)
        first = row * num_results(size)
        if num_counts:
            # results of a block are followed by its counts
            coords = self.in_batch(at).batch
            first = first + coords.block * (coords.lanes * num_counts)
        # the value of the root is the mean of all simulations; a network's own value counts as one
        total[0] = node.raw_value if self.config.values else 0.0
        if self.config.packed:  # actions without an edge
            with loop(3 * size) as k:
                result.numbers[first + k] = 0
        with loop(edges.count if self.config.packed else size) as k:
            edge = edges[k]
            action = edges.action(k)
            mean = edge.value
            share = where(mover < 0, 0.0, weight(k))
            if self.config.proves:
                # a proven outcome is exact, while the mean has simulations of the time before the proof
                mean = where(edge.outcome > 0, float32(edge.outcome - DRAW), mean)
            for part, x in enumerate((edge.visits, bitcast(share, INT32), bitcast(mean, INT32))):
                result.numbers[first + part * size + action] = x
            total[0] += edge.value_sum
        visits = node.visits
        value = divide(total[0], float32(visits) + 1.0 if self.config.values else float32(maximum(visits, 1)))
        proven = self.root(at).proven
        if self.config.proves:
            value = where(proven > 0, float32(proven - DRAW), value)
        # -1 reports a search that failed, see `runners`; a finished game has the action 0
        result.action[row] = where(mover < 0, 0, where(is_finite(value) & self.has_edges(at, 0), best, -1))
        result.numbers[first + 3 * size] = bitcast(where(mover < 0, 0.0, value), INT32)
        result.numbers[first + 3 * size + 1] = where(mover < 0, 0, proven)
