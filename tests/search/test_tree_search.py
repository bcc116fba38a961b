"""Tree search: exact against a plain search, the same in any batch, right where the truth is known."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs._engine.kernels.base import MoveList
from tensor_envs.search import noise, policies, runners
from tests.games.shared import shared_env
from tests.search import reference
from tests.search.reference import Search, search_of

GAMES = ["tic_tac_toe", "connect_four", "shed", "othello"]


def played(env: te.Env, batch: int, plies: int) -> te.State:
    state = env.init(batch, seed=5)
    for _ in range(plies):
        state = env.step(state, te.agents.uniform(state))
    return state


def network(env: te.Env, seed: int = 1) -> Any:
    """Return a network of fixed random weights."""
    random = np.random.default_rng(seed)
    size = int(np.prod(env.observation_shape))
    first, second = (
        Tensor(random.normal(size=shape, scale=0.3).astype(np.float32)).realize()
        for shape in ((size, 32), (32, env.num_actions + 1))
    )

    def evaluate(state: te.State) -> tuple[Tensor, Tensor]:
        out = (env.observe(state).flatten(1).float() @ first).relu() @ second
        return out[:, :-1], out[:, -1].tanh()

    return evaluate


@functools.cache
def every_position() -> tuple[te.State, np.ndarray]:
    """Return all undecided positions of tic-tac-toe, and which of their actions keep the value."""
    boards: dict[tuple[int, int], None] = {}
    waiting = [(0, 0)]
    while waiting:
        own, other = waiting.pop()
        if (own, other) not in boards and own | other != 511 and not won(other):
            boards[own, other] = None
            waiting += [(other, own | 1 << c) for c in range(9) if not (own | other) >> c & 1]
    dicts = []
    for own, other in boards:
        mover = (own | other).bit_count() % 2
        mark = (1, -1)[mover]
        board = [mark * ((own >> c & 1) - (other >> c & 1)) for c in range(9)]
        dicts.append({"board": board, "current_player": mover})
    env = shared_env("tic_tac_toe")
    state = env.state_from_dicts(dicts)
    return state, te.solve(env).best_actions(state)


def won(board: int) -> bool:
    lines = (7, 56, 448, 73, 146, 292, 273, 84)
    return any(board & line == line for line in lines)


def check_reference(found: dict[str, np.ndarray], row: int, search: Search) -> None:
    """Compare a row of a summary with a plain search, bit for bit."""
    assert found["visit_counts"][row].tolist() == search.root.counts
    assert found["qvalues"][row].tolist() == [search.value(action) for action in range(search.actions)]
    proven = search.root.outcome(search.largest) if search.proves else None
    assert found["proven"][row] == (proven is not None)
    assert found["action_weights"][row].tolist() == search.weights()
    assert proven is None or found["value"][row] == proven


@pytest.mark.slow
def test_no_mistake_in_any_position_of_tic_tac_toe() -> None:
    state, best = every_position()
    assert state.batch == 4520
    found = te.search.playout_policy(state, num_simulations=2048)
    mistakes = np.flatnonzero(~best[np.arange(state.batch), found.action.numpy()])
    assert len(mistakes) == 0


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("name", GAMES)
def test_as_the_plain_search(name: str) -> None:
    """Compare counts and values with a search in plain Python, bit for bit; chance is sampled once."""
    env, simulations = shared_env(name), 12
    state, actions = env.init(3, seed=9), list[list[int]]()
    for _ in range(2):
        actions.append(te.agents.uniform(state).numpy().tolist())
        state = env.step(state, actions[-1])
    found = te.search.playout_policy(state, simulations, seed=4, chance="sampled").search_tree.summary()
    for row in range(3):
        check_reference(found, row, search_of(env, 9, row, [a[row] for a in actions], simulations, 4))


@pytest.mark.slow
def test_a_search_that_sees_what_is_hidden() -> None:
    """It answers a bet in Kuhn poker by the two cards, in each of the six deals; the fair search by its own card."""
    env = shared_env("kuhn_poker")
    state = env.step(env.init(64, seed=1), [1] * 64)
    cards = state.numpy()["cards"]
    assert len(np.unique(cards, axis=0)) == 6
    seeing = te.agents.playout_search(32, determinize=False)(state).numpy()
    assert (seeing == (cards[:, 1] > cards[:, 0])).all()
    fair = te.agents.playout_search(32)(state).numpy()
    assert (fair[cards[:, 1] == 2] == 1).all() and (fair[cards[:, 1] == 0] == 0).all() and (fair != seeing).any()
    tree = te.search.playout_policy(state, 4, keep_tree=True).search_tree
    with pytest.raises(ValueError, match="tree must come from a search of the same kind"):
        te.search.playout_policy(state, 4, tree=tree, determinize=False)


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("name", GAMES)
def test_replayed_simulations_find_the_same_without_chance(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    env = shared_env(name)
    state = played(env, 5, 1)
    if env.spec.chance:
        pytest.skip("chance goes another way in every simulation")
    once = te.search.playout_policy(state, 64, prove=False).search_tree.summary()
    config = policies._config
    monkeypatch.setattr(
        policies, "_config", lambda *a: dataclasses.replace(config(*a), replays=True, determinizes=False, packed=False)
    )
    again = te.search.playout_policy(state, 64, prove=False).search_tree.summary()
    for key, value in once.items():
        assert (value == again[key]).all(), key


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("name", GAMES)
def test_a_search_goes_on_from_what_is_known(name: str) -> None:
    check_resumed(shared_env(name))


def test_packed_trees_go_on_in_all_rows() -> None:
    """In packed trees a node has fewer edges than the game has actions, of which the history knows all."""
    check_resumed(shared_env("clobber", rows=3, columns=4), simulations=6)


def check_resumed(env: te.Env, simulations: int = 24) -> None:
    """Compare resumed trees with the plain search, bit for bit; the last action of row 0 is untried."""
    state, more = env.init(3, seed=9), list[list[int]]()
    out = te.search.playout_policy(state, simulations, seed=4, keep_tree=True)
    for k in range(2):
        counts = out.search_tree.visit_counts.numpy()
        rare = np.where(state.legal_action_mask.numpy(), counts, 10**6).argmin(1)
        more.append(np.where([k == 1, False, True], rare, counts.argmax(1)).tolist())
        state = env.step(state, more[-1])
        known = te.search.subtree(out.search_tree, more[-1])
        assert (known.visit_counts.sum(1) < simulations * (k + 1)).numpy().all()
        out = te.search.playout_policy(state, simulations, seed=4, tree=known, keep_tree=True)
        found, before = out.search_tree.summary(), known.summary()
        added = found["visit_counts"].sum(1) - before["visit_counts"].sum(1)
        assert added.tolist() == np.where(state.terminated.numpy(), 0, simulations).tolist()
        for row in range(3):
            check_reference(found, row, search_of(env, 9, row, [], simulations, 4, [a[row] for a in more]))


@pytest.mark.slow
def test_simulations_in_two_parts_are_the_same_search() -> None:
    """Compare one search with two halves, in several chunks, and its host copy with its summary."""
    env = shared_env("tic_tac_toe")
    state, evaluate = played(env, 300, 1), network(env)
    options: dict[str, Any] = {"dirichlet_fraction": 0.0, "temperature": 0.0}
    first = te.search.muzero_policy(state, evaluate, 7, keep_tree=True, **options)
    both = te.search.muzero_policy(state, evaluate, 9, tree=first.search_tree, keep_tree=True, **options)
    once = te.search.muzero_policy(state, evaluate, 16, **options)
    assert (both.action == once.action).numpy().all()
    wanted = once.search_tree.summary()
    assert all((both.search_tree.summary()[key] == wanted[key]).all() for key in wanted)
    assert both.search_tree._whole is not None
    whole = both.search_tree._whole.numbers(9).view(np.float32)
    assert (whole[:, :9].view(np.int32) == wanted["visit_counts"]).all()
    assert (whole[:, 18:27] == wanted["qvalues"]).all() and (whole[:, 27] == wanted["value"]).all()


@pytest.mark.slow
def test_a_subtree_of_several_devices_and_of_chance() -> None:
    env, dice = shared_env("tic_tac_toe"), shared_env("2048")
    found = []
    for device in ("CPU", ("CPU:0", "CPU:1")):
        state = env.init(130, device=device)
        out = te.search.playout_policy(state, 20, keep_tree=True)
        tree = te.search.subtree(out.search_tree, out.action)
        state = env.step(state, out.action)
        found.append(te.search.playout_policy(state, 20, tree=tree).search_tree.summary())
    assert all((found[0][key] == found[1][key]).all() for key in found[0])
    state = dice.init(2)
    out = te.search.playout_policy(state, 20, limit=5, keep_tree=True)
    tree = te.search.subtree(out.search_tree, out.action)
    after = te.search.playout_policy(dice.step(state, out.action), 20, limit=5, tree=tree)
    counts = (after.search_tree.visit_counts.sum(1) - tree.visit_counts.sum(1)).tolist()
    assert counts == [20, 20] and (tree.visit_counts.sum(1) > 0).numpy().all()
    tree = te.search.playout_policy(state, 20, limit=5, chance="sampled", keep_tree=True).search_tree
    with pytest.raises(ValueError, match="chance='sampled'"):
        te.search.playout_policy(state, 20, limit=5, chance="sampled", tree=tree)
    state = env.init(2)
    gumbel = te.search.gumbel_muzero_policy(state, network(env), 4, keep_tree=True).search_tree
    assert te.search.subtree(gumbel, [0, 1]).visit_counts.shape == (2, 9)
    with pytest.raises(ValueError, match="same kind, got one by 'gumbel'"):
        te.search.playout_policy(state, 4, tree=gumbel)


def test_wrong_subtrees_are_refused() -> None:
    env = shared_env("tic_tac_toe")
    state = env.init(2)
    bare = te.search.playout_policy(state, 4).search_tree
    tree = te.search.playout_policy(state, 4, keep_tree=True).search_tree
    for given, action, message in [
        (bare, [0, 0], "tree must be .* keep_tree=True"),
        (tree, [0, 9], r"action must be in 0..8"),
        (tree, [0], "action must .*2"),
        (tree, [0.5, 1], "action must be"),
        (None, [0, 0], "tree must be"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            te.search.subtree(given, action)  # type: ignore[arg-type]
    wrong: list[tuple[te.State, Any, str]] = [
        (state, bare, "keep_tree=True"),
        (env.init(3), tree, "tree must be of the state's environment, batch and device"),
        (shared_env("shed").init(2), tree, "environment"),
        (env.step(state, [0, 0]), tree, "tree must be of the state's positions, got other ones in 2 games"),
        (state, 3, "tree must be"),
    ]
    for root, other, message in wrong:
        with pytest.raises((ValueError, TypeError), match=message):
            te.search.playout_policy(root, 4, tree=other)
    with pytest.raises(TypeError, match="keep_tree must be"):
        te.search.playout_policy(state, 4, keep_tree=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="prove must be"):
        te.search.playout_policy(state, 4, prove=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="determinize must be"):
        te.search.playout_policy(state, 4, determinize=1)  # type: ignore[arg-type]


def test_a_tree_is_a_picture() -> None:
    env = shared_env("tic_tac_toe")
    state = env.init(2)
    tree = te.search.playout_policy(state, 64, keep_tree=True).search_tree
    picture = ElementTree.fromstring(tree.to_svg(1, nodes=20))
    kinds = [shape.tag.rpartition("}")[2] for shape in picture]
    assert kinds.count("circle") == 21 and kinds.count("polyline") == 20
    told = [shape.text for shape in picture]
    counts = tree.summary()["visit_counts"][1]
    assert "64" in told and {str(n) for n in counts if n > 1} <= set(told) and env.action_to_string(4) in told
    alone = te.search.playout_policy(state, 64).search_tree._repr_svg_()
    assert alone.count("<circle") == 10  # only the root's actions are known
    for i, nodes in ((2, 1), (0, 0)):
        with pytest.raises(ValueError, match="must be in"):
            tree.to_svg(i, nodes)


@pytest.mark.slow
def test_a_picture_names_moves_of_both_players() -> None:
    """In chess names depend on the player to move, in subtrees too."""
    env = shared_env("chess")
    state = env.state_from_dicts([{"fen": "7k/P7/8/8/8/8/7p/K7 w - - 0 1"}])
    tree = te.search.playout_policy(state, 32, keep_tree=True).search_tree
    picture = tree.to_svg()
    white, played = {*env.legal_actions(state).values()}, env.string_to_action("a8=Q", state)
    after = env.step(state, [played])
    assert {"a7a8q", "a7a8n", "a1b1"} <= white and all(f">{name}<" in picture for name in white)
    below = te.search.subtree(tree, [played])
    black = [name for action, name in env.legal_actions(after).items() if below.visit_counts.numpy()[0, action]]
    assert black and all(f">{name}<" in below.to_svg() for name in black)
    assert any(f">{name}<" in picture for name in black)


def outcomes(state: te.State, evaluate: Any) -> list[dict[str, np.ndarray]]:
    found = [
        te.search.playout_policy(state, 20, seed=3),
        te.search.gumbel_muzero_policy(state, evaluate, 9, seed=3),
        te.search.muzero_policy(state, evaluate, 9, seed=3),
    ]
    return [x.search_tree.summary() | {"action": x.action.numpy()} for x in found]


@pytest.mark.parametrize("name", ["tic_tac_toe", "kuhn_poker"])  # of the second, simulations are replayed
def test_one_game_is_searched_as_it_is_among_others(name: str) -> None:
    env = shared_env(name)
    whole = played(env, 8, 1)
    many = te.search.playout_policy(whole, 64, seed=3).search_tree.summary()
    alone = te.search.playout_policy(env.take(whole, [3]), 64, seed=3).search_tree.summary()
    assert (many["visit_counts"][3] == alone["visit_counts"][0]).all() and alone["visit_counts"].sum() == 64
    assert (many["qvalues"][3] == alone["qvalues"][0]).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tic_tac_toe", "three_will"])
def test_a_row_is_searched_alike_in_any_batch(name: str) -> None:
    env = shared_env(name)
    whole, evaluate = played(env, 70, 2), network(env)
    rows = [69, 3, 64]
    for all_rows, some in zip(outcomes(whole, evaluate), outcomes(env.take(whole, rows), evaluate), strict=True):
        assert (all_rows["action"][rows] == some["action"]).all()
        assert (all_rows["visit_counts"][rows] == some["visit_counts"]).all()


@pytest.mark.slow
def test_chunks_and_threads_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    env = shared_env("tic_tac_toe")
    state, evaluate = played(env, 300, 1), network(env)
    once = outcomes(state, evaluate)
    monkeypatch.setattr(runners, "chunk_of", lambda engine, config, size, whole: whole)
    runners.playout_runner.cache_clear()  # which remembers the parts of before
    before = te.num_threads()
    try:
        for threads in (1, 3):
            te.set_num_threads(threads)
            for a, b in zip(once, outcomes(state, evaluate), strict=True):
                assert all((a[key] == b[key]).all() for key in a)
    finally:
        te.set_num_threads(before)
        runners.playout_runner.cache_clear()


@pytest.mark.slow
def test_several_devices_search_alike() -> None:
    env = shared_env("tic_tac_toe")

    def evaluate(state: te.State) -> tuple[Tensor, Tensor]:
        seen = env.observe(state).flatten(2).float()
        return seen[:, 0] - seen[:, 1], seen[:, 0, 4] - seen[:, 1, 4]

    both = [outcomes(env.init(130, device=device), evaluate) for device in ("CPU", ("CPU:0", "CPU:1"))]
    for one, two in zip(*both, strict=True):
        assert all((one[key] == two[key]).all() for key in one)


@pytest.mark.slow
def test_finished_games_have_no_action() -> None:
    env = shared_env("tic_tac_toe")
    state = env.init(2)
    for actions in ([0, 0], [3, 3], [1, 1], [4, 5], [2, 8]):
        state = env.step(state, actions)
    assert state.terminated.tolist() == [True, False]
    for found in outcomes(state, network(env)):
        assert found["action"][0] == found["visit_counts"][0].sum() == found["value"][0] == 0
        assert not found["action_weights"][0].any() and found["action_weights"][1].sum() == pytest.approx(1)
        # 20 simulations by playouts, 9 with a network; a proven root ends its search
        assert not found["qvalues"][0].any() and (found["visit_counts"][1].sum() in (20, 9) or found["proven"][1])


def test_seeds_and_plies_have_their_own_noise() -> None:
    env = shared_env("tic_tac_toe")
    state = env.init(64)
    counts = [te.search.playout_policy(state, 64, seed=s).search_tree.visit_counts.numpy() for s in (0, 0, 1)]
    assert (counts[0] == counts[1]).all() and (counts[0] != counts[2]).any()
    assert len({tuple(row) for row in counts[0].tolist()}) > 32  # rows, too


@pytest.mark.slow
def test_temperatures_draw_tried_actions() -> None:
    """The highest draws all tried actions alike, and the lowest the most visited one."""
    env = shared_env("tic_tac_toe")
    state, evaluate = env.init(512), network(env)
    for temperature, plays_all in ((1e6, True), (1e-40, False)):
        output = te.search.muzero_policy(state, evaluate, 8, 0.0, temperature=temperature, seed=2)
        visits = output.search_tree.visit_counts.numpy()
        played = np.bincount(output.action.numpy(), minlength=9)
        assert (visits == visits[0]).all(), "there is no noise"
        assert ((played > 0) == (visits[0] > 0 if plays_all else visits[0] == visits[0].max())).all()


@pytest.mark.slow
def test_dirichlet_noise_is_of_its_distribution() -> None:
    """Compare means and spreads of sorted shares with NumPy's, for alpha below and above 1."""
    env = shared_env("tic_tac_toe")
    state = played(env, 20_000, 3)
    words = Tensor(np.tile(np.array([3, 0], np.uint32), 20_000)).realize()
    for alpha in (0.05, 0.3, 1.0, 2.5):
        found = noise.muzero_noise(state, words, None, 9, alpha, 1.0).numpy().reshape(-1, 2, 9)
        shares, gumbel = np.sort(found[:, 0], axis=1), found[:, 1]
        wanted = np.sort(np.random.default_rng(0).dirichlet([alpha] * 6, 20_000), axis=1)
        assert not shares[:, :3].any() and np.allclose(shares.sum(1), 1, atol=1e-5)
        assert np.allclose(shares[:, 3:].mean(0), wanted.mean(0), atol=0.006)
        assert np.allclose(shares[:, 3:].std(0), wanted.std(0), atol=0.006)
        assert abs(gumbel.mean() - 0.5772) < 0.01 and abs(gumbel.std() - np.pi / 6**0.5) < 0.01


def test_wrong_evaluations_are_refused() -> None:
    env = shared_env("tic_tac_toe")
    state = env.init(64)  # as in other tests, since the noise of a search is compiled for every size

    def changed(change: Any) -> Any:
        return lambda s: change(s.legal_action_mask.float(), s.ply.float())

    for change, message in [
        (lambda x, v: x, "two arrays"),
        (lambda x, v: (x[:, :3], v), r"logits \[B, A\] = \(64, 9\), got \(64, 3\)"),
        (lambda x, v: (x, v.reshape(64, 1)), r"values of shape \(64, 2\) or \(64,\), got \(64, 1\)"),
        (lambda x, v: (x.cast("int32"), v), "logits of a float dtype"),
        (lambda x, v: (x + float("inf"), v), "finite"),
    ]:
        with pytest.raises((ValueError, TypeError), match=f"evaluate must .*{message}"):
            te.search.gumbel_muzero_policy(state, changed(change), 3)
    with pytest.raises(ValueError, match=r"evaluate must .*finite"):  # without noise, which takes a second to compile
        te.search.muzero_policy(state, changed(lambda x, v: (x, v * float("nan"))), 3, dirichlet_fraction=0.0)


@pytest.mark.slow
def test_values_for_every_player_are_those_of_the_mover() -> None:
    env = shared_env("tic_tac_toe")
    state, one = played(env, 8, 2), network(env)

    def each(s: te.State) -> tuple[Tensor, Tensor]:
        logits, value = one(s)
        first = (s.current_player == 0).where(value, -value)
        return logits, Tensor.stack(first, -first, dim=1)

    a, b = (te.search.gumbel_muzero_policy(state, f, 16).search_tree.summary() for f in (one, each))
    assert all(np.allclose(a[key], b[key], atol=1e-6) for key in a)
    assert (a["visit_counts"] == b["visit_counts"]).all()


def test_inside_a_jit_a_search_is_refused() -> None:
    env = shared_env("tic_tac_toe")
    search = te.jit(lambda s: te.search.playout_policy(s, 4).action)
    state = env.init(2)
    with pytest.raises(RuntimeError, match="jit cannot capture"):
        search(state)


def test_what_is_hidden_makes_no_difference() -> None:
    """Search positions with equal observations alike, though their hidden cards differ."""
    kuhn, stars = shared_env("kuhn_poker"), shared_env("tensor_stars")
    placed = stars.init(1)
    for action in (0, 1, 2):
        placed = stars.step(placed, [action])
    other = stars.state_to_dict(placed)
    other["commit"] = [[5, 6, 2], other["commit"][1]]
    other["hand"] = [[1, 1, 0, 1, 1, 0, 0, 1, 1, 1], other["hand"][1]]
    pairs = [
        (kuhn, [{"cards": [1, other], "history": []} for other in (0, 2)], 400),
        (stars, [stars.state_to_dict(placed), other], 60),
    ]
    for env, games, simulations in pairs:
        alike = [env.state_from_dicts([game]) for game in games]
        assert (env.observe(alike[0]).numpy() == env.observe(alike[1]).numpy()).all()
        found = [te.search.playout_policy(state, simulations).search_tree.summary() for state in alike]
        assert (found[0]["visit_counts"] == found[1]["visit_counts"]).all()
        assert (found[0]["qvalues"] == found[1]["qvalues"]).all() and found[0]["visit_counts"].sum() == simulations


@pytest.mark.slow
def test_chance_is_drawn_anew_in_every_simulation() -> None:
    """Compare open chance, which draws several first spawns of 2048, with sampled chance, which draws one."""
    env = shared_env("2048")
    state = env.init(16)
    found = {
        chance: te.search.playout_policy(state, 64, chance=chance, limit=20).search_tree.summary()
        for chance in ("open", "sampled")
    }
    assert (found["open"]["visit_counts"] != found["sampled"]["visit_counts"]).any()
    for summary in found.values():
        assert (summary["visit_counts"].sum(1) == 64).all() and (summary["value"] > 0).all()
        tried = (summary["visit_counts"] > 0) == state.legal_action_mask.numpy()
        assert tried.all()  # returns are large there, and yet every action is tried


def test_moves_of_long_playouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the list of a playout's moves is full, later ones are left out, however long the block's other games are."""
    monkeypatch.setattr(MoveList, "LENGTH", 4)
    monkeypatch.setattr(reference, "MOVES", 4)
    env = te.make("connect_four", rows=5)  # other searches of an equal environment have longer lists
    found = te.search.playout_policy(env.init(2, 9), 60, seed=4).search_tree.summary()
    for row in range(2):
        check_reference(found, row, search_of(env, 9, row, [], 60, 4))
    few, many = (te.search.playout_policy(env.init(batch, 9), 200, seed=4).search_tree for batch in (2, 64))
    assert (few.visit_counts.numpy() == many.visit_counts.numpy()[:2]).all()


def test_more_simulations_are_stronger_where_few_leave_actions_untried() -> None:
    """In gomoku 400 simulations beat 100, which are fewer than the actions, since all have a history."""
    players = te.agents.playout_search(400, seed=1), te.agents.playout_search(100, seed=2)
    result = te.evaluate(shared_env("gomoku"), players, 32, opening=2, seed=3)
    assert result.scores[0] - result.interval()[0] > 0.5
