"""Games of the page with their rule fields, and the kinds of players at their tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import make
from tensor_envs.games.hyper_tic_tac_toe.rules import HyperTicTacToe
from tensor_envs.render.scene import names_of

PERSON = "person"
UNIFORM = "uniform"
TRAINED = "trained"
PERFECT = "perfect"
# players by playout search and their simulations per action, from the weakest on: levels 1 to 8
LEVELS = {f"playout:{2 << level}": 2 << level for level in range(1, 9)}
SIMULATIONS = max(LEVELS.values())  # simulations of a hint
WEIGHTS = Path(__file__).parents[1] / "weights"


@dataclass(frozen=True)
class Variant:
    """A game of the page.

    Attributes:
        title: its name in the list.
        id, fields: arguments of `te.make`.
        secret: whether a player has cards that the other must not see.
        custom: whether it is a user's game.
    """

    title: str
    id: str
    fields: dict[str, Any] = field(default_factory=dict)
    secret: bool = False
    custom: bool = False


VARIANTS = {
    "tic_tac_toe": Variant("Tic-tac-toe, 3x3", "tic_tac_toe"),
    "cube": Variant("Tic-tac-toe, 3x3x3", "hyper_tic_tac_toe"),
    "hypercube": Variant("Tic-tac-toe, 3x3x3x3", "hyper_tic_tac_toe", {"shape": (3, 3, 3, 3), "k": 3}),
    "qubic": Variant("Qubic: 4x4x4, four in a row", "qubic"),
    "gomoku": Variant("Gomoku: 15x15, five in a row", "gomoku"),
    "connect_four": Variant("Connect four", "connect_four"),
    "othello": Variant("Othello", "othello"),
    "ultimate_tic_tac_toe": Variant("Ultimate tic-tac-toe", "ultimate_tic_tac_toe"),
    "kalah": Variant("Kalah", "kalah"),
    "oware": Variant("Oware", "oware"),
    "breakthrough": Variant("Breakthrough", "breakthrough"),
    "clobber": Variant("Clobber", "clobber"),
    "lines_of_action": Variant("Lines of Action", "lines_of_action"),
    "chinese_checkers": Variant("Chinese checkers", "chinese_checkers"),
    "kuhn_poker": Variant("Kuhn poker", "kuhn_poker", secret=True),
    "leduc_poker": Variant("Leduc poker", "leduc_poker", secret=True),
    "texas_holdem": Variant("Texas hold'em", "texas_holdem", secret=True),
    "hanabi": Variant("Hanabi", "hanabi", secret=True),
    "gin_rummy": Variant("Gin rummy", "gin_rummy", secret=True),
    "barrage_stratego": Variant("Barrage Stratego", "barrage_stratego", secret=True),
    "2048": Variant("2048", "2048"),
    "backgammon": Variant("Backgammon", "backgammon"),
    "chess": Variant("Chess", "chess"),
    "gardner_chess": Variant("Gardner's minichess, 5x5", "gardner_chess"),
    "shogi": Variant("Shogi", "shogi"),
    "minishogi": Variant("Minishogi, 5x5", "minishogi"),
    "animal_shogi": Variant("Animal shogi, 3x4", "animal_shogi"),
    "xiangqi": Variant("Xiangqi", "xiangqi"),
    "checkers": Variant("English draughts", "checkers"),
    "dots_and_boxes": Variant("Dots and boxes", "dots_and_boxes"),
    "amazons": Variant("Amazons", "amazons"),
    "nine_mens_morris": Variant("Nine men's morris", "nine_mens_morris"),
    "quoridor": Variant("Quoridor", "quoridor"),
    "hex": Variant("Hex", "hex"),
    "y": Variant("Y", "y"),
    "havannah": Variant("Havannah", "havannah"),
    "yahtzee": Variant("Yahtzee", "yahtzee"),
    "liars_dice": Variant("Liar's dice", "liars_dice", secret=True),
    "dark_hex": Variant("Dark Hex", "dark_hex", secret=True),
    "phantom_tic_tac_toe": Variant("Phantom tic-tac-toe", "phantom_tic_tac_toe", secret=True),
    "go": Variant("Go, 9x9", "go"),
    "shed_5": Variant("Shed, 5 cards", "shed", {"cards": 5}),
    "shed_7": Variant("Shed, 7 cards", "shed", {"cards": 7}),
    "shed_10": Variant("Shed, 10 cards", "shed", {"cards": 10}),
    "shed_14": Variant("Shed, 14 cards", "shed", {"cards": 14}),
    "tensor_stars": Variant("Tensor (stars)", "tensor_stars", secret=True),
    "tensor_stars_own": Variant("Tensor (stars), to the own star", "tensor_stars", {"star_rule": "own"}, True),
    "tensor_stars_3": Variant("Tensor (stars), to three points", "tensor_stars", {"points_to_win": 3}, True),
    "tensor_equilibrium_2": Variant("Tensor: Equilibrium, 2 players", "tensor_equilibrium"),
    "tensor_equilibrium_3": Variant("Tensor: Equilibrium, 3 players", "tensor_equilibrium", {"players": 3}),
    "tensor_equilibrium_4": Variant("Tensor: Equilibrium, 4 players", "tensor_equilibrium", {"players": 4}),
    "three_will": Variant("Three Will", "three_will"),
    "three_will_open": Variant("Three Will, open numbers", "three_will", {"ids_visible": True}),
}


def variant(name: str) -> tuple[Variant, Env]:
    """Return a variant and its environment by its name, a registered id or "package.module:Name".

    Raises:
        ValueError, TypeError: there is none of this name.
    """
    if chosen := VARIANTS.get(name):
        return chosen, make(chosen.id, **chosen.fields)
    env = make(name)
    custom = ":" in name
    title = name if custom else name.replace("_", " ")
    return Variant(title, name, secret=custom and not env.spec.perfect_information, custom=custom), env


def catalogue_entry(
    name: str, variant: Variant, env: Env, rules: str, kinds: list[str], picture: str = ""
) -> dict[str, Any]:
    """Return a game's entry in the page's list; `rules` and `picture` are addresses."""
    return {
        "game": name,
        "title": variant.title,
        "rules": rules,
        "picture": picture,
        "chance": env.spec.chance,
        "players": names_of(env.rules, env.entry.find("render")),
        "kinds": kinds,
        "hints": not LEVELS.keys().isdisjoint(kinds) and is_fair(env),
    }


def is_fair(env: Env) -> bool:
    """Return whether a search depends on nothing that is hidden from the player to move."""
    return env.spec.perfect_information or env.engine.game.determinizes


def is_searchable(env: Env) -> bool:
    """Return whether a search may find exact values of a game, see `te.solve`."""
    spec = env.spec
    open_game = spec.num_players == 2 and spec.zero_sum and spec.perfect_information and not spec.chance
    return open_game and not env.engine.game.has_memory


def weights_of(env: Env) -> Path:
    """Return the path that the weights of this game have if they come with the package."""
    return WEIGHTS / f"{env.id}.safetensors"


def kinds(env: Env) -> list[str]:
    """Return the kinds of players that can play a game, from the weakest on."""
    trained = weights_of(env).is_file() and env.rules == make(env.id).rules
    searched = not env.engine.game.has_memory
    levels = [*LEVELS] * searched
    return [PERSON, UNIFORM, *levels, *[TRAINED] * trained, *[PERFECT] * has_perfect_play(env)]


def has_perfect_play(env: Env) -> bool:
    """Return whether a perfect player is offered: on small tic-tac-toe, and where a game's own oracle is quick."""
    rules = env.rules
    if isinstance(rules, HyperTicTacToe):
        return prod(rules.shape) <= 9 and not (rules.misere or rules.gravity)
    return env.entry.quick_oracle(rules) is not None
