"""Template of the text that asks a player for a move, the same in Python and in a page."""

from __future__ import annotations

from collections.abc import Sequence


def prompt_text(
    title: str,
    names: Sequence[str],
    player: int,
    mover: int | None,
    position: str,
    moves: Sequence[tuple[int, str]] | None,
    legal: Sequence[str] | None,
) -> str:
    """Return the text that shows a position to a player and asks for a move.

    Args:
        title: what the game is called.
        names: those of the seats.
        player: the one who is asked.
        mover: the player to move; None if the game is over.
        position: what the player sees of it.
        moves: players and names of the moves so far, without what is hidden; None: they are not listed.
        legal: names of the legal moves, listed if it is the player's turn; None: they are not listed.
    """
    *others, last = names
    players = f"; the players are {', '.join(others)} and {last}" if others else ""
    lines = [f"You are {names[player]} in {title}{players}.", "", position, ""]
    if moves is not None:
        listed = "; ".join(f"{names[who]} {name}" for who, name in moves)
        lines.append(f"Moves so far, each after its player: {listed or 'none'}")
    if mover is None:
        lines.append("The game is over.")
    elif player != mover:  # the mover's legal moves may reveal what is hidden
        lines.append(f"{names[mover]} is to move.")
    elif legal:
        lines.append(f"You are to move. Legal moves: {'; '.join(legal)}")
        lines.append(f"End your answer with a line that names one of them, such as: move: {legal[0]}")
    else:
        lines.append("You are to move. End your answer with a line that names a legal move, in this form: move: NAME")
    return "\n".join(lines) + "\n"
