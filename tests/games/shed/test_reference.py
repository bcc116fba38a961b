"""Shed: the reference engine in whole games, and the exact solution of the small ones."""

from functools import cache
from hashlib import sha256
from itertools import combinations, product
from statistics import fmean, stdev

import pytest

from tests.games.chance import game_key, policy_key, uniform_action
from tests.games.shed.reference import Reference

KEY = game_key(0, 0, 0)
TALON, MOVER, OTHER, PILE = range(4)
Position = tuple[int, ...]  # the place of each card from 1 to n, seen by the player to move


def game_at(position: Position) -> Reference:
    talon, own, other, pile = ([c + 1 for c, p in enumerate(position) if p == place] for place in range(4))
    state = {"hands": [own, other], "pile": pile, "talon": talon, "current_player": 0}
    return Reference.from_dict(state, KEY, cards=len(position))


def position_of(game: Reference) -> Position:
    own, other = game.hands[game.current_player], game.hands[1 - game.current_player]
    places = (game.talon, own, other, game.pile)
    return tuple(next(i for i, place in enumerate(places) if c in place) for c in range(1, game.cards + 1))


def children(position: Position) -> list[Position]:
    found = []
    for action in game_at(position).legal_actions():
        game = game_at(position)
        game.apply(action)
        found.append(position_of(game))
    return found


def random_game(row: int, cards: int, max_plies: int | None = None, checked: bool = False) -> Reference:
    game = Reference(game_key(4, row, 0), cards=cards, max_plies=max_plies)
    policy, before = policy_key(4, row), None
    while True:
        if checked:
            game.check(before)
            before = Reference.from_dict(game.to_dict(), KEY, cards=cards, max_plies=max_plies)
            assert before.to_dict() == game.to_dict() and before.terminated == game.terminated
            before.plies, before.truncated = game.plies, game.truncated  # not part of the dictionary
        legal = game.legal_actions()
        if not legal:
            return game
        game.apply(uniform_action(policy, game.plies, legal))


@pytest.mark.parametrize("cards, max_plies", ((1, None), (2, None), (5, None), (5, 12), (10, None), (32, 200)))
def test_random_games(cards: int, max_plies: int | None) -> None:
    games = [random_game(row, cards, max_plies, checked=True) for row in range(20)]
    assert all(game.terminated or game.truncated for game in games)
    if max_plies is not None:
        assert any(game.truncated for game in games)


@pytest.mark.slow
@pytest.mark.parametrize("cards, max_plies", ((3, None), (7, None), (10, 100), (15, None), (32, None)))
def test_many_random_games(cards: int, max_plies: int | None) -> None:
    for row in range(30):
        random_game(row, cards, max_plies, checked=True)


# cards, games, mean length of a game without a limit: exact for 5 and 10 cards, by simulation for 15
@pytest.mark.parametrize(
    "cards, games, mean",
    (
        (5, 1_000, 22.53),
        pytest.param(10, 1_000, 130.97, marks=pytest.mark.slow),
        pytest.param(15, 500, 530, marks=pytest.mark.slow),
    ),
)
def test_length_of_random_games(cards: int, games: int, mean: float) -> None:
    plies = [random_game(row, cards, max_plies=10**6).plies for row in range(games)]
    assert abs(fmean(plies) - mean) < 4 * stdev(plies) / games**0.5


def test_misuse() -> None:
    game = Reference(KEY, cards=3)
    game.apply(1)
    for action in (0, 1, -1, 4):  # lower, in the pile, no action
        with pytest.raises(ValueError, match=r"is illegal, allowed: .2, 3"):
            game.apply(action)
    with pytest.raises(ValueError, match="action 0 is illegal"):
        game_at((OTHER, OTHER, OTHER)).apply(0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'hands'"):
        Reference(KEY, cards=3, hands=2)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="need max_plies >= 1, got 0"):
        Reference(KEY, cards=3, max_plies=0)


@pytest.mark.parametrize("cards", range(1, 6))
def test_f6_no_game_gives_the_player_to_move_all_cards(cards: int) -> None:
    seen: set[Position] = set()
    found = [position_of(Reference(KEY, cards=cards))]
    while found:
        position = found.pop()
        if position not in seen:
            seen.add(position)
            found += children(position)
    assert (OTHER,) * cards in seen and (MOVER,) * cards not in seen


@cache
def solve(cards: int) -> dict[Position, int]:
    """Return the value of each position for the player to move: 1 won, -1 lost, 0 drawn (F5: endless)."""
    after = {position: children(position) for position in product(range(4), repeat=cards)}
    value = dict.fromkeys(after, 0)
    for position, positions in after.items():
        if not positions:  # F3: nothing can be done only after the end, which the other player has lost
            assert position == (OTHER,) * cards
            value[position] = 1
    changed = True
    while changed:
        changed = False
        for position, positions in after.items():
            if value[position] == 0:
                best = max(-value[p] for p in positions)
                changed = changed or best != 0
                value[position] = best
    return value


# cards: value of the start, quiet positions won, lost and drawn, endgames likewise, digest of the table
SOLUTIONS = {
    1: ("win", (3, 0, 0), (2, 0, 0), "75c8fd04ad916aec"),
    2: ("loss", (5, 4, 0), (3, 1, 0), "e2bddf721acd8215"),
    3: ("loss", (15, 12, 0), (6, 2, 0), "9ab353504a4e62d7"),
    4: ("win", (48, 33, 0), (10, 6, 0), "1e382a08c5fa1177"),
    5: ("loss", (138, 105, 0), (20, 12, 0), "4bea349333ac438c"),
    6: ("loss", (423, 298, 8), (39, 25, 0), "5131cd54f886b94e"),
    7: ("win", (1264, 923, 0), (75, 53, 0), "4f2df5dad4bb97bd"),
}


@pytest.mark.parametrize("cards", [*range(1, 7), pytest.param(7, marks=pytest.mark.slow)])
def test_f5_exact_solution(cards: int) -> None:
    start, quiet, endgames, digest = SOLUTIONS[cards]
    value = {position: v for position, v in solve(cards).items() if PILE not in position}
    assert len(value) == 3**cards
    values = list(value.values())
    assert (values.count(1), values.count(-1), values.count(0)) == quiet
    values = [v for position, v in value.items() if TALON not in position]
    assert (values.count(1), values.count(-1), values.count(0)) == endgames and len(values) == 2**cards
    assert value[(TALON,) * cards] == {"win": 1, "loss": -1}[start]
    assert value[(MOVER,) * cards] == 1  # F6
    # One byte a position, card 1 as the lowest digit in base 3; 2 stands for a loss.
    table = bytes(value[position[::-1]] % 3 for position in product(range(3), repeat=cards))
    assert sha256(table).hexdigest().startswith(digest)


def just_moved(cards: int, own: str, other: str) -> Position:
    """Return a quiet position in the post's notation: hands as digits, `own` of the player who has just picked up."""
    return tuple(OTHER if str(c) in own else MOVER if str(c) in other else TALON for c in range(1, cards + 1))


@pytest.mark.parametrize("points, move", (((-2, -1, 0, 1, 2), 1), ((-7, -5, -2, 3, 6, 8), 4)))
def test_points_of_the_seed_tell_who_wins(points: tuple[int, ...], move: int) -> None:
    """Check endgames with 5 and 6 cards: the sign of the points, corrected for the move, is the value."""
    for position in product((MOVER, OTHER), repeat=len(points)):
        score = move + sum(p if place == MOVER else -p for place, p in zip(position, points, strict=True))
        assert score * solve(len(points))[position] > 0


def test_the_one_is_sometimes_better_than_the_two() -> None:
    """Check 6 cards, two in one hand and the rest in the talon: the choice matters only beside the 5."""
    for partner in "3456":
        one, two = (solve(6)[just_moved(6, card + partner, "")] for card in "12")
        assert (one, two) == (-1, 1) if partner == "5" else one == two
    assert 0 not in [solve(6)[just_moved(6, a + b, "")] for a, b in combinations("123456", 2)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "own, other, wins",
    (
        ("7654321", "", False),
        ("5", "764321", False),
        ("7532", "641", True),
        ("6541", "732", True),
        ("72", "63", True),
        ("72", "61", False),
        ("73", "61", False),
    ),
)
def test_positions_of_the_seed_with_seven_cards(own: str, other: str, wins: bool) -> None:
    assert solve(7)[just_moved(7, own, other)] == (-1 if wins else 1)
