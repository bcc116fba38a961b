"""Pictures of several positions: animations of a game, and contact sheets of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from tensor_envs._validate import file_path, instance, integer, integers, number, renames, shown
from tensor_envs.envs.state import DISPLAYED_GAMES, State
from tensor_envs.files.arrays import replace_file
from tensor_envs.render.compose import film, table

FORMATS = (".svg", ".gif")
MAX_GIF_SECONDS = 655.35  # longest time of a picture: a GIF counts hundredths in 16 bits
PALETTE_FRAMES = 8  # maximum number of pictures, besides the last, from which a GIF's colours are chosen


@renames(i="row")
def save_animation(
    states: Iterable[State],
    path: str | Path,
    row: int = 0,
    *,
    seconds: float = 0.8,
    hold: float = 2.0,
    loop: bool = True,
    player: int | None = None,
    scale: float = 1.0,
) -> None:
    """Write one game of a sequence of states as an animated SVG or GIF, by the suffix of the path.

    The SVG needs no scripts and no other file.

    Args:
        states: states of one environment in the order of play, one picture for each.
        path: ends in .svg or .gif.
        row: row of the game in the batch.
        seconds: duration of each picture, at least 0.01.
        hold: further seconds for the last picture. In a GIF, `seconds + hold` is at most 655.35.
        loop: whether to repeat for ever.
        player: leaves out what is hidden from that player.
        scale: pixels a unit, for a GIF.

    Raises:
        ImportError: a GIF without Pillow.
        ValueError, TypeError: arguments out of range, states of different environments, another suffix, or a GIF of a
            game that has no `draw`.
        OSError: names the path; an existing file is unchanged.

    Examples:
        >>> import tempfile
        >>> env = te.make("tic_tac_toe")
        >>> states = [env.init(1), env.step(env.init(1), [4])]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     te.save_animation(states, f"{folder}/game.svg")
    """
    path = file_path("path", path)
    states = _states(states)
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"path must end in {' or '.join(FORMATS)}, got {str(path)!r}")
    seconds = number("seconds", seconds, 0.01, 3600)
    hold = number("hold", hold, 0, 3600)
    scale = number("scale", scale, 0.1, 8)
    instance("loop", loop, bool)
    if path.suffix.lower() == ".gif":
        if seconds + hold > MAX_GIF_SECONDS:
            raise ValueError(f"seconds + hold must be at most {MAX_GIF_SECONDS} in a GIF, got {seconds} + {hold}")
        data = _gif([pixels(state, row, player, scale) for state in states], seconds, hold, loop)
    else:
        data = film([state.env.render(state, row, player) for state in states], seconds, hold, loop).encode()
    replace_file(path, [data])


@renames(games="rows")
def contact_sheet(
    state: State, rows: Sequence[int] | None = None, columns: int = 4, *, width: float = 240, player: int | None = None
) -> str:
    """Arrange pictures of several games of a batch in one SVG, each with its number.

    Args:
        state: the games.
        rows: rows of the games in the batch; default: the first sixteen.
        columns: pictures in a row.
        width: width of a picture, in pixels.
        player: leaves out what is hidden from that player.

    Returns:
        The text of an SVG document.

    Raises:
        ValueError, TypeError: arguments out of range.

    Examples:
        >>> te.contact_sheet(te.make("qubic").init(4), columns=2).startswith("<svg")
        True
    """
    instance("state", state, State)
    chosen = range(min(DISPLAYED_GAMES, len(state))) if rows is None else rows
    numbers = integers("rows", chosen, 0, len(state) - 1)
    columns = integer("columns", columns, 1, 1000)
    width = number("width", width, 16, 4000)
    documents = [state.env.render(state, row, player) for row in numbers]
    return table(documents, [f"game {row}" for row in numbers], columns, width)


def _states(states: Iterable[State]) -> list[State]:
    if isinstance(states, State) or not isinstance(states, Iterable):
        raise TypeError(f"states must be States, got {shown(states)}")
    states = list(states)
    if not states:
        raise ValueError("states must be at least one state")
    for i, state in enumerate(states):
        instance(f"states[{i}]", state, State)
        if not state.env.plays_like(states[0].env):
            raise ValueError(f"states[{i}] is of {state.env!r}, states[0] of {states[0].env!r}")
    return states


def pixels(state: State, row: int, player: int | None, scale: float) -> Any:
    """Return a game as a PIL.Image.Image. ValueError for a game without `draw`, ImportError without Pillow."""
    render = state.env.entry.load("render")
    if not hasattr(render, "draw"):
        raise ValueError(f"{state.env.id!r} has no `draw` for pixels in {render.__name__}; an SVG needs none")
    return render.draw(state.env.rules, state.env.state_to_dict(state, row, player)).image(scale)


def _gif(images: list[Any], seconds: float, hold: float, loop: bool) -> bytes:
    from PIL import Image

    width, height = (max(image.size[axis] for image in images) for axis in (0, 1))
    canvases = []
    for image in images:
        canvases.append(Image.new("RGB", (width, height), image.getpixel((0, 0))))
        canvases[-1].paste(image)
    subset = canvases[:: -(-len(canvases) // PALETTE_FRAMES)] + canvases[-1:]
    strip = Image.new("RGB", (width, height * len(subset)))
    for i, canvas in enumerate(subset):
        strip.paste(canvas, (0, height * i))
    colours = strip.quantize(255)  # one palette for all frames
    frames = [canvas.quantize(palette=colours, dither=Image.Dither.NONE) for canvas in canvases]
    times = [10 * round(100 * time) for time in (*[seconds] * (len(frames) - 1), seconds + hold)]  # in milliseconds
    repeat: dict[str, int] = {"loop": 0} if loop else {}
    file = BytesIO()
    try:
        frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=times, **repeat)
    except OverflowError:  # Pillow joins equal pictures that follow each other
        raise ValueError(f"seconds of equal pictures must be at most {MAX_GIF_SECONDS} together in a GIF") from None
    return file.getvalue()
