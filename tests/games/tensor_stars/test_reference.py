"""Random games of the reference: invariants of section 8 and the statistics of section 9."""

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import product
from math import sqrt
from typing import Any

import pytest

from tests.games.chance import draw, game_key, policy_key, uniform_action, words
from tests.games.tensor_stars.reference import CARDS, COMMIT, ORDER, OVER, PRINTED, REVERSED, Reference

KEY = words(0)
VARIANT_2 = {"points_to_win": 3}
BOARD_T = {
    "lines": [[[0, 0], [2, 0]], [[1, 0], [1, 2]]],
    "stars": [[[1, 2], 1], [[0, 0], 0]],
    "starts": [[2, 0], [1, 0], [1, 1]],
}
CONFIGS: tuple[dict[str, Any], ...] = (
    {},
    {"star_rule": "own"},
    {"star_rule": "opposite", "random_colours": True},
    {"star_rule": "own", "star_credit": "side", "random_colours": True},
    {"star_rule": "opposite", "star_credit": "side"},
    {"win_check": "piece", "ask_order": "always"},
    VARIANT_2,
    {**VARIANT_2, "reset": "all"},
    {**VARIANT_2, "score_stops_piece": False, "win_check": "piece", "max_hands": 5},
    {**VARIANT_2, "score_stops_piece": False, "reset_at_once": True},
    {**VARIANT_2, "reset_at_once": True, "reset": "all", "star_rule": "opposite", "max_hands": 9},
    {"board": BOARD_T, "max_hands": 2},
)


@dataclass
class Tally:
    """Figures of whole games, one entry for each game where it is a list."""

    turns: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    actions: Counter[int] = field(default_factory=Counter)  # actions chosen
    legal: int = 0
    winners: Counter[int] = field(default_factory=Counter)
    winning_cards: Counter[int] = field(default_factory=Counter)
    effects: Counter[bool] = field(default_factory=Counter)  # card events, by whether they moved the piece


def play(games: int, seed: int, check: bool, **config: Any) -> Tally:
    tally = Tally()
    for row in range(games):
        game, policy = Reference(game_key(seed, row, 0), **config), policy_key(seed, row)
        shared = {id(part): part for part in (game.rules, game.board, game.deck)}
        placements, questions, steps, returns = 0, 0, 0, [0.0, 0.0]
        before = None
        while legal := game.legal_actions():
            if check:
                game.check(before)
                before = deepcopy(game, dict(shared))
            action = uniform_action(policy, steps, legal)
            game.apply(action)
            steps += 1
            tally.actions[action] += 1
            tally.legal += len(legal)
            placements, questions = placements + (action < CARDS), questions + (action >= CARDS)
            for event in game.events:
                tally.effects[len(event[3]) > 1] += 1
            returns = [total + reward for total, reward in zip(returns, game.rewards, strict=True)]
            if (game.phase == COMMIT and game.current_player == 0 and game.commit[0][0] == -1) or game.phase == OVER:
                assert placements == 6 and questions <= 6, "I12"
                placements = questions = 0
        if check:
            game.check(before)
        assert steps <= 36 * game.rules.max_hands, "I12"
        assert sum(returns) == 0 and (returns == [0, 0]) == game.truncated, "I13"
        tally.turns.append(3 * game.hands + game.turn + game.terminated)
        tally.steps.append(steps)
        tally.winners[game.winner] += 1
        if game.terminated:
            tally.winning_cards[game.events[-1][2]] += 1
    return tally


@pytest.mark.few(4)
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_random_games(config: dict[str, Any]) -> None:
    play(12, seed=1, check=True, **config)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_many_random_games(config: dict[str, Any]) -> None:
    play(200, seed=2, check=True, **config)


def test_invariant_14_every_action_occurs() -> None:
    assert set(play(100, seed=3, check=False).actions) == set(range(12))


def test_games_of_equal_cards_reach_the_cap() -> None:
    game = Reference(KEY)
    for _ in range(18 * 50):
        assert not game.truncated
        game.apply(game.legal_actions()[0])
    assert game.truncated and game.pos == game.board.starts


def positions(count: int, seed: int, player: int, **config: Any) -> list[Reference]:
    """Return states of random games in which the player is about to place the first card of a turn."""
    found: list[Reference] = []
    row = 0
    while len(found) < count:
        game, policy = Reference(game_key(seed, row, 0), **config), policy_key(seed, row)
        step = 0
        while legal := game.legal_actions():
            if game.phase == COMMIT and game.current_player == player and game.commit[player][0] == -1:
                found.append(Reference.from_dict(game.to_dict(), KEY, **config))
            game.apply(uniform_action(policy, step, legal))
            step += 1
        row += 1
    return found[:count]


def triple(hand: list[int], index: int) -> list[int]:
    """Draw three cards of a hand without replacement."""
    cards = [card for card in range(CARDS) if hand[card]]
    return [cards.pop(draw(KEY, 3 * index + slot, len(cards))) for slot in range(3)]


def test_invariant_9_equal_triples_move_nothing() -> None:
    tried = 0
    for index, game in enumerate(positions(300, 4, player=0)):
        shared = [mine * theirs for mine, theirs in zip(*game.hand, strict=True)]
        if sum(shared) >= 3:
            pos, cards = list(game.pos), triple(shared, index)
            for card in cards * 2:
                game.apply(card)
            assert game.pos == pos and game.phase == COMMIT
            tried += 1
    assert tried > 100


@pytest.mark.parametrize("config", [{}, {"random_colours": True}, VARIANT_2], ids=str)
def test_invariant_10_cards_placed_by_player_0_do_not_show(config: dict[str, Any]) -> None:
    for index, game in enumerate(positions(100, 5, player=1, **config)):
        seen = game.observation(1)
        state = game.to_dict()
        unplayed = list(state["hand"][0])
        for card in state["commit"][0]:
            unplayed[card] = 1
        other = triple(unplayed, index)
        state["commit"][0] = other
        state["hand"][0] = [have - (card in other) for card, have in enumerate(unplayed)]
        changed = Reference.from_dict(state, KEY, **config)
        assert changed.observation(1) == seen
        assert changed.observation(0) != game.observation(0) or other == game.commit[0]


def half_turn(game: Reference, **config: Any) -> Reference:
    """Return the same game after a half turn of the board with exchanged players."""
    state = game.to_dict()
    state["pos"] = [space if space == -1 else game.board.size - 1 - space for space in state["pos"]]
    for name in ("hand", "commit", "points"):
        state[name].reverse()
    for name in ("mover", "winner"):
        state[name] = 1 - state[name] if state[name] >= 0 else -1
    if state["phase"] == ORDER:
        state["player"] = 1 - state["player"]
    return Reference.from_dict(state, KEY, **config)


@pytest.mark.few(2)
@pytest.mark.parametrize("config", CONFIGS[:6], ids=str)
def test_invariant_11_half_turn(config: dict[str, Any]) -> None:
    """Check the half turn, also for observations, which differ in the side alone."""
    phases: Counter[int] = Counter()
    for index, game in enumerate(positions(150, 6, player=0, **config)):
        turned = half_turn(game, **config)
        cards = [triple(game.hand[player], 2 * index + player) for player in range(2)]
        actions = list(zip(cards[0] + cards[1], cards[1] + cards[0], strict=True))
        while actions:
            action, action_turned = actions.pop(0)
            game.apply(action)
            turned.apply(action_turned)
            if actions:
                continue  # cards are still being placed, by player 0 first in both games
            phases[game.phase] += 1
            expected = half_turn(game, **config).to_dict()
            if game.phase == OVER:
                expected["player"] = turned.current_player  # of no meaning
            assert turned.to_dict() == expected
            for player in range(2):
                seen, seen_turned = game.observation(player), turned.observation(1 - player)
                assert seen.pop(-2) == 1 - seen_turned.pop(-2)  # the side
                if game.phase == COMMIT:  # player 0 is to act in both, so whose turn it is differs
                    seen[-9:-6] = seen_turned[-9:-6] = []
                assert seen == seen_turned
            if game.phase == ORDER:
                actions = [((PRINTED, REVERSED)[draw(KEY, index, 2)],) * 2]
    assert min(phases[phase] for phase in (COMMIT, ORDER, OVER)) > 5


def duel_ends(game: Reference, cursor: int, pos: Sequence[int], order: int | None = None) -> set[Any]:
    """Return (pos, winner) after a piece's cards from the cursor on, for every answer to a question."""
    game.pos, game.cursor, game.phase, game.winner = list(pos), cursor, COMMIT, -1
    game.points, game.scored = [0, 0], [0, 0, 0]
    goes_on = game.card_event(order)
    if game.phase == ORDER:
        return duel_ends(game, cursor, pos, PRINTED) | duel_ends(game, cursor, pos, REVERSED)
    if goes_on and cursor % 2 == 0:
        return duel_ends(game, cursor + 1, game.pos)
    return {(tuple(game.pos), game.winner)}


@pytest.mark.slow
def test_wins_in_turn_1() -> None:
    """Check that only blue wins on the default board, by two certain cards or with red in the way (section 9).

    Every pair of cards is tried after all possible outcomes of those before, as if no card were ever used up.
    """
    game = Reference(KEY)
    wins, before = set(), {tuple(game.board.starts)}
    for piece in range(3):
        after = set()
        for pos, black, white in product(before, range(CARDS), range(CARDS)):
            game.commit = [[black] * 3, [white] * 3]
            for end, winner in duel_ends(game, 2 * piece, pos):
                if winner >= 0:
                    wins.add((piece, black, white))
                else:
                    after.add(end)
        before = after
    # The last two need red in the way of White's 5 (as after B9 W7), or of one half of his 2 (B5 W0).
    assert wins == {(1, 7, 1), (1, 1, 7), (1, 1, 5), (1, 1, 2)}
    for cards in [(9, 1, 0, 7, 5, 0), (5, 1, 3, 0, 2, 3, PRINTED)]:
        game = Reference(KEY)
        for action in cards:
            game.apply(action)
        assert game.winner == 0


# Section 9: games; means of turns, steps, legal actions; 95 % quantile of turns; Black wins; won in turn 1.
TABLE: tuple[tuple[Any, ...], ...] = (
    ({}, 2000, 6.55, 40.8, 6.14, 15, 0.484, 0.018),
    ({"star_rule": "own"}, 400, 8.36, 52.0, 6.08, 22, 0.485, 0.025),
    ({"star_rule": "opposite"}, 400, 16.5, 102.5, 5.97, 47, 0.512, 0.0),
    (VARIANT_2, 400, 23.0, 143.3, 5.93, 41, 0.490, 0.0),
    ({**VARIANT_2, "reset": "all"}, 400, 25.2, 157.0, 5.93, 46, 0.512, 0.0),
    ({"win_check": "piece"}, 400, 9.64, 60.1, 6.06, 23, 0.482, 0.022),
)


def near(share: float, expected: float, count: float, expected_count: float) -> bool:
    """Return whether two samples of one share are at most four standard errors (and one case in a thousand) apart."""
    spread = sqrt(expected * (1 - expected) * (1 / count + 1 / expected_count))
    return abs(share - expected) <= 4 * spread + 0.001


@pytest.mark.slow
@pytest.mark.parametrize("row", TABLE, ids=lambda row: str(row[0]))
def test_statistics(row: tuple[Any, ...]) -> None:
    config, games, turns, steps, legal, quantile, black, first = row
    tally = play(games, seed=7, check=False, **config)
    mean = sum(tally.turns) / games
    error = sqrt(2 * sum((count - mean) ** 2 for count in tally.turns)) / games
    assert abs(mean - turns) <= 4 * error
    assert abs(sum(tally.steps) / games - steps) <= 4 * error * steps / turns
    assert tally.legal / sum(tally.steps) == pytest.approx(legal, abs=0.1)
    assert sorted(tally.turns)[games * 95 // 100] == pytest.approx(quantile, rel=0.25)
    assert near(tally.winners[0] / games, black, games, games)
    assert near(tally.turns.count(1) / games, first, games, games)
    assert tally.winners[-1] == 0


@pytest.mark.slow
def test_statistics_of_actions_and_cards() -> None:
    """Check section 9 for the default rules; the shares of winning cards are taken as those of 2,000 games."""
    tally = play(2000, seed=8, check=False)
    steps, wins = sum(tally.steps), sum(tally.winning_cards.values())
    assert near(tally.actions[PRINTED] / steps, 0.0184, steps, 81600)
    assert near(tally.actions[REVERSED] / steps, 0.0180, steps, 81600)
    idle = tally.effects[False] / sum(tally.effects.values())
    assert idle == pytest.approx(0.20, abs=0.01)
    shares = (0.062, 0.195, 0.080, 0.097, 0.107, 0.073, 0.072, 0.130, 0.132, 0.052)
    assert sum(shares) == pytest.approx(1)
    assert all(near(tally.winning_cards[card] / wins, share, wins, 2000) for card, share in enumerate(shares))


@pytest.mark.slow
def test_ruling_5_card_0_wins_with_opposite_stars() -> None:
    tally = play(400, seed=9, check=False, star_rule="opposite")
    assert near(tally.winning_cards[0] / 400, 0.21, 400, 400)
