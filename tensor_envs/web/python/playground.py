"""Games of the page's form, played by their rules in plain Python.

It needs the stand-ins of `bridge` to import the package without NumPy.
"""

from __future__ import annotations

import math
import struct
import time
from dataclasses import fields
from functools import cache
from importlib import import_module
from itertools import cycle
from random import Random
from typing import Any

bridge = import_module("bridge")

ScalarGame = import_module("tensor_envs.envs.interpreter").ScalarGame
batch = import_module("tensor_envs.web.batch")
describe = import_module("tensor_envs.text").describe
rule_form = import_module("tensor_envs.web.form")
KeyedChance = import_module("tensor_envs.rules.chance").KeyedChance
scalars = import_module("tensor_envs.rules.scalar")
bits = import_module("tensor_envs.rules.lists")

THINKING = 1.0  # seconds of playouts for an action


def _page_ids() -> dict[str, str]:
    """Return an id of the page for each id that a name may start with."""
    return {import_module(module).GAME.id: id for id, (module, *_) in reversed(bridge.GAMES.items())}


@cache
def _env(name: str) -> Any:
    """Return the environment of a name. Raise ValueError, TypeError or NotImplementedError if a page has none."""
    return rule_form.env_of(name, _page_ids())


def form(name: str) -> dict[str, Any]:
    """Return the id of a game's rules, and their fields with current values.

    Args:
        name: a game of the page or of its form.
    """
    id = import_module(bridge.GAMES[name][0]).GAME.id
    return {"id": id, "fields": rule_form.fields_of(bridge.game(name)[0])}


def named(id: str, texts: dict[str, str]) -> dict[str, Any]:
    """Return the game of a form's texts, see `about`. Raise ValueError, TypeError or NotImplementedError if wrong."""
    return about(rule_form.name_of(id, texts, _page_ids()))


def about(name: str) -> dict[str, Any]:
    """Return a game's entry in the page's list and its metadata. Raise as `named` does."""
    env = _env(name)
    module, _, secret, _ = bridge.GAMES[_page_ids()[env.id]]
    metadata = batch.page_metadata(env) | {"id": name, "hidden": secret}
    chosen = {field.name: getattr(env.rules, field.name) for field in fields(env.rules)}
    bridge.GAMES[name] = module, chosen, secret, env.id
    fair = env.spec.perfect_information or env.engine.game.determinizes  # playouts must not depend on what is hidden
    return {
        "game": name,
        "title": name,
        "rules": describe(env),
        "chance": env.spec.chance,
        "players": import_module("tensor_envs.render.scene").names_of(env.rules, bridge.game(name)[2]),
        "kinds": ["person", "uniform", *["playouts"] * fair],
        "hints": fair,
        "about": metadata,
    }


@cache
def _plain(name: str) -> Any:
    """Return a game in plain Python."""
    return ScalarGame(_env(name).rules)


def begin(name: str, seed: int) -> dict[str, Any]:
    """Return the first position of a seed: words and keys, as in a batch of one game."""
    env = _env(name)
    game = ScalarGame(env.rules, seed)
    return {"words": _words(env, game), "keys": [int(x.value) for x in game.row_keys]}


def _at(name: str, words: list[int], keys: list[int]) -> Any:
    """Return a game in plain Python at a position."""
    game = _plain(name)
    layout = _env(name).engine.layout

    def load(w: int) -> Any:
        return scalars.uint32(words[w])

    game.state = layout.get_state(load)
    game.terminated, game.truncated = (bool(flag.value) for flag in layout.get_flags(load))
    game.row_keys = [scalars.uint32(x) for x in keys]
    return game


def play(name: str, words: list[int], keys: list[int], action: int | None) -> dict[str, Any]:
    """Return the position after an action, and the action. None stands for that of the uniform policy."""
    game = _at(name, words, keys)
    action = game.uniform_action() if action is None else action
    game.step(action)
    return {"words": _words(_env(name), game), "keys": keys, "action": action}


def playouts(name: str, words: list[int], keys: list[int]) -> int:
    """Return the action with the highest mean return of random games, as many as there is time for.

    What is hidden from the player to move is resampled for each game. Without time for one the action is random.
    """
    game = _at(name, words, keys)
    chance = Random()
    end = time.monotonic() + THINKING
    rules = game.game
    start = game.state
    player = int(game.state.current_player.value)
    legal = game.legal_actions()
    chance.shuffle(legal)
    paid: dict[int, list[float]] = {action: [] for action in legal}

    def key() -> list[Any]:
        return [scalars.uint32(chance.getrandbits(32)) for _ in range(2)]

    for first in cycle(legal if len(legal) > 1 else []):
        game.state = start.replace(key=key()) if rules.spec.chance else start
        if rules.determinizes:
            game.state = rules.determinize(game.state, start.current_player, KeyedChance(key()))
        game.terminated = game.truncated = False
        action, total = first, 0.0
        while not game.over and time.monotonic() < end:
            game.step(action)
            total += game.rewards[player]
            action = chance.choice(game.legal_actions() or [0])
        if not game.over:
            break
        paid[first].append(total)
    return max(legal, key=lambda a: sum(paid[a]) / len(paid[a]) if paid[a] else -math.inf)


def _words(env: Any, game: Any) -> list[int]:
    """Return the words of the state of a game in plain Python."""
    layout = env.engine.layout
    words = [0] * layout.words
    flags = [scalars.scalar(flag) for flag in (game.terminated, game.truncated)]
    layout.put(lambda w, x: words.__setitem__(w, int(x.value)), s=game.state, flags=flags)
    words[layout.mask :] = bits.pack(game.legal_actions(), env.num_actions)
    rewards = struct.pack(f"{env.num_players}f", *game.rewards)
    words[layout.rewards : layout.mask] = struct.unpack(f"{env.num_players}I", rewards)
    return words
