"""Memory of search trees: bytes of nodes, edges for legal actions alone, limits."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.rules import bit, has_bit, number, popcount
from tensor_envs.search import noise, policies, runners
from tensor_envs.search.memory import SearchSize, whole_vectors
from tensor_envs.search.records import Root
from tensor_envs.search.selection import ActionSelection, GumbelMuZero, ProgressiveHistory
from tensor_envs.search.tree import NUM_EDGES
from tests.games.shared import shared_env
from tests.search.test_tree_search import network, played


@pytest.mark.slow
def test_trees_of_a_large_game_that_need_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error comes before the allocation."""
    message = (
        r"at most 138083 for 16 games, got 262144: their trees need 15.2 GiB of at most 8; or search 8 games at a time"
    )
    chess = te.make("chess").init(64)
    monkeypatch.setattr(runners, "memory_for", None)
    with pytest.raises(ValueError, match=message):
        te.search.playout_policy(chess, 2**18)
    with pytest.raises(ValueError, match="num_simulations must be at most 112221 for 16 games, got 120000"):
        te.search.gumbel_muzero_policy(chess, network(chess.env), 120_000)


def test_trees_that_need_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the error names fits."""
    monkeypatch.setattr(runners, "MAX_TREE_BYTES", 2**20)
    state = shared_env("tic_tac_toe").init(64)
    runners.chunk_of.cache_clear()
    with pytest.raises(ValueError, match=r"at most 57 for 64 games with keep_tree=True, got 99: .* 32 games at a time"):
        te.search.playout_policy(state, 99, keep_tree=True)
    te.search.playout_policy(state, 57, keep_tree=True)
    te.search.playout_policy(state[:32], 99, keep_tree=True)
    with pytest.raises(ValueError, match="at most 57 for 64 games"):
        te.search.playout_policy(state, 60)
    runners.chunk_of.cache_clear()


@pytest.mark.parametrize(("memory", "chunks"), [(None, 4), (2**34, 1), (2**32, 2)])
def test_trees_on_a_card(monkeypatch: pytest.MonkeyPatch, memory: int | None, chunks: int) -> None:
    """A card with much memory searches more games at once, in up to an eighth of it."""
    env = shared_env("tic_tac_toe")
    layout = env.engine.batch_layout(2**13, "CPU")
    if memory is not None:
        monkeypatch.setattr(runners, "is_cuda", lambda device: True)
        monkeypatch.setattr(runners, "memory_of", lambda device: memory)
    size = SearchSize(400, 0)
    chunk = runners.chunk_of.__wrapped__(env.engine, policies.search_config(env, ProgressiveHistory), size, layout)
    assert -(-layout.grid.blocks // chunk.grid.blocks) == chunks


@pytest.mark.parametrize(
    ("name", "selection", "edges", "others"),
    [
        ("chess", ProgressiveHistory, 224 * 4 * 4, 68 + 236),  # a dense node would have 4,674 edges of 3 words: 56 kB
        ("chess", GumbelMuZero, 224 * 5 * 4, 68 + 236),
        ("othello", ProgressiveHistory, 64 * 4 * 4, 68 + 36),
        ("go", ProgressiveHistory, 96 * 3 * 4, 72 + 132),
    ],
)
def test_bytes_of_a_node(name: str, selection: type[ActionSelection], edges: int, others: int) -> None:
    """Count the bytes of one more slot: edges of legal actions with their numbers, or of all actions of a dense board.

    The others are those of the node with its step of a path, and of its position.
    """
    env = shared_env(name)
    config = policies.search_config(env, selection)  # type: ignore[arg-type] # a class is hashable
    one, two = (runners.tree_sizes(env.engine, config, slots) for slots in (1, 2))
    assert 4 * (two.edges - one.edges) == edges
    assert two.bytes - one.bytes == edges + others


@pytest.mark.slow
def test_nodes_of_chess_take_the_room_of_their_legal_actions() -> None:
    """A search touches a few hundred bytes of edges for each node, of the thousands that it may take."""
    state = played(shared_env("chess"), 4, 4)
    whole = te.search.playout_policy(state, 16, limit=1, keep_tree=True).search_tree._whole
    assert whole is not None
    each = 4 * whole.roots[:, Root.edge_words.index] / whole.slots
    assert (each >= 4 * 4 * 16).all() and (each <= 4 * 4 * 48).all()


def test_nodes_take_the_room_of_their_legal_actions() -> None:
    """Each node's edges follow those of the node before, in whole vectors."""
    state = played(shared_env("othello"), 8, 6)
    whole = te.search.playout_policy(state, 32, keep_tree=True).search_tree._whole
    assert whole is not None
    counts = whole.nodes[:, :, NUM_EDGES]
    assert (counts[:, 0] == state.legal_action_mask.numpy().sum(1)).all() and len(np.unique(counts)) > 3
    assert (whole.roots[:, Root.edge_words.index] == (4 * whole_vectors(counts)).sum(1)).all()
    tried = whole.tried(slice(3, 4))
    root = tried.action[tried.slot == 0]
    assert (np.diff(root) > 0).all() and state.legal_action_mask.numpy()[3, root].all()


@dataclasses.dataclass(frozen=True)
class Crowded:
    """Players take numbers from 0 to 31 in turns, once each, and the last one wins; declares too few legal actions."""

    @property
    def spec(self) -> te.Spec:
        return te.Spec(2, 32, (1,), (te.Field("taken", kind="uint32"),), "float32", max_legal=16)

    def init(self, chance: te.Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: te.GameState) -> Any:
        return [~has_bit(s.taken, number) for number in range(32)]

    def step(self, s: te.GameState, action: Any, chance: te.Chance) -> te.Outcome:
        taken = s.taken | bit(action)
        return te.Outcome.win(
            s.replace(taken=taken, current_player=1 - s.current_player), s.current_player, popcount(taken) == 32
        )

    def observe(self, s: te.GameState, player: Any) -> Any:
        return [number(s.taken)]


@pytest.mark.slow
def test_more_legal_actions_than_declared_are_refused() -> None:
    env = te.Env(te.GameEntry("crowded", Crowded), Crowded(), "crowded")
    state = env.init(2)
    for search in (te.search.playout_policy, lambda *a: te.search.muzero_policy(a[0], network(env), a[1])):
        with pytest.raises(ValueError, match=r"max_legal in the Spec of .*crowded.* must be at least 32, got 16"):
            search(state, 8)
    for action in range(16):
        state = env.step(state, [action] * 2)
    assert te.search.playout_policy(state, 64).search_tree.visit_counts.sum(1).tolist() == [64, 64]


@pytest.mark.slow
@pytest.mark.parametrize("draw", [noise.gumbel_noise, pytest.param(noise.muzero_noise, marks=pytest.mark.slow)])
def test_noise_of_listed_actions(draw: Any) -> None:
    """An action has the same noise whether it is drawn for the legal actions alone or for all of them."""
    env = shared_env("nine_mens_morris")
    state = played(env, 3, 2)
    config = policies.search_config(env, GumbelMuZero)
    assert config.lists_actions(env.spec)
    mask = state.legal_action_mask.numpy()
    list_actions = runners.root_actions(env, config, state.buffers.layout, runners.Mode(True, False, 0))
    listed, columns = list_actions(state.buffers.words)
    width = config.width(env.spec)
    assert listed is not None and mask.sum(1).max() <= columns < width
    actions = listed.numpy()
    for row in range(3):
        assert actions[row][actions[row] >= 0].tolist() == np.flatnonzero(mask[row]).tolist()
    seed = runners.seed_array((3, 4), 3, "CPU")
    arguments = (0.3, 1.0)[-1 if draw is noise.gumbel_noise else 0 :]
    forms = (listed, columns), (listed, width), (None, env.num_actions)
    few, padded, every = (draw(state, seed, *form, *arguments).numpy() for form in forms)
    few = few.reshape(3, -1, width)
    padded = padded.reshape(3, -1, width)
    every = every.reshape(3, -1, env.num_actions)
    for row in range(3):
        count = mask[row].sum()
        assert (few[row, :, :count] == every[row][:, mask[row]]).all()
        assert (few[row, :, :count] == padded[row, :, :count]).all()


@pytest.mark.slow
def test_logits_are_read_where_they_are() -> None:
    """Contiguous logits are not copied; a slice of a wider array is. The results are the same."""
    env = shared_env("tic_tac_toe")
    state = played(env, 5, 1)
    weights = np.random.default_rng(0).normal(size=(18, 10)).astype(np.float32)

    def sliced(leaves: te.State) -> tuple[np.ndarray, np.ndarray]:
        output = te.to_numpy(env.observe(leaves)).reshape(leaves.batch, -1).astype(np.float32) @ weights
        return output[:, :9], np.tanh(output[:, 9])

    def contiguous(leaves: te.State) -> tuple[np.ndarray, np.ndarray]:
        logits, values = sliced(leaves)
        return np.ascontiguousarray(logits), values

    for search in (te.search.gumbel_muzero_policy, te.search.muzero_policy):
        first, second = (search(state, evaluate, 9).search_tree.summary() for evaluate in (sliced, contiguous))
        assert all((first[key] == second[key]).all() for key in first)
