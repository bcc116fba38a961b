"""Games of moving pieces as data: random games beside plain Python on coordinates, solved games, and wrong data."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.envs import registry
from tensor_envs.files.records import positions
from tensor_envs.games.checkers.rules import FORWARD, Checkers
from tensor_envs.play.tables import Table
from tensor_envs.render.scene import BRIGHT
from tensor_envs.rules import CORNERS, SIDES, Grid
from tensor_envs.rules.pieces import EMPTY, ENEMY, OWN, Move, Pieces
from tensor_envs.web.tile import tile_tables
from tensor_envs.web.variants import catalogue_entry, variant

KNIGHT = ((1, -2), (1, 2), (2, -1), (2, 1))


@dataclass(frozen=True)
class Hexapawn(Pieces):
    """Pawns of chess on 3x3; reaching the last row wins, and so does a move after which the opponent has none."""

    board = Grid(3, 3)
    start = range(3), range(6, 9)
    man = Move(((1, 0),)), Move(FORWARD, onto=ENEMY)
    goal = range(6, 9), range(3)
    no_move = "loss"


@dataclass(frozen=True)
class Knightthrough(Pieces):
    """Breakthrough with the forward moves of knights."""

    board = Grid(8, 8)
    start = range(16), range(48, 64)
    man = (Move(KNIGHT, onto=EMPTY | ENEMY),)
    goal = range(56, 64), range(8)
    capture_all = True


@dataclass(frozen=True)
class HopThrough(Pieces):
    """Pieces hop over any piece in any direction, without captures; one on the last row wins."""

    quiet_plies: int = 60
    board = Grid(8, 8)
    start = range(16), range(48, 64)
    man = (Move((*SIDES, *CORNERS), over=ENEMY | OWN),)
    goal = range(56, 64), range(8)
    no_move = "loss"


@dataclass(frozen=True)
class WolfAndSheep(Pieces):
    """A wolf, which steps both ways, passes four sheep, or they enclose it."""

    board = Grid(8, 8)
    playable = Checkers.playable
    start = (1,), range(28, 32)
    crowned = (1,)
    man = (Move(FORWARD),)
    king = (Move(CORNERS),)
    goal = range(28, 32), ()
    no_move = "loss"


@dataclass(frozen=True)
class Giveaway(Checkers):
    """Draughts that the player without a move wins."""

    no_move = "win"


@dataclass(frozen=True)
class MustBreakthrough(Knightthrough):
    """Captures by replacement are compulsory."""

    must_capture = True


GAMES = (Hexapawn, Knightthrough, HopThrough, WolfAndSheep, Giveaway, MustBreakthrough)


def environment(rules: type, monkeypatch: pytest.MonkeyPatch) -> te.Env:
    monkeypatch.setattr(registry, "_entries", {})
    te.register(te.GameEntry("pieces", rules))
    return te.make("pieces")


class Plain:
    """One game on coordinates: pieces by their cells, as (player, whether a king)."""

    def __init__(self, rules: Any) -> None:
        self.rules, self.player, self.quiet = rules, 0, 0
        self.jumper: int | None = None
        self.columns, self.number = rules.board.columns, {cell: i for i, cell in enumerate(rules.places)}
        self.pieces: dict[int, tuple[int, bool]] = {
            place: (player, place in rules.crowned) for player in (0, 1) for place in rules.start[player]
        }
        self.result: list[float] | None = None

    def beyond(self, place: int, way: tuple[int, int]) -> int | None:
        row, column = divmod(self.rules.places[place], self.columns)
        row, column = row + way[0], column + way[1]
        inside = 0 <= row < self.rules.board.rows and 0 <= column < self.columns
        return self.number.get(row * self.columns + column) if inside else None

    def content(self, place: int) -> int:
        if place not in self.pieces:
            return EMPTY
        return OWN if self.pieces[place][0] == self.player else ENEMY

    def moves(self) -> dict[int, tuple[int, int, int | None]]:
        """Return start, end and captured cell of every legal action."""
        found = {}
        for place, (player, king) in self.pieces.items():
            if player != self.player or self.jumper not in (None, place):
                continue
            for move in self.rules.king if king else self.rules.man:
                for down, right in move.ways:
                    way = (-down if player else down, right)
                    near = self.beyond(place, way)
                    end = near if near is None or not move.over else self.beyond(near, way)
                    if near is None or end is None or not self.content(end) & move.onto:
                        continue
                    if move.over and not self.content(near) & move.over:
                        continue
                    plane = self.rules.ways.index(way) + len(self.rules.ways) * bool(move.over)
                    taken = near if move.take else end if self.content(end) == ENEMY else None
                    found[plane * len(self.number) + place] = place, end, taken
        captures = {action: move for action, move in found.items() if move[2] is not None}
        return captures if self.rules.must_capture and (captures or self.jumper is not None) else found

    def apply(self, action: int) -> None:
        start, end, taken = self.moves()[action]
        player, king = self.pieces.pop(start)
        if taken is not None:
            del self.pieces[taken]
        crowned = not king and end in self.rules.promote[player]
        self.pieces[end] = (player, king or crowned)
        irreversible = taken is not None or (bool(self.rules.king) and not king)
        self.quiet, self.jumper = 0 if irreversible else self.quiet + 1, None
        if self.rules.again and taken is not None and not crowned:
            self.jumper = end
            if self.moves():
                return
            self.jumper = None
        self.player = 1 - player
        winner = None
        if end in self.rules.goal[player] or (
            self.rules.capture_all and all(owner == player for owner, _ in self.pieces.values())
        ):
            winner = player
        elif self.rules.no_move and not self.moves():
            winner = player if self.rules.no_move == "loss" else 1 - player
        if winner is not None:
            self.result = [1.0, -1.0] if winner == 0 else [-1.0, 1.0]
        elif self.rules.quiet_plies and self.quiet >= self.rules.quiet_plies:
            self.result = [0.0, 0.0]


def play(env: te.Env, batch: int, seed: int) -> set[float]:
    """Play random games in both; return the results of player 0."""
    state, games, live = env.init(batch, seed), [Plain(env.rules) for _ in range(batch)], set(range(batch))
    while live:
        now, actions = state.numpy(), te.agents.uniform(state).numpy()
        for row in live:
            assert np.flatnonzero(now["legal_action_mask"][row]).tolist() == sorted(games[row].moves()), row
            games[row].apply(int(actions[row]))
        state = env.step(state, actions)
        after = state.numpy()
        for row in sorted(live):
            assert bool(after["terminated"][row]) == (games[row].result is not None), row
            assert after["rewards"][row].tolist() == (games[row].result or [0.0, 0.0]), row
        live = {row for row in live if games[row].result is None}
    return {game.result[0] for game in games if game.result}


@pytest.mark.few("Hexapawn")
@pytest.mark.parametrize("rules", GAMES, ids=lambda rules: rules.__name__)
def test_random_games_agree_with_plain_python(rules: type, monkeypatch: pytest.MonkeyPatch) -> None:
    assert play(environment(rules, monkeypatch), batch=32, seed=1) >= {1.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("rules", GAMES, ids=lambda rules: rules.__name__)
def test_a_thousand_games_agree_with_plain_python(rules: type, monkeypatch: pytest.MonkeyPatch) -> None:
    assert play(environment(rules, monkeypatch), batch=1000, seed=2) >= {1.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("rules", GAMES, ids=lambda rules: rules.__name__)
def test_conformance(rules: type, monkeypatch: pytest.MonkeyPatch) -> None:
    te.testing.check_env(environment(rules, monkeypatch), steps=60)


@pytest.mark.few("Hexapawn")
@pytest.mark.parametrize("rules", GAMES, ids=lambda rules: rules.__name__)
def test_every_position_is_drawn_named_and_restored(rules: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check text, picture, small picture, names and dictionaries along a game, and its whole record."""
    env = environment(rules, monkeypatch)
    state, names = env.init(1, seed=3), list[str]()
    assert len({*env.action_names}) == env.num_actions
    while not state.terminated.item():
        legal, game = env.legal_actions(state), env.state_to_dict(state)
        for action in [*legal][:3]:
            name = legal[action]
            assert te.text.parse(env, f"move: {name.replace('x', '-')}", state) == action
            assert env.rules.action_to_string(action) == name
        areas = env.rules.draw(game).areas
        for action in legal:  # the cells of a move stand for it, the second one as its target
            assert len([area for area in areas if action in area.actions]) == 2
            assert len([area for area in areas if action in area.targets]) == 1
        assert env.render(state).startswith("<svg") and env.to_string(state).splitlines()[-1] in env.render(state)
        again = env.state_from_dicts([game])
        assert env.state_to_dict(again) == game and env.legal_actions(again) == legal
        names.append(legal[int(te.agents.uniform(state).item())])
        state = env.step(state, [env.string_to_action(names[-1], state)])
    end = env.state_to_dict(state)
    assert env.state_from_dicts([end]).terminated.item() and env.rules.reason(end) and not env.legal_actions(state)
    played = te.record(env, names)
    assert played.names == tuple(names) and env.state_to_dict(positions(played)[-1]) == end


def test_notation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check names, dictionaries, status lines and symmetries by hand."""
    env = environment(Hexapawn, monkeypatch)
    state = positions(te.record(env, ["b1-b2", "a3xb2"]))[-1]
    assert env.state_to_dict(state) == {"board": [1, 0, 1, 0, -1, 0, 0, -1, -1], "current_player": 0, "ply": 2}
    assert env.to_string(state) == "  a b c\n3 . b b\n2 . b .\n1 w . w\nWhite to move"
    assert set(env.legal_actions(state).values()) == {"a1-a2", "c1-c2", "a1xb2", "c1xb2"}
    won = env.step(env.step(state, [env.string_to_action("a1-a2")]), [env.string_to_action("b2-b1")])
    assert env.to_string(won).endswith("Black wins: a piece has reached b1")
    assert env.rules.reason(env.state_to_dict(won)) == "a piece has reached b1"
    blocked = {"board": [0, 1, 0, 0, -1, 0, 0, 0, 0], "current_player": 0}
    assert env.to_string(env.state_from_dicts([blocked])).endswith("Black wins: White has no move")
    illegal = env.step(env.init(1), [env.string_to_action("a1xb2")])
    assert env.to_string(illegal).endswith("over by an illegal action of White")
    assert [s.state["board"] for s in env.symmetries()] == [tuple(range(9)), (2, 1, 0, 5, 4, 3, 8, 7, 6)]
    te.testing.check_symmetries(env, 10, None)


@pytest.mark.parametrize(
    ("rules", "changes", "message"),
    [
        (Hexapawn, {"board": [1] * 8}, "board must"),
        (Hexapawn, {"board": [2] + [0] * 8}, r"board\[0\] must"),
        (Hexapawn, {"board": [-1, *[0] * 7, 1]}, "won by both players"),
        (Giveaway, {"board": [-1, *[0] * 31]}, "no man on its last row, got -1 on 1"),
        (Giveaway, {"jumper": 33}, "jumper must"),
        (Giveaway, {"jumper": 1}, "jumper must be a piece of the player to move that can jump"),
        (Giveaway, {"quiet": 81}, "quiet must"),
    ],
    ids=str,
)
def test_wrong_positions(rules: type, changes: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    env = environment(rules, monkeypatch)
    with pytest.raises(ValueError, match=message):
        env.state_from_dicts([env.state_to_dict(env.init(1)) | changes])


def test_a_method_that_is_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    """A game's own names and title are in names, text and pictures."""

    @dataclass(frozen=True)
    class Arrows(Hexapawn):
        sides = ("north", "south")

        def action_to_string(self, action: int) -> str:
            return super().action_to_string(action).replace("-", ">")

    env = environment(Arrows, monkeypatch)
    assert env.string_to_action("a1>a2") in env.legal_actions(env.init(1))
    assert env.to_string(env.init(1)).splitlines()[1::3] == ["3 s s s", "north to move"]
    assert te.make("pieces", max_plies=4).to_string(te.make("pieces", max_plies=4).init(1)) == env.to_string(
        env.init(1)
    )


def test_the_local_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of the page shows the seats, marks both cells of the last move, and names the legal moves."""
    env = environment(Hexapawn, monkeypatch)
    chosen, same = variant("pieces")
    assert catalogue_entry("pieces", chosen, same, "", [])["players"] == ["White", "Black"]
    table = Table("pieces", env, ["person", "person"], 0, variant=chosen)
    assert table.view()["svg"].count(BRIGHT) == 0
    for name in ("b1-b2", "a3xb2", "a1xb2"):
        table.act(table.view()["ply"], env.string_to_action(name, table.state))
        view = table.view()
        assert view["svg"].count(BRIGHT) == 2 and view["moves"][-1]["name"] == name
        assert [action["name"] for action in view["actions"]] == [*env.legal_actions(table.state).values()]
    assert view["scores"] == ["2 pieces", "2 pieces"]
    tables = tile_tables(env)
    assert tables and (tables["width"], tables["height"]) == (3, 3)


@pytest.mark.slow
def test_sheep_win(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the known value: the four win (Berlekamp, Conway and Guy, "Winning Ways", chapter 20)."""
    env = environment(WolfAndSheep, monkeypatch)
    assert te.solve(env).value(env.init(1)).tolist() == [-1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"man": (Move(FORWARD, over=ENEMY),), "king": (Move(CORNERS, over=ENEMY, take=True),)}, "take must be"),
        ({"again": True}, "again needs must_capture"),
        ({"no_move": "lose"}, "no_move must be"),
        ({"crowned": (1,)}, "crowned needs king"),
        ({"man": [Move(FORWARD)]}, "man must be"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_wrong_data(data: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        _ = type("Wrong", (Hexapawn,), data)().spec


@pytest.mark.parametrize(
    "fields",
    [{"ways": ()}, {"ways": ((1, 0), (1, 0))}, {"ways": ((0, 0),)}, {"onto": OWN}, {"over": EMPTY}, {"take": True}],
    ids=str,
)
def test_wrong_moves(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"ways must|onto must|over must|take needs"):
        Move(**{"ways": SIDES, **fields})
