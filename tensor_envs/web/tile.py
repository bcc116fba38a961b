"""Tiles as tables for a page."""

from __future__ import annotations

from typing import Any

from tensor_envs.envs.env import Env
from tensor_envs.render.tile import Pixel, StateBits, Tile


def tile_tables(env: Env) -> dict[str, Any] | None:
    """Return the tile of a game as numbers for JSON, see `page/tiles.js`.

    Returns:
        None if the game has no tile. width, height: pixels. player: location of the player to move. colours: "#rrggbb".
        palettes: lists of colours by number. views: for each its cells, which are a palette and locations of bits, and
        the cell of every pixel. places: lists of pixels. marks: a colour, a list of places and a location of bits. A
        location is a word, its first bit, the number of bits, and what is added to them.
    """
    declared = getattr(env.entry.find("render"), "tile", None)
    if declared is None:
        return None
    tile: Tile = declared(env.rules)
    colours = dict[str, int]()
    palettes = dict[tuple[str, ...], int]()
    places = dict[tuple[int, ...], int]()

    def number(numbers: dict[Any, int], key: Any) -> int:
        return numbers.setdefault(key, len(numbers))

    views = []
    for pixels in tile.views:
        cells = dict[Pixel, int]()
        shown = [number(cells, pixel) for pixel in pixels]
        looked_up = [
            [number(palettes, pixel.colours), *(location(env, bits) for bits in pixel.bits)] for pixel in cells
        ]
        views.append({"cells": looked_up, "pixels": shown})
    return {
        "width": tile.width,
        "height": len(tile.views[0]) // tile.width,
        "player": location(env, StateBits("current_player")),
        "views": views,
        "marks": [[number(colours, m.colour), number(places, m.places), location(env, m.bits)] for m in tile.marks],
        "places": list(places),
        "palettes": [[number(colours, colour) for colour in palette] for palette in palettes],
        "colours": list(colours),
    }


def location(env: Env, bits: StateBits) -> list[int]:
    """Return a word of a state, the first of some bits in it, their number, and what is added to them."""
    slot = env.engine.layout.slots[bits.field][bits.number]
    if bits.size is None:
        return [*slot]
    words, shift = divmod(slot.shift + bits.first, 32)
    return [slot.word + words, shift, bits.size, 0]
