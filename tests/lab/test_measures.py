"""Measures of games with known answers, and games by the two ways in which they are played."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.lab import measures
from tensor_envs.lab.play import Match, PlayedGames, play, play_uniform
from tests.games import dice_race
from tests.games.shared import shared_env
from tests.lab.games import coin_race, nim
from tests.search.reference import search_of

TTT = shared_env("tic_tac_toe")
GAMES = {
    "tic_tac_toe": TTT,
    "dice_race": dice_race.shared(),
    "three_will": shared_env("three_will", to_win=1, max_turns=70),
    "shed": shared_env("shed", cards=5),
}
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


@cache
def exact(board: str = "." * 9, ply: int = 0) -> tuple[float, float, float, float]:
    """Return the score of X, and means of draws, plies and legal actions summed, in uniform play from a 3x3 board."""
    if any(board[a] == board[b] == board[c] != "." for a, b, c in LINES):
        return float(ply % 2 == 1), 0.0, 0.0, 0.0
    empty = [cell for cell in range(9) if board[cell] == "."]
    if not empty:
        return 0.5, 1.0, 0.0, 0.0
    after = [exact(board[:cell] + "XO"[ply % 2] + board[cell + 1 :], ply + 1) for cell in empty]
    score, draws, plies, legal = np.mean(after, 0).tolist()
    return score, draws, plies + 1, legal + len(empty)


def numbers(env: te.Env, *players: str | int, games: int = 256, **options: Any) -> dict[tuple[str, str], Any]:
    return te.lab.measure(env, players, games, **options).base.numbers


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("name", GAMES)
def test_the_kernel_plays_and_counts_as_the_loop_does(name: str) -> None:
    env = GAMES[name]
    kernel, (loop,) = (
        play_uniform(env, 70, 3, 5),
        play(env, [Match((te.agents.uniform,) * env.num_players, 70, 5)], 3),
    )
    counts = ("legal_counts", "action_counts", "action_plies", "width_counts", "events")
    for field in ("returns", "first_players", "plies", "turns", "truncated", *counts):
        np.testing.assert_array_equal(getattr(kernel, field), getattr(loop, field), err_msg=field)
    assert (kernel.width_counts.sum(1) == kernel.plies).all() and (
        kernel.action_counts.sum((1, 2)) == kernel.plies
    ).all()
    assert (kernel.action_plies.sum(1) == kernel.plies * (kernel.plies - 1) // 2).all() and kernel.action_counts.any(
        (0, 2)
    ).all()
    assert (kernel.plies > 0).all() and len(kernel + loop) == 140
    assert kernel.events.shape == (70, len(env.spec.events)) and (name != "three_will" or kernel.events.any(0).all())


@pytest.mark.slow
def test_games_of_a_pool_are_played_as_in_matches_of_their_own() -> None:
    """Games are each at a ply of their own, policies are called with full blocks of games of all matches."""
    env, calls, ticks = GAMES["dice_race"], list[tuple[int, int]](), list[tuple[float, float]]()

    def search(simulations: int, seed: int) -> te.agents.Policy:
        policy = te.agents.playout_search(simulations, seed)

        def counted(state: te.State) -> Any:
            plies = state.ply.numpy()[state.legal_action_mask.numpy().any(1)]
            calls.append((state.batch, len({*plies.tolist()})))
            return policy(state)

        return counted

    policies = (search(4, 1), search(2, 2), te.agents.uniform)
    orders = [policies, policies[1:] + policies[:1], policies[:1] * 3]
    matches = [Match(order, 70, work=work) for work, order in enumerate(orders, 1)]
    pool = play(env, matches, 3, lambda *work: ticks.append(work), plies=20)
    sizes, plies = zip(*calls, strict=True)
    assert {*sizes} <= {64, 128} and max(plies) > 1
    decisions = sum(played.plies.sum() for played in pool)
    done, left = zip(*ticks, strict=True)
    assert sum(done) == sum(work * played.plies.sum() for work, played in enumerate(pool, 1))
    assert left[0] + done[0] == 70 * 20 * (1 + 2 + 3) and left[-1] == 0
    assert sum(sizes) < 2 * decisions  # a batch for each match, ply and player takes five times as many games
    for order, played in zip(orders, pool, strict=True):
        match = te.evaluate(env, order, 70, "fixed", seed=3)
        np.testing.assert_array_equal(played.returns, match.returns)
        np.testing.assert_array_equal(played.plies, match.plies)


@pytest.mark.slow
def test_values_are_those_of_playouts_from_the_games_own_positions() -> None:
    policies = [te.agents.playout_search(16, seed) for seed in range(2)]
    (played,), state = play(TTT, [Match((policies[0], policies[1]), 64, valued=True)], 3), TTT.init(64, 3)
    assert played.values.shape == (64, 2, 7, 2) and not (played.values[:, 0] == played.values[:, 1]).all()
    moment = 3  # in the middle
    for ply in range(9):
        here = played.plies * (moment + 1) // 8 == ply
        if here.any():
            expected = te.playout(TTT.take(state, np.flatnonzero(here)), 1024, seed=9).numpy()
            assert np.abs(played.values[here].mean(1)[:, moment] - expected).max() < 0.55  # 64 playouts, 4 errors
        mover = state.current_player.numpy()
        actions = [policy(state).numpy() for policy in policies]
        state = TTT.step(state, np.where(mover == 0, *actions))


@pytest.mark.slow
def test_tic_tac_toe_is_as_in_plain_python() -> None:
    score, draws, plies, legal = exact()
    found = numbers(TTT, "uniform", "perfect")
    expected = {"score of player 0": score, "draws": draws, "plies": plies, "legal actions": legal / plies}
    for what, value in expected.items():
        number = found["uniform", what]
        assert number.low < value < number.high and 0 < number.half_width < 0.05, what
    assert found["uniform", "turns"] == found["uniform", "plies"]
    assert found["uniform", "game tree, log10"].value == math.log10(255_168)
    assert found["uniform", "positions, log10"].value == math.log10(5_478)
    assert found["perfect", "score of player 0"].value == 0.5 and found["perfect", "score of player 0"].half_width == 0


@pytest.mark.slow
def test_knuths_estimate_meets_the_exact_size_of_the_tree() -> None:
    """In a game that is counted exactly the estimate is not reported, so the exact count is forbidden here."""
    env = shared_env("connect_four", rows=3, columns=4, k=4)
    played = play_uniform(env, 4096, 0)
    (_, exact_size), *_ = measures.tree_size(env, played)
    many = PlayedGames(**{**vars(played), "truncated": np.ones(4096, bool)})
    ((_, estimated),) = measures.tree_size(env, many)
    assert exact_size.half_width == 0 < estimated.half_width < 0.05
    assert estimated.low < exact_size.value < estimated.high


def test_nim() -> None:
    """The first player loses where the binary sum of the heaps is 0, and 1, 2, 3 have 182 games in 50 positions."""
    lost, won = numbers(nim(1, 2, 3), "uniform", "perfect"), numbers(nim(1, 2, 4), "perfect")
    assert lost["perfect", "score of player 0"].value == 0 and won["perfect", "score of player 0"].value == 1

    def games(*heaps: int) -> int:
        after = [games(*heaps[:k], n, *heaps[k + 1 :]) for k, heap in enumerate(heaps) for n in range(heap)]
        return sum(after) if after else 1

    assert lost["uniform", "game tree, log10"].value == math.log10(games(1, 2, 3))


@pytest.mark.slow
def test_choices_and_coverage_by_hand() -> None:
    """Nim from a heap of 2: a game takes 2 at once, or 1 and then 1, which is forced; it uses one of two actions."""
    found = numbers(nim(2), "uniform")
    expected = {"plies": 1.5, "legal actions": 5 / 3, "forced moves": 1 / 3, "score of player 0": 0.5, "draws": 0}
    for what, value in expected.items():
        number = found["uniform", what]
        assert number.low <= value <= number.high and number.half_width < 0.04, what
    assert found["uniform", "coverage"].value == 0.5 and found["uniform", "truncated"].value == 0
    assert found["uniform", "game tree, log10"].value == math.log10(2)


@pytest.mark.slow
def test_shed_and_misere() -> None:
    """The first player loses Shed of 5 cards, and scores about .21 by search in misere tic-tac-toe, which is drawn."""
    assert numbers(GAMES["shed"], "perfect")["perfect", "score of player 0"].value == 0
    misere = numbers(shared_env("hyper_tic_tac_toe", shape=(3, 3), k=3, misere=True), "uniform", 16, "perfect")
    assert misere["search 16", "score of player 0"].low < 0.21 < misere["search 16", "score of player 0"].high
    assert misere["perfect", "score of player 0"].value == 0.5
    uniform = misere["uniform", "score of player 0"]
    assert uniform.low < 1 - exact()[0] < uniform.high  # the same games with opposite rewards


@pytest.mark.slow
def test_luck_is_all_in_a_race_of_coins_and_none_without_chance() -> None:
    race = numbers(coin_race(), "uniform", 4, games=64)
    assert race["search 4 against uniform", "luck"].value == pytest.approx(1)
    assert race["search 4 against uniform", "skill"].value == pytest.approx(0, abs=1e-9)
    assert race["search 4 against uniform", "score of the stronger"].value == 0.5
    board = numbers(TTT, "uniform", 16, games=128)
    luck, skill = (board["search 16 against uniform", what] for what in ("luck", "skill"))
    assert abs(luck.value) < 0.1 and luck.half_width < 0.1 and skill.low > 0.4


@pytest.mark.slow
def test_luck_and_skill_of_three_players() -> None:
    """Every seating of the stronger player is played on common deals."""
    found = te.lab.measure(dice_race.shared(), ["uniform", 4], 32).base
    assert found.games["search 4 against uniform"] == 3 * 32
    assert 0 < found.numbers["search 4 against uniform", "luck"].value < 1
    assert {f"score of player {p}" for p in range(3)} <= {what for who, what in found.numbers if who == "uniform"}


@pytest.mark.slow
def test_replicas_of_a_deal_have_its_chance_and_other_draws_of_the_policies() -> None:
    search, uniform = te.agents.playout_search(4, 1), te.agents.uniform
    race = [Match((search, uniform), 32, 7, replica) for replica in range(2)]
    first, second = play(coin_race(), race, 3)
    np.testing.assert_array_equal(first.returns, second.returns)
    for policy in (search, uniform):
        matches = [Match((policy,) * 3, 32, 7, replica) for replica in (0, 1, 0)]
        one, other, again = play(GAMES["dice_race"], matches, 3)
        assert (one.action_counts == again.action_counts).all() and (one.action_counts != other.action_counts).any(
            (1, 2)
        ).sum() > 16


@pytest.mark.parametrize(("deals", "lucky", "skilled"), [(64, 0.6, 0.3), (32, 0.2, 0.7)])
def test_luck_and_skill_of_results_that_are_drawn(deals: int, lucky: float, skilled: float) -> None:
    """Luck and skill are the squares of the shares of games that deals and skill decide, in nine of ten intervals."""
    random, held = np.random.default_rng(0), dict.fromkeys(("luck", "skill"), 0)
    expected = {"luck": lucky**2, "skill": skilled**2}
    for _ in range(200):
        how, coins = random.random((2, 2, deals)), random.integers(2, size=(2, 2, deals))
        seat, deal = np.arange(2)[:, None, None], random.integers(2, size=deals)
        winner = np.where(how < lucky, deal, np.where(how < lucky + skilled, seat, coins))
        found = dict(measures.contest(np.eye(2)[winner]))
        for what, value in expected.items():
            held[what] += found[what].low < value < found[what].high
    assert all(170 <= count <= 199 for count in held.values()), held


def test_elo_per_doubling() -> None:
    """A score of 10/11 over two doublings is 200 Elo per doubling."""
    points = np.zeros((2, 1, 110, 2))
    points[0, 0, :100, 0] = points[1, 0, :100, 1] = 1
    points[0, 0, 100:, 1] = points[1, 0, 100:, 0] = 1
    found = dict(measures.contest(points, 2.0))
    assert found["Elo per doubling"].value == pytest.approx(200) and found["Elo per doubling"].low < 190
    assert "Elo per doubling" not in dict(measures.contest(points))


def test_winners_lead_and_drama() -> None:
    """The winner of every second game was far behind in one of seven positions, by both values of it."""
    values = np.tile([0.5, -0.5], (64, 2, 7, 1))
    values[::2, :, 3] = [-0.8, 0.8]
    none = np.zeros((64, 1))
    returns, ones = np.tile([1.0, -1.0], (64, 1)), np.ones(64, int)
    counts = none, none[:, None], none, none, none
    found = dict(measures.tension(PlayedGames(returns, ones, ones, ones, ones > 1, *counts, values, none[:, None])))
    assert found["winner's lead at 0.25"].value == pytest.approx(0.5)
    assert found["winner's lead at 0.5"].value == pytest.approx((0.5 - 0.8) / 2)
    assert found["drama"].value == pytest.approx(0.8 / 7 / 2)


@pytest.mark.slow
def test_use_of_actions() -> None:
    """Nim from 1, 2: shares by hand over all games of the sample, and actions that no rule ever allows."""
    env, played = nim(1, 2), play_uniform(nim(1, 2), 64, 0)
    uses, unused = measures.action_uses(env, played), measures.unused(env, played.legal_counts, played.action_counts)
    assert list(uses) == ["0", "1", "2", "3"] and uses["1"].chosen is None and unused["never legal"] == ["1"]
    assert uses["3"].legal.value == pytest.approx(played.legal_counts[:, 3].sum() / played.plies.sum(), abs=1e-3)
    chosen = uses["3"].chosen
    assert chosen is not None
    assert chosen.value == pytest.approx(
        played.action_counts[:, :, 3].sum() / played.legal_counts[:, 3].sum(), abs=1e-3
    )
    names = ["(0,0)", "CELL(0,-3)", "3a", "examine 2", "PASS", "CODE(SUB)"]
    assert [measures.kind(name) for name in names] == ["#", "CELL", "#a", "examine #", "PASS", "CODE"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tic_tac_toe", "liars_dice"])
def test_playouts_of_a_search_count_as_in_plain_python(name: str) -> None:
    """A search from the quarters of each game, again in plain Python: legal and taken actions of all playouts."""
    env, simulations, policy = shared_env(name), 6, te.agents.playout_search(4)
    (played,) = play(env, [Match((policy,) * 2, 3, valued=True, counted=simulations)], 7)
    state, actions = env.init(3, 7), list[list[int]]()
    while state.legal_action_mask.any().item():
        actions.append(policy(state).numpy().tolist())
        state = env.step(state, actions[-1])
    for row, plies in enumerate(played.plies):
        legal, taken = np.zeros(env.num_actions, int), np.zeros((2, env.num_actions), int)
        for quarter in (1, 2, 3):
            before = [ply[row] for ply in actions[: plies * quarter // 4]]
            search = search_of(env, 7, row, before, simulations, 7, chance="open")
            legal, taken = legal + search.legal, taken + search.taken
        np.testing.assert_array_equal(played.searched[row], [legal, *taken])
    uses = measures.searched_uses(env, played)
    assert [use.moment for use in uses.values()] == [None] * len(uses)
    taken_share = sum(use.taken.value for use in uses.values())
    assert taken_share == pytest.approx(1, abs=0.02) and played.searched.any()


@pytest.mark.slow
def test_a_search_whose_playouts_have_no_decision_has_no_use_of_actions() -> None:
    """Nim of a single object ends with the first action of a search."""
    (played,) = play(nim(1), [Match((te.agents.uniform,) * 2, 32, valued=True, counted=4)], 0)
    assert not played.searched.any() and measures.searched_uses(nim(1), played) == {}


@pytest.mark.slow
def test_who_takes_actions_and_when() -> None:
    """Nim from 3: one game in three is 3, one 2 1, one in six 1 2, one in six 1 1 1."""
    uses = measures.action_uses(nim(3), play_uniform(nim(3), 1024, 0))
    # taking 2 is the first of two plies in two of three cases; taking 1 is at 3/4, or 1/4, or 1/6, 1/2, 5/6
    expected = {"0": (1 / 2, 13 / 24), "1": (2 / 3, 5 / 12), "2": (1, 1 / 2)}
    for action, (share, moment) in expected.items():
        first, second = uses[action].players
        when = uses[action].moment
        assert when is not None
        assert first.low <= share <= first.high and first.half_width < 0.06, action
        assert when.low <= moment <= when.high and when.half_width < 0.04, action
        assert first.value + second.value == pytest.approx(1)
    assert uses["2"].players[0].value == 1 and uses["2"].moment is not None
    played = play_uniform(nim(3), 64, 0)
    once = [played.action_counts[:, :, 2].sum(1).argmax(), played.action_counts[:, :, 2].sum(1).argmin()]
    few = measures.action_uses(nim(3), PlayedGames(**{field: values[once] for field, values in vars(played).items()}))
    assert few["2"].players == () and few["2"].moment is None, "a single game is none for the jackknife"


@pytest.mark.slow
def test_events_of_three_will_agree_with_actions() -> None:
    """Every challenge is an examine action, and follows a declared win; without loans nothing is lent."""
    env = GAMES["three_will"]
    for played in (play_uniform(env, 256, 0), *play(env, [Match((te.agents.playout_search(2, 0),) * 2, 64)], 0)):
        count = dict(zip(env.spec.events, played.events.T, strict=True))
        examined = [name.startswith("examine") for name in env.action_names]
        np.testing.assert_array_equal(count["challenge"], played.action_counts[:, :, examined].sum((1, 2)))
        assert (count["swap"] <= count["challenge"]).all() and (count["challenge"] <= count["declared win"]).all()
        free = played.action_counts[:, :, list(env.action_names).index("free card")].sum(1)
        assert (free <= count["loan"]).all() and count["loan"].any(), (
            "loans are the only source of Free cards (F19, G10)"
        )
    assert dict(measures.events(env, played))["loan, per game"].value == pytest.approx(count["loan"].mean())
    without = shared_env("three_will", to_win=1, max_turns=70, loan=False)
    assert not play_uniform(without, 64, 0).events[:, 0].any()


@pytest.mark.slow
def test_events_of_three_will_are_those_of_a_plain_engine() -> None:
    """RULES.md has means of 2,000 random games by a plain engine; the bounds are four standard errors of both."""
    env = shared_env("three_will")
    found = dict(measures.events(env, play_uniform(env, 4096, 1)))
    known = {
        "loan": 29.3,
        "stack": 6.18,
        "leap": 2.15,
        "failed attempt": 31.4,
        "challenge": 0.67 + 0.085,
        "swap": 0.085,
    }
    for event, value in known.items():
        number = found[f"{event}, per game"]
        assert abs(number.value - value) < 4 * number.error * math.sqrt(1 + 4096 / 2000), (event, number)


@pytest.mark.slow
def test_intervals_of_a_game_hold_the_exact_values() -> None:
    """In 200 runs on tic-tac-toe 95 % of the intervals hold the exact value; 4 standard errors are 6 %."""
    score, draws, plies, legal = exact()
    expected = {"score of player 0": score, "draws": draws, "plies": plies, "legal actions": legal / plies}
    held = dict.fromkeys(expected, 0)
    for seed in range(200):
        found = {**dict(measures.outcomes(run := play_uniform(TTT, 256, seed))), **dict(measures.choices(run))}
        for what, value in expected.items():
            held[what] += found[what].low < value < found[what].high
    assert all(178 <= count <= 200 for count in held.values()), held
    assert held["plies"] < 200 and held["draws"] < 200


@pytest.mark.slow
def test_value_of_information() -> None:
    """Who sees all dice of Liar's Dice knows which bids hold; a game without hidden information has no such contest."""
    found = numbers(shared_env("liars_dice"), 16, games=64)
    assert found["search 16 that sees all against search 16", "score of the stronger"].low > 0.5
    assert not any("sees all" in who for who, _ in numbers(TTT, 16, games=32))
