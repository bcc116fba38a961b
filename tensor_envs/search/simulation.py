"""Tree search as kernels: initialise roots, select edges, play actions, expand nodes and back up returns.

A simulation has four stages.

1. Selection: follow edges from the root to the leaf, the first node at which the selected edge has no child.
2. Expansion: play the edge's action and add a node for the new position.
3. Evaluation: a playout or a network gives the returns of all players.
4. Backup: add the returns to every edge on the path. An edge sums the returns of the player who selects it, so that
   games may have any number of players.

An edge whose action ends the game gets no child: each visit plays the action again.

If outcomes are proven, the end of a game proves a win, a draw or a loss. A position is won if one edge is proven a win.
It has the best outcome of its edges once all of them are proven. Proven edges are not selected again, and a proven root
ends its search. Source: M. Winands, Y. Björnsson, J. Saito, "Monte-Carlo tree search solver", 2008.
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

# function of the position that a simulation reaches: coordinates, state, flags, returns so far, and the rewards of the
# last action
LeafHandler = Callable[[Coords, GameState, Sequence[Scalar], Sequence[Scalar], Sequence[Scalar]], None]


class Result(NamedTuple):
    """Result of a search at its roots."""

    # int32 [rows]; -1 if the network's output was not finite, or if the root has more legal actions than declared
    action: Any
    # int32 [rows, 3 A + 2]; floats are stored by their bits:
    #
    #     visits [A] | weights [A] | values [A] | value of the root | proven outcome of the root
    #
    # With `SearchConfig.counts`, counts [counts, lanes] follow each block of rows, see `Decisions`.
    numbers: Any


class Search(TreeMemory):
    """Stages of a search in a kernel."""

    def __init__(self, t: Tracer, arrays: TreeArrays, params: Cells, config: SearchConfig, root_noise: Any = None):
        super().__init__(t, arrays, params, config, root_noise)
        self.selection = config.selection(self)
        self.walk_words = Walk.size + self.players + num_words(self.actions)
        self.walks = t.block.registers(self.walk_words, INT32)
        self.current = t.registers()  # states of the simulations
        self.queue = t.block.registers(1, INT32)  # lanes of the roots whose simulations select another edge
        self.counts = Counts(registers(Counts.size, INT32))
        # proven outcome, for player 0, of the position that `_back_up_outcomes` has reached in each tree
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
        # The key depends on nothing else, so that a search is the same in any batch.
        key = threefry((params.seed_low, params.seed_high), (t.row_keys(row_keys, there)[2], s.episode))
        root.key_low, root.key_high = threefry(key, (uint32(s.ply), 0))
        root.slot = root.num_steps = root.num_legal = 0
        # Slot 0 is the root. Returns are counted from here on.
        words, coords = self.words(at, 0)
        words.store(coords, s=s, flags=flags)
        self.walk(at).set_position(self.mover(s, flags), [0.0] * self.players, self.mask(s))
        # A resumed root without visits may have the edges of another position, so it gets new ones.
        is_new = (self.resumed == 0) | (self.node(at, 0).visits == 0)
        # A resumed tree keeps the scale of its returns.
        root.largest = where(self.resumed == 0, 1.0, root.largest)
        # A new root takes its edges from the front of the tree's array.
        root.edge_words = where(is_new, 0, root.edge_words)
        self.write_node(at, 0, is_new)
        root.proven = root.skipped = 0
        if self.config.proves:
            # The edges of a resumed root may already prove it.
            with branch(~is_new):
                root.proven = self._proven_outcome(at, self.edges_of(at, 0))
        if not self.selection.uses_network:
            # Resumed trees bring no history of actions.
            with loop(self.players) as player, loop(self.padded_actions) as action:
                history = self.history(at, player, action)
                history.visits = history.value_sum = 0
        return s, flags

    def write_node(self, at: Coords, slot: Value, is_new: Value = True) -> None:
        """Write a simulation's position to a node. A new node gets edges, and all statistics are 0."""
        walk = self.walk(at)
        node = self.node(at, slot)
        packed = self.config.packed
        # Packed edges list the legal actions, so the node needs no mask.
        words = 0 if packed else num_words(self.actions)
        node.set_position(walk.mover, walk.returns(), [walk.mask(w) for w in range(words)])
        with branch(scalar(is_new)):
            if packed:
                self.take_edges(at, slot, walk.mask, walk.mover >= 0)
            # Memory still has the numbers of earlier searches.
            node.visits = 0
            if self.selection.uses_network:
                node.tried = node.max_visits = node.prior_sum = node.value_sum = 0
            edges = self.edges_of(at, slot)
            # Padding is cleared, too, so that trees are the same on all devices.
            with edges.each(whole=True) as (k, _):
                edge = edges[k]
                edge.visits = edge.value_sum = edge.link = 0

    def has_edges(self, at: Coords, slot: Value) -> Scalar:
        """Return whether a node has edges.

        A finished game has none, nor has a position with more legal actions than `Spec.max_legal`.
        """
        node = self.node(at, slot)
        return node.num_edges > 0 if self.config.packed else node.mover >= 0

    def mover(self, s: GameState, flags: Sequence[Scalar]) -> Scalar:
        """Return the player to move, or -1 if the game is over."""
        return where(flags[0] | flags[1], -1, s.current_player)

    def mask(self, s: GameState) -> list[Scalar]:
        mask = self.t.game.mask(s)
        assert isinstance(mask, list), "games whose fields are memory cannot be searched"
        return mask

    # *** simulation ***

    def key(self, at: Coords, slot: Scalar) -> list[Scalar]:
        """Return the random key of a simulation's playout; chance and resampling invert a word of it."""
        root = self.root(at)
        return [root.key_low ^ uint32(slot - self.resumed), root.key_high]

    def _rekeyed(self, at: Coords, slot: Scalar, s: GameState) -> GameState:
        """Return the state with the simulation's random key for chance, if the game has chance."""
        if not self.t.game.spec.chance:
            return s
        low, high = self.key(at, slot)
        # The inverted word makes chance independent of the playout.
        return s.replace(key=[low, ~high])

    def simulate(self, slot: Scalar, on_leaf: LeafHandler) -> None:
        """Run selection and expansion of one simulation in every root; `slot` is that of the new nodes."""
        self._select_leaves(slot)
        # Compilers vectorise a stage over the lanes of a block only if it reads no tree. So the action is played first,
        # in all lanes, and the node is added in a stage of its own.
        expand = self._finish_replay if self.config.replays else self._play_from_leaf
        self.t.block.each(lambda at: expand(at, slot, on_leaf))
        self.each_root(lambda at: self._add_node(at, slot))

    def _select_leaves(self, slot: Scalar) -> None:
        """Select edges in all roots down to the leaves.

        All roots select on one level before the next level: a loop that followed one path to its end would have
        unpredictable branches. If simulations replay, they also play the selected actions, each with its own chance
        and hidden information.
        """
        each = self.t.block.each
        replays = self.config.replays
        counts = self.counts
        if replays:
            each(lambda at: self._start_replay(at, slot))
        # The queue has the roots whose simulations are still inside their trees.
        counts.queued = counts.steps = 0
        self.each_root(self._start_at_root)
        with do_while() as iteration:
            # The roots of the next level overwrite those of this one, which have been read before.
            active = counts.queued
            counts.queued = 0
            self._select_level(active)
            if replays:
                each(self._replay_action)
                self.each_root(lambda at: self._enqueue(at, self.walk(at).live != 0))
            # Each root of this level has added a step to its path.
            counts.steps += active
            iteration.again = counts.queued > 0
        # The number goes to memory, since a backup after a network is in another kernel.
        self.root(self.first_root).num_steps = counts.steps
        if not replays:
            self.each_root(self._load_leaf)

    def _start_at_root(self, at: Coords) -> None:
        """Start a simulation at its root, unless there is nothing to search."""
        walk = self.walk(at)
        walk.node = walk.leaf = walk.edge = walk.action = 0
        if not self.config.replays:
            # The game may be over, or the root proven.
            walk.live = self.has_edges(at, 0) & (self.root(at).proven == 0)
        self._enqueue(at, walk.live != 0)

    def _enqueue(self, at: Coords, live: Scalar) -> None:
        """Append a root to the queue if it is live."""
        queued = self.counts.queued
        if self.roots > 1:
            # The lane is written in any case, since a branch would be unpredictable. If the root is not live, the
            # length of the queue does not grow, and the next root overwrites it.
            self.queue[wrap_index(queued, self.roots)] = at.batch.lane
        self.counts.queued = queued + live

    def _select_level(self, active: Scalar) -> None:
        """Select the next edge of every root in the queue, group by group; `active` is their number."""
        size = self.selection.group
        with loop((active + (size - 1)) // size) as group:
            first = group * size
            # A group of one root has no loop. Indices are then constants, so that GPUs keep its arrays in registers.
            count = 1 if size == 1 else minimum(active - first, size)

            def in_root(stage: Stage, root: Value) -> None:
                at = self.root_in(self.queue[wrap_index(first + root, self.roots)])
                walk = self.walk(at)
                stage(root, self.edges_of(at, walk.node, walk if self.config.replays else None))

            def each(stage: Stage) -> None:
                if size == 1:
                    in_root(stage, 0)
                    return
                with loop(count) as root:
                    in_root(stage, root)

            # Each stage runs in all roots of the group before the next one, see `ActionSelection.group`.
            self.selection.prepare(each, count, self.counts.steps > 0)
            each(lambda root, edges: self._select_edge(root, edges, self.counts.steps + first + root))
            self.selection.complete_steps(count, lambda root: self.step(self.counts.steps + first + root))

    def _select_edge(self, root: Value, edges: Edges, number: Scalar) -> None:
        """Select an edge at the node of a simulation, and store the path step of this number."""
        at = edges.at
        slot = edges.slot
        walk = self.walk(edges.at)
        best = self.selection.best(edges, self.selection.score(root, edges))
        edge = edges[best]
        child = edge.child
        self.selection.note_selected(root, edge)
        # The path lies in memory, since registers need a constant bound of its length.
        step = self.step(number)
        step.node = self.node_offset(at, slot)
        step.edge = edges.offset(best)
        step.lane = at.batch.lane
        if self.config.replays:  # Otherwise the backup reads both from the node.
            player = walk.mover
            return_before = select(walk.returns(), walk.mover)
            step.player = player
            step.return_before = return_before
        # Without a child the path ends here, and this node is the leaf.
        walk.node = child
        walk.leaf = slot
        action = edges.action(best)
        walk.edge = best
        walk.action = action
        if self.config.replays:
            # The action decides whether the simulation goes on, see `_replay_action`.
            walk.untried = child == 0
        else:
            self._enqueue(at, child > 0)

    def _load_leaf(self, at: Coords) -> None:
        """Copy the state and the returns of a simulation's leaf to registers."""
        walk = self.walk(at)
        words, coords = self.words(at, walk.leaf)
        self.current.store_words(at, words.load(coords), words.count)
        walk.set_returns(self.node(at, walk.leaf).returns())

    def _play_from_leaf(self, at: Coords, slot: Scalar, on_leaf: LeafHandler) -> None:
        """Play the selected action at a simulation's leaf, and store the new state."""
        t = self.t
        walk = self.walk(at)
        loaded = self.current.load(at)
        old_flags = t.layout.get_flags(loaded)
        s = self._rekeyed(at, slot, t.layout.get_state(loaded))
        # Clamped, since a root without edges has selected no action.
        s, rewards, *flags = t.game.step(s, clamp(walk.action, self.actions), None)
        flags = [x | y for x, y in zip(old_flags, flags, strict=True)]  # A finished root stays finished.
        if self.config.proves:
            flags[0] = flags[0] | (walk.live == 0)  # A proven root has no playout.
        # Rewards before the end of the game count as well.
        returns = [x + r for x, r in zip(walk.returns(), rewards, strict=True)]
        words, coords = self.words(at, slot)
        words.store(coords, s=s, flags=flags)
        walk.untried = 1
        walk.set_position(self.mover(s, flags), returns, self.mask(s))
        on_leaf(at, s, flags, returns, rewards)

    def _start_replay(self, at: Coords, slot: Scalar) -> None:
        """Load the root's position, from which a simulation replays, with chance and hidden information of its own."""
        t = self.t
        walk = self.walk(at)
        words, coords = self.words(at, 0)
        loaded = words.load(coords)
        flags = t.layout.get_flags(loaded)
        s = self._rekeyed(at, slot, t.layout.get_state(loaded))
        if self.config.determinizes:
            # Hidden information is resampled, so that the search cannot exploit what the player does not know.
            low, high = self.key(at, slot)
            s = t.game.determinize(s, s.current_player, KeyedChance([~low, high]))
        self.current.store(at, s=s, flags=flags)
        walk.live = ~(flags[0] | flags[1])
        walk.untried = 0
        walk.set_position(self.mover(s, flags), [0.0] * self.players, self.mask(s))

    def _replay_action(self, at: Coords) -> None:
        """Play the selected action of a simulation that replays; one that has ended keeps its state."""
        t = self.t
        walk = self.walk(at)
        loaded = self.current.load(at)
        s = t.layout.get_state(loaded)
        old_flags = t.layout.get_flags(loaded)
        live = walk.live != 0
        # All simulations play, since only a stage without branches is vectorised.
        after, rewards, *flags = t.game.step(s, clamp(walk.action, self.actions), None)
        s = t.game.where(live, after, s)
        flags = [where(live, new, old) for new, old in zip(flags, old_flags, strict=True)]
        returns = [x + where(live, r, 0.0) for x, r in zip(walk.returns(), rewards, strict=True)]
        self.current.store(at, s=s, flags=flags)
        # Selection ends with the first edge without a child, or with the game.
        walk.live = live & (walk.untried == 0) & ~(flags[0] | flags[1])
        walk.set_position(self.mover(s, flags), returns, self.mask(s))

    def _finish_replay(self, at: Coords, slot: Scalar, on_leaf: LeafHandler) -> None:
        """Pass the position that a simulation has reached to the handler; the last action has been played before."""
        loaded = self.current.load(at)
        s = self.t.layout.get_state(loaded)
        flags = self.t.layout.get_flags(loaded)
        on_leaf(at, s, flags, self.walk(at).returns(), [scalar(0.0)] * self.players)

    def _add_node(self, at: Coords, slot: Scalar) -> None:
        """Write the node of the position that a simulation has reached, and link the leaf's edge to it."""
        walk = self.walk(at)
        self.root(at).slot = slot
        self.write_node(at, slot)
        edge = self.edges_of(at, walk.leaf)[self.edge_number(walk.edge)]
        # A finished game has no edges, so no simulation needs its node.
        edge.link = where((walk.untried != 0) & self.has_edges(at, slot), slot, edge.link)

    def backward(self, slot: Scalar, returns: Callable[[Coords], Sequence[Scalar]]) -> None:
        """Add the returns of a simulation to every edge on its path."""
        final_returns = self.t.block.registers(self.players, FLOAT32)
        any_outcome = registers(1, INT32)
        any_outcome[0] = 0

        def start(at: Coords) -> None:
            values = returns(at)
            self._update_largest(at, slot, values)
            store(final_returns, at.register, values)
            if self.config.proves:
                # Playouts and networks prove nothing, but the end of a game does if it pays as a win, draw or loss.
                is_over = self.node(at, slot).mover < 0
                value = values[0]
                is_outcome = (value == -1.0) | (value == 0.0) | (value == 1.0)
                outcome = where(is_over & is_outcome, int32(value) + DRAW, 0)
                self.outcomes[at.register.index(0, 1)] = outcome
                any_outcome[0] |= outcome

        self.each_root(start)
        if self.config.proves:
            # In most simulations no tree reaches the end of a game, and this pass over the paths is skipped.
            with branch(any_outcome[0] != 0):
                self._back_up_outcomes()
        with loop(self.root(self.first_root).num_steps) as number:
            step = self.step(number)
            lane = step.lane
            node = self.node_at(step.node)
            edge = self._edge_of_step(step, node)
            at = self.root_in(lane)
            # The edge gains the player's return from this node on: rewards before it do not depend on the edge.
            player = step.player if self.config.replays else node.mover
            return_before = step.return_before if self.config.replays else select(node.returns(), player)
            final_return = select(load(final_returns, at.register, self.players), player)
            gain = final_return - return_before
            visits = edge.visits
            value_sum = edge.value_sum
            self.selection.update_node(node, step, visits, value_sum, gain)
            edge.visits, edge.value_sum = visits + 1, value_sum + gain
            node.visits += 1
            if not self.selection.uses_network:
                self._add_to_history(at, player, self._action_of_step(step, edge), final_return)

    def _update_largest(self, at: Coords, slot: Scalar, returns: Sequence[Scalar]) -> None:
        """Raise a root's largest absolute return to the returns of a simulation."""
        root = self.root(at)
        largest = root.largest
        # A network's values may exceed all returns of the game, so only the rewards so far count.
        for x in self.node(at, slot).returns() if self.selection.uses_network else returns:
            largest = maximum(largest, maximum(x, -x))
        root.largest = largest

    def learn_moves(self, moves: MoveList, returns: Callable[[Coords], Sequence[Scalar]]) -> None:
        """Add the moves of playouts to the history of actions; a move is player * actions + action."""

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

    def _edge_of_step(self, step: PathStep, node: Node) -> Edge:
        """Return the edge that a step took at its node."""
        return self.edge_at(step.edge, whole_vectors(node.num_edges) if self.config.packed else self.width)

    def _action_of_step(self, step: PathStep, edge: Edge) -> Scalar:
        """Return the action of a step, given its edge."""
        # Otherwise the number of an edge is its action, and a node's edges begin at a multiple of their size.
        return edge.action if self.config.packed else step.edge % (self.config.edge_words * self.width)

    def _back_up_outcomes(self) -> None:
        """Back up proven outcomes from the new positions towards the roots, as far as they prove the nodes above."""
        num_steps = self.root(self.first_root).num_steps
        with loop(num_steps) as number:
            # In a tree, later steps are deeper.
            step = self.step(num_steps - 1 - number)
            at = self.root_in(step.lane)
            index = at.register.index(0, 1)
            outcome = self.outcomes[index]
            # An edge is proven if the position after its action is.
            with branch(outcome != 0):
                node = self.node_at(step.node)
                edge = self._edge_of_step(step, node)
                # An edge stores the outcome for the player to move at its node.
                edge.link |= where(node.mover == 0, outcome, LOSS + WIN - outcome) << OUTCOME_SHIFT
                # This edge may prove the node, and the node in turn the edge above it.
                slot = self.slot_at(step.node, at)
                mover_outcome = self._proven_outcome(at, self.edges_of(at, slot))
                is_flipped = (mover_outcome != 0) & (node.mover != 0)
                self.outcomes[index] = where(is_flipped, LOSS + WIN - mover_outcome, mover_outcome)
                # A proven root ends its search, see `_start_at_root`.
                with branch(slot == 0):
                    self.root(at).proven = mover_outcome

    def _proven_outcome(self, at: Coords, edges: Edges) -> Scalar:
        """Return the proven outcome of a node for the player to move; 0 for none."""
        best = registers(1, INT32)
        num_open = registers(1, INT32)
        best[0] = num_open[0] = 0
        # Find the best outcome of the edges, as LOSS < DRAW < WIN, and the number of edges without a proof.
        with edges.each() as (k, legal):
            outcome = where(legal, edges[k].outcome, 0)
            best[0] = maximum(best[0], outcome)
            num_open[0] += int32(legal & (outcome == 0))
        # In a game that has paid more than 1, another edge may be better than a win.
        highest = team_max(best[0])
        wins = (highest == WIN) & (self.root(at).largest <= 1.0)
        # One win proves the node. A draw or a loss needs proofs of all edges.
        return where(wins | (team_sum(num_open[0]) == 0), highest, 0)

    # *** network output ***

    def _row(self, at: Coords) -> Scalar:
        """Return a root's row in the network's output."""
        return clamp(minimum(at.batch.row, self.params.rows - 1), MAX_ROWS).to(INT32)

    def expand(self, at: Coords, slot: Scalar, output: NetworkOutput) -> None:
        """Write the network's priors and value to a new node, and check them."""
        row = self._row(at)
        node = self.node(at, slot)
        root = self.root(at)
        edges = self.edges_of(at, slot)
        num_legal = registers(1, INT32)
        invalid = registers(1, INT32)
        num_legal[0] = invalid[0] = 0

        def logit(edge: Scalar) -> Scalar:
            return output.logits[row * self.actions + edges.action(edge)]

        # Only the logits of legal actions are checked; the others may be anything, including NaN.
        with edges.each() as (edge, legal):
            num_legal[0] += legal
            invalid[0] |= int32(legal & ~is_finite(logit(edge)))
        # The softmax is over legal actions only.
        prior, relative = self.selection.softmax(edges, logit)
        with edges.each() as (edge, _):
            edges[edge].prior = self.selection.edge_prior(edges, edge, prior(edge), relative(edge))
        values = [output.values[row * self.config.values + p] for p in range(self.config.values)]
        is_invalid = (team_max(invalid[0]) != 0) | any_of(~is_value(value) for value in values)
        node.raw_value = select(values, node.mover)
        with branch(is_invalid & (node.mover >= 0)):
            self.node(at, 0).raw_value = float("nan")  # `finalize` reports a failed search.
        root.num_legal = where(slot == 0, team_sum(num_legal[0]), root.num_legal)

    def network_returns(self, at: Coords, slot: Scalar, output: NetworkOutput) -> list[Scalar]:
        """Return a simulation's returns: the returns so far plus the network's values of the rest of the game."""
        row = self._row(at)
        node = self.node(at, slot)
        count = self.config.values
        mover = node.mover
        rest = [output.values[row * count + (p if count > 1 else 0)] for p in range(self.players)]
        # A single value is that of the player to move, in a zero-sum game of two players.
        if count == 1 and self.players == 2:
            rest = [where(mover == p, x, -x) for p, x in enumerate(rest)]
        return [x + where(mover < 0, 0.0, y) for x, y in zip(node.returns(), rest, strict=True)]

    # *** result ***

    def finalize(self, at: Coords, result: Result, num_counts: int = 0) -> None:
        """Choose a root's action, and write it with visits, weights and values.

        num_counts: number of counts of each game in the result, see `Result.numbers`.
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
            # Counts follow the results of each block.
            coords = self.in_batch(at).batch
            first = first + coords.block * (coords.lanes * num_counts)
        # The root's value is the mean of all simulations; a network's value counts like one of them.
        total[0] = node.raw_value if self.config.values else 0.0
        if self.config.packed:  # Actions without an edge have zeros.
            with loop(3 * size) as k:
                result.numbers[first + k] = 0
        with loop(edges.count if self.config.packed else size) as k:
            edge = edges[k]
            action = edges.action(k)
            mean = edge.value
            share = where(mover < 0, 0.0, weight(k))
            if self.config.proves:
                # A proven outcome is exact. The mean includes simulations before the proof.
                mean = where(edge.outcome > 0, float32(edge.outcome - DRAW), mean)
            for part, x in enumerate((edge.visits, bitcast(share, INT32), bitcast(mean, INT32))):
                result.numbers[first + part * size + action] = x
            total[0] += edge.value_sum
        visits = node.visits
        value = divide(total[0], float32(visits) + 1.0 if self.config.values else float32(maximum(visits, 1)))
        proven = self.root(at).proven
        if self.config.proves:
            value = where(proven > 0, float32(proven - DRAW), value)
        # A finished game has the action 0. -1 reports a failed search, see `runners`.
        result.action[row] = where(mover < 0, 0, where(is_finite(value) & self.has_edges(at, 0), best, -1))
        result.numbers[first + 3 * size] = bitcast(where(mover < 0, 0.0, value), INT32)
        result.numbers[first + 3 * size + 1] = where(mover < 0, 0, proven)
