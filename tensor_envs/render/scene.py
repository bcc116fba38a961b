"""All that a table shows of a position, from a game's `render` module and the position's dictionary.

Besides `to_string`, `draw` or `to_svg`, and `seen_by`, a `render` module may have these functions:

- `draw_narrow(rules, game)`: like `draw`, with its parts below each other, for a phone.
- `players(rules, game)`: names of the seats as the game calls them; `game` is None before it starts.
- `scores(rules, game)`: a short text for each player, such as captured pieces, or an empty one.
- `reason(rules, game)`: why a game has ended as it has, such as "checkmate".
- `visible_moves(rules, moves, player)`: the names of all moves so far, without those that are hidden from a player.
- `explain(rules, game, action)`: what a legal action does, in a phrase. Where names of actions are codes, `SPOKEN` is
  True, and people read the phrases instead.
- `symbols(rules, game, actions)`: symbols for all legal actions, such as a piece of chess, or "".
- `last_move(rules, before, after, action)`: outlines that mark an action in the picture after it. By default they are
  the parts of the picture before it that stand for the action.

`draw` and `to_string` find the player for whom they draw as the entry "viewer" of the dictionary, which may be missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensor_envs.render.drawing import Drawing, Point
from tensor_envs.render.moves import Game, seen_moves
from tensor_envs.render.status import seats

# strokes of a mark: one of them differs from any ground
DARK = "#24303f"
BRIGHT = "#ffd43b"
MAX_SHARE = 0.4  # share of the picture's area: a larger part, such as a board that stands for a pass, marks no place


def names_of(rules: Any, render: Any, game: Game | None = None) -> list[str]:
    """Return the names of a game's seats, those of `seats` where its module gives none."""
    if hasattr(render, "players"):
        names: list[str] = render.players(rules, game)
        return names
    return seats(rules.spec.num_players)


def scene(
    rules: Any,
    render: Any,
    game: Game,
    player: int | None = None,
    moves: Sequence[str] = (),
    actions: Sequence[int] = (),
    past: Sequence[tuple[Game, int]] = (),
    over: bool = False,
) -> dict[str, Any]:
    """Return all that a table shows of a position, without what is hidden from a player.

    Args:
        rules, render: the game's rules and its module.
        game: the position as a dictionary.
        player: the viewer; None hides nothing.
        moves: names of the moves so far.
        actions: legal actions to explain.
        past: the positions before the latest moves, and their actions, in order. The place of the last one is marked in
            the picture. Where names are codes, their phrases take the place of the names.
        over: whether the game has ended.

    Returns:
        "svg"; "narrow", that of `draw_narrow`, or ""; "moves", the names without what is hidden, or phrases;
        "players", the names of the seats; "scores", a text for each of them; "reason", why the game has ended;
        "phrases", what each action does, by its number as text; "symbols", those of actions, likewise by number;
        "spoken", whether people read the phrases instead of names; "zero_sum", whether the rules say that rewards sum
        to 0, so that equal returns are a draw.
    """
    shown = seen(rules, render, game, player)
    # names without what is hidden decide whether the last move may be marked
    names = [*moves] if player is None else seen_moves(rules, render, moves, game, shown, player)
    marked = past[-1] if past and [*names[-1:]] == [*moves[-1:]] else None
    spoken = getattr(render, "SPOKEN", False)
    # phrases take the place of codes, but not of what is hidden
    if spoken:
        for k, (before, action) in enumerate(past, len(moves) - len(past)):
            if names[k] == moves[k]:
                names[k] = render.explain(rules, seen(rules, render, before, player), action)
    # a game without a function has empty texts, so that pages need not ask
    count = rules.spec.num_players
    symbols = dict[str, str]()
    if hasattr(render, "symbols"):
        symbols = dict(zip(map(str, actions), render.symbols(rules, shown, actions), strict=True))
    return {
        "svg": picture(rules, render, shown, player, marked),
        "narrow": picture(rules, render, shown, player, marked, True) if hasattr(render, "draw_narrow") else "",
        "moves": names,
        "players": names_of(rules, render, game),
        "scores": render.scores(rules, shown) if hasattr(render, "scores") else [""] * count,
        "reason": render.reason(rules, game) if over and hasattr(render, "reason") else "",
        "phrases": {str(a): render.explain(rules, shown, a) for a in actions} if hasattr(render, "explain") else {},
        "symbols": symbols,
        "spoken": spoken,
        "zero_sum": rules.spec.zero_sum,
    }


def seen(rules: Any, render: Any, game: Game, player: int | None) -> Game:
    """Return the position for a viewer, without what is hidden from that player."""
    if player is None:
        return game
    return {**without_secrets(rules, render, game, player), "viewer": player}


def without_secrets(rules: Any, render: Any, game: Game, player: int) -> Game:
    """Return the position without what is hidden from a player.

    Raises:
        NotImplementedError: the module of a game that hides something has no `seen_by`.
    """
    if hasattr(render, "seen_by"):
        shown: Game = render.seen_by(rules, game, player)
        return shown
    if not rules.spec.perfect_information:
        raise NotImplementedError(
            "perfect_information is False, so render must have seen_by(rules, game, player), which removes what is "
            "hidden from a player: name a module with it in the GameEntry"
        )
    return game


def picture(
    rules: Any, render: Any, shown: Game, player: int | None, last: tuple[Game, int] | None, narrow: bool = False
) -> str:
    """Return a position as SVG, the place of the last move marked; narrow: as `draw_narrow` draws it."""
    if not hasattr(render, "draw"):
        svg: str = render.to_svg(rules, shown)
        return svg
    draw = render.draw_narrow if narrow else render.draw
    drawing: Drawing = draw(rules, shown)
    if last is None:
        return drawing.to_svg()
    before = seen(rules, render, last[0], player)
    action = last[1]
    if hasattr(render, "last_move"):
        outlines = render.last_move(rules, before, shown, action)
    else:
        outlines = [area.points for area in draw(rules, before).areas if action in area.actions]
    for outline in outlines:
        if _area(outline) < MAX_SHARE * drawing.width * drawing.height:
            drawing.polygon(outline, stroke=DARK, width=4)
            drawing.polygon(outline, stroke=BRIGHT, width=2)
    return drawing.to_svg()


def _area(points: Sequence[Point]) -> float:
    """Return the area of a polygon in square pixels."""
    pairs = zip(points, [*points[1:], points[0]], strict=True)
    return abs(sum(x * v - y * u for (x, y), (u, v) in pairs)) / 2
