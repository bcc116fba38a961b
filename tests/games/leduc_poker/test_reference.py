"""Leduc poker: the tensor engine against the reference ply by ply, golden games, counts of the whole tree."""

from itertools import permutations

import numpy as np
import pytest

from tensor_envs.envs.interpreter import ScalarGame
from tensor_envs.games.leduc_poker.rules import LeducPoker
from tensor_envs.rules import int32
from tensor_envs.rules.chance import KeyedChance
from tests.games.leduc_poker.reference import CALL
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import observe, shared_env

GAME = "leduc_poker"
DEALS = list(permutations(range(6), 3))


def test_random_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep(GAME, batch=60, seed=4, observe_every=1)
    assert {9.0, 0.0, -1.0} <= set(returns[:, 0])


@pytest.mark.slow
def test_many_games_agree_with_the_reference() -> None:
    play_in_lockstep(GAME, batch=20_000, seed=8)


def test_golden_games() -> None:
    assert replay_traces(GAME) == 3


def test_deals_are_equally_likely() -> None:
    """Check that each of 120 deals occurs 500 times in 60,000; the standard deviation is 22."""
    state = shared_env(GAME).init(60_000, seed=5)
    cards = np.concatenate([state.cards.numpy(), state.public.numpy()[:, None]], axis=1)
    counts = np.bincount(cards @ [36, 6, 1], minlength=216)
    assert np.count_nonzero(counts) == 120 and abs(counts[counts > 0] - 500).max() < 5 * 22


@pytest.mark.slow
def test_information_sets_and_ended_games() -> None:
    """Count 936 and 5520 by the kernel, over all deals and actions; a hidden card counts once."""
    state = shared_env(GAME).state_from_dicts([{"cards": deal[:2], "public": deal[2], "history": []} for deal in DEALS])
    seen, ends = set(), set()
    while len(rows := (legal := state.numpy()["legal_action_mask"].nonzero())[0]):
        views = observe(state, None)
        seen |= {view.tobytes() for view in views[np.unique(rows)]}
        state = state.env.step(state.env.take(state, rows), legal[1])
        both = np.concatenate([observe(state, 0), observe(state, 1), state.ply.numpy()[:, None]], axis=1)
        ends |= {view.tobytes() for view in both[state.terminated.numpy()]}
    assert (len(seen), len(ends)) == (936, 5520)


@pytest.mark.parametrize("player", (0, 1))
@pytest.mark.parametrize("rounds", (1, 2))
def test_determinize_deals_what_is_not_seen_alone(player: int, rounds: int) -> None:
    """Check that visible cards stay and that all deals of the others are equally likely."""
    game, rules = ScalarGame(LeducPoker(), seed=3), LeducPoker()
    for _ in range(2 * rounds - 2):
        game.step(CALL)
    seen = [int(game.state.cards[player].value), int(game.state.public.value)][:rounds]
    counts: dict[tuple[int, ...], int] = {}
    for number in range(1000):
        again = rules.determinize(game.state, int32(player), KeyedChance((3, number)))
        own, other = (int(again.cards[p].value) for p in (player, 1 - player))
        dealt = (own, other, int(again.public.value))
        assert [dealt[0], dealt[2]][:rounds] == seen and len({*dealt}) == 3 and set(dealt) <= set(range(6))
        kept = again.replace(cards=game.state.cards, public=game.state.public)
        assert kept.asdict() == game.state.asdict()
        counts[dealt] = counts.get(dealt, 0) + 1
    expected = (20, 4)[rounds - 1]  # of a standard deviation of less than the root of their number
    assert len(counts) == expected
    assert all(abs(n - 1000 / expected) < 5 * (1000 / expected) ** 0.5 for n in counts.values())
