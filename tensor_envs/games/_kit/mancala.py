"""Boards of two rows of houses: dictionaries, text and drawings.

A state has the houses of the player to move and then the opponent's, each in the order of sowing, and both stores in
the same order. A dictionary has those of player 0 first.
"""

from typing import Any

from tensor_envs._validate import integer
from tensor_envs.render.drawing import Drawing, disc
from tensor_envs.render.grids import INK
from tensor_envs.render.status import counted, number_texts, outcome, seat_names, to_move
from tensor_envs.render.tile import Pixel, StateBits, Tile
from tensor_envs.rules.plain import checked, field_limits

WOOD = "#b98a5a"
HOLLOW = "#8a6038"
SEED = "#fbf3e4"
CELL, MARGIN = 56, 30  # pixels: a house, around the board
SHADES = 13  # colours of small pictures, from an empty house on
NAMES = ("South", "North")
players = seat_names(*NAMES)
scores, reason = number_texts(lambda game: game["stores"], "seed")  # captured seeds


def from_player_0(values: list[Any], player: int) -> list[Any]:
    """Return a list whose first half is of the player to move with the half of player 0 first, or the reverse."""
    half = len(values) // 2
    return values if player == 0 else [*values[half:], *values[:half]]


def to_dict(rules: Any, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"houses": list, "stores": list, "current_player": 0 or 1}, player 0's seeds before player 1's."""
    player = s["current_player"]
    return {name: from_player_0(s[name], player) for name in ("houses", "stores")} | {"current_player": player}


def seeds_of(rules: Any, game: dict[str, Any]) -> tuple[list[int], list[int], int]:
    """Return houses and stores, beginning with the player to move, and that player.

    Raises:
        TypeError, ValueError: other lengths or numbers, or more seeds than a game begins with.
    """
    seeds = checked(game, field_limits(rules, "houses", "stores"))
    player = integer("current_player", game["current_player"], 0, 1)
    if (total := sum(map(sum, seeds.values()))) > rules.total:
        raise ValueError(f"houses and stores must have at most {rules.total} seeds, got {total}")
    return from_player_0(seeds["houses"], player), from_player_0(seeds["stores"], player), player


def status(game: dict[str, Any], over: bool) -> str:
    """Return the status: the winner, a draw, or the player to move."""
    if not over:
        return to_move(game, NAMES[game["current_player"]])
    first, second = game["stores"]
    return outcome(NAMES, None if first == second else first < second, reason(None, game))


def explain(rules: Any, game: dict[str, Any], action: int) -> str:
    """Return the number of seeds that a house sows."""
    return f"sow {counted(game['houses'][game['current_player'] * rules.houses + action], 'seed')}"


def lines_of(rules: Any, game: dict[str, Any], names: list[str]) -> list[str]:
    """Return the board as text: player 1's houses from right to left, the stores, and player 0's houses."""
    count = rules.houses
    width = len(str(rules.total))
    south, north = game["houses"][:count], game["houses"][count:][::-1]
    first, second = (f"{store:>{width}}" for store in game["stores"])
    pad = " " * (width + 1)
    inner = (width + 1) * count
    rows = (names[count:][::-1], north, south, names[:count])
    lines = [pad + " ".join(f"{text!s:>{width}}" for text in row) for row in rows]
    return [*lines[:2], f"{second} {' ' * inner}{first}", *lines[2:]]


def draw(rules: Any, game: dict[str, Any], title: str, names: list[str], actions: list[int], status: str) -> Drawing:
    """Draw the board.

    Args:
        names: names of player 0's houses, then of player 1's.
        actions: houses of the player to move that stand for their actions.
    """
    count = rules.houses
    wide = (count + 2) * CELL
    picture = Drawing(max(wide, 5 * CELL) + 2 * MARGIN, 2 * CELL + 4 * MARGIN, title=title)
    left = (picture.width - wide) / 2
    top = 1.3 * MARGIN
    picture.rect(left, top, wide, 2 * CELL, WOOD)

    def hollow(x: float, y: float, seeds: int) -> None:
        picture.circle((x, y), 0.42 * CELL, HOLLOW)
        picture.text((x, y), str(seeds), 18, SEED, bold=True)

    for player, x in ((0, left + wide - CELL / 2), (1, left + CELL / 2)):
        picture.rect(x - 0.42 * CELL, top + 0.1 * CELL, 0.84 * CELL, 1.8 * CELL, HOLLOW)
        picture.text((x, top + CELL), str(game["stores"][player]), 18, SEED, bold=True)
    for house, seeds in enumerate(game["houses"]):
        player, place = divmod(house, count)
        x = left + CELL * ((place if player == 0 else count - 1 - place) + 1.5)
        y = top + CELL * (1.5 - player)
        hollow(x, y, seeds)
        picture.text((x, top + 2 * CELL + 14 if player == 0 else top - 14), names[house], 12, INK)
        if player == game["current_player"] and place in actions:
            picture.area(disc((x, y), 0.42 * CELL), place)
    picture.text((picture.width / 2, picture.height - MARGIN), status, 14, INK)
    return picture


def tile(rules: Any) -> Tile:
    """Return the board as a small picture, the lighter the more seeds: player 1's half above that of player 0."""
    views = []
    for player in (0, 1):
        houses = [_pixel(rules, "houses", k) for k in range(2 * rules.houses)]
        stores = [_pixel(rules, "stores", k) for k in (0, 1)]
        south = houses[: rules.houses]
        north = houses[rules.houses :]
        if player:
            south, north = north, south
            stores.reverse()
        views.append([stores[1], *north[::-1], stores[0], stores[1], *south, stores[0]])
    return Tile(rules.houses + 2, tuple(views))


def _pixel(rules: Any, field: str, number: int) -> Pixel:
    """Return the pixel of a number of seeds."""
    return Pixel(tuple(shade(seeds) for seeds in range(rules.total + 1)), (StateBits(field, number),))


def shade(seeds: int) -> str:
    """Return the colour of a number of seeds in small pictures."""
    light = 60 + 190 * min(seeds, SHADES) // SHADES
    return f"#{light:02x}{light * 4 // 5:02x}{light * 3 // 5:02x}"
