"""Wrong arguments of every public function raise one clear error that names the argument, and change nothing."""

# mypy: disable-error-code="misc, arg-type, var-annotated"

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

import tensor_envs as te
from tensor_envs import ops
from tensor_envs.envs.registry import _entries, gymnasium_id
from tensor_envs.games.shed.solve import solve
from tensor_envs.games.shed.tablebase import Tablebase
from tensor_envs.games.tensor_equilibrium.data import load_rules as load_equilibrium
from tensor_envs.games.tensor_stars.data import Board, Card, load_rules
from tensor_envs.testing import check_env
from tests.games.dice_race import DiceRace
from tests.games.shared import shared_env

SECONDS = 5  # upper bound for refusing an argument
LONGEST = 300  # upper bound for a message, in characters
HUGE = 10**20
NO_INT: tuple[Any, ...] = (None, "3", 1.5, 2.0, True, [1], 1j, object())
NO_COUNT: tuple[Any, ...] = (*NO_INT, 0, -1, HUGE, 10**5000)
NO_BOOL: tuple[Any, ...] = (None, 1, 0, "no", "True", [])
NO_RESET: tuple[Any, ...] = (None, 1, "no", "next_step", [])
NO_TEXT: tuple[Any, ...] = (None, 5, b"CPU", ["CPU", 1], 1.5)
NO_NUMBER: tuple[Any, ...] = (None, "1", True, float("nan"), float("inf"), -HUGE, 1j)
NO_DEVICE: tuple[Any, ...] = (5, "", "C P U", "CPU:x", "nowhere", (), ("CPU", 5), ("CPU", "CPU"), b"CPU")
NO_PATH: tuple[Any, ...] = (None, 5, True, b"file", ["file"], "", "a\0b")


class Case(NamedTuple):
    """Call of a public function with wrong values of one argument."""

    function: str
    argument: str
    call: Callable[[Any], Any]
    values: tuple[Any, ...]
    named: str = ""  # text that the message must contain, by default the argument's name


TTT = shared_env("tic_tac_toe")
SHED = shared_env("shed", cards=3)
STATE = TTT.init(3, device="CPU")
OTHER = SHED.init(3, device="CPU")
ONE = te.record(TTT, [0])
VECTOR = te.VectorEnv(TTT, 3, device="CPU", observe=True)
STRICT = te.make("tic_tac_toe", illegal="raise")
TABLE = solve(3, "CPU", progress=False)
LOGITS, MASK = Tensor.zeros(3, 9), Tensor.ones(3, 9, dtype=dtypes.bool)
GAME = TTT.state_to_dict(STATE)
NO_STATE: tuple[Any, ...] = (None, 5, "state", TTT, [STATE], STATE.tensors)
NO_ENV: tuple[Any, ...] = (None, 5, "tic_tac_toe", te.Env, STATE)
NO_INTEGERS: tuple[Any, ...] = (
    None, "abc", 1.5, [], [0.0, 1.0, 2.0], [[0, 1, 2]], [[0], [1, 2]], ["a", "b", "c"], [None] * 3, [True] * 3,
    object(), {0: 1}, np.zeros((3, 1), int), np.array([1j] * 3), Tensor([1.0, 2.0, 3.0]), Tensor([[1, 2, 3]]),
    STATE, np.ma.masked_array([0, 1, 2], [False, True, False]),
)  # fmt: skip
NO_ROWS = (*NO_INTEGERS, [0], np.zeros(4, int), Tensor([1, 2]))  # for a batch of three
BOARD = np.zeros((3, 3), np.int8)
NO_BOARD: tuple[Any, ...] = (None, 5, [[0] * 3] * 3, BOARD.astype(float), BOARD.astype(np.uint8), BOARD + 2,
                             np.zeros((0, 3), np.int8), np.int8(0), "board", Tensor.zeros(3, 3))  # fmt: skip
RULES: dict[str, dict[str, tuple[Any, ...]]] = {
    "connect_four": dict.fromkeys(("rows", "columns", "k"), (None, 0, -1, 33, 1.5, 2.0, True, "3", (3,), HUGE)),
    "go": {
        "size": (None, 0, -1, 20, 1.5, 2.0, True, "3", (3,), HUGE),
        "komi": (None, 0.3, 362, -400.5, "7", True, (3,), HUGE, float("nan"), float("inf")),
        "max_plies": (0, -1, 1.5, True, "3", 2**31, HUGE),
    },
    "hex": {"size": (None, 0, -1, 20, 1.5, 2.0, True, "3", (3,), HUGE), "swap": NO_BOOL},
    "hyper_tic_tac_toe": {
        "shape": (None, 5, "333", (), (0, 3), (-1,), (3.0, 3), (True, 3), ("3", 3), (HUGE,), (2**16, 2**16),
                  (1,) * 20, (2,) * 31, [[3]], (None,)),
        "k": (None, 0, -1, 1.5, 2.0, True, "3", 4, HUGE),
    },
    "shed": {"cards": (None, 0, 33, 1.5, True, "3", HUGE), "max_plies": (0, -1, 1.5, True, "3", 2**31, HUGE)},
    "tensor_stars": {
        **dict.fromkeys(("points_to_win", "max_hands"), (None, 0, -1, 1.5, True, "3", HUGE)),
        **dict.fromkeys(("score_stops_piece", "reset_at_once", "random_colours"), NO_BOOL),
        **dict.fromkeys(("win_check", "star_rule", "star_credit", "ask_order", "reset"), (None, 5, "", "x", ["card"])),
        "board": (None, 5, "board", [], {"lines": 5}, {"lines": [((0, 0), (1, 1))]}, {"lines": [((0, 0), (10**8, 0))]},
                  {"lines": [((0, 0), (HUGE, 0))]}, {"lines": [((0, 0), (0, -1))]}, {"starts": []}, {"stars": [5]},
                  {"stars": [((0, 1), True)]}, {"lines": [((i, 0), (i, 5)) for i in range(0, 10**5)]}),
        "deck": (None, 5, "deck", [], [Card(0, ("T1",))] * 9, [5] * 10, [{"number": 1}] * 10,
                 [{"number": 1, "parts": ["T0"]}] * 10, [{"number": 1, "parts": ["T100000000000000000000"]}] * 10,
                 [{"number": 1, "parts": [f"T{'9' * 5000}"]}] * 10, [{"number": HUGE, "parts": ["T1"]}] * 10,
                 [{"number": True, "parts": ["T1"]}] * 10),
    },
    "three_will": {
        **dict.fromkeys(("cards_each", "cards_total", "max_turns", "to_win"), (None, -1, 1.5, 3.0, True, "3", HUGE)),
        **dict.fromkeys(("fail_ends_turn", "loan", "challenge", "ids_visible", "supplementary"), NO_BOOL),
        "first_player": (None, -2, 2, 0.0, False, "0", HUGE),
        "held_under_locked": (None, 5, "", "x", True, ["held"]),
        "chart": (None, 5, "chart", [], [[(0, 1)]] * 5, [[(0, 0)]] * 6, [[(0, 2)]] * 6, [[5]] * 6, [[(0, True)]] * 6),
    },
    "tensor_equilibrium": {
        **dict.fromkeys(("players", "board_radius"), (None, 0, 5, 1.5, 2.0, True, "2", HUGE)),
        **dict.fromkeys(("max_rounds", "max_decisions", "market_size", "tiles_per_type"),
                        (None, 0, -1, 1.5, True, "3", HUGE)),
        **dict.fromkeys(("cost_load", "gpu_start", "load_tweaks", "centre_cell"), (None, -2, 1.5, True, "3", HUGE)),
        **dict.fromkeys(("op_cost", "tier_level", "tiebreak_order", "fixed_cards", "dark_cells", "pass_reward"),
                        (None, 5, "12", [1.5], [True] * 4, [HUGE] * 4, [[1]] * 4, {}, [-HUGE])),
        **dict.fromkeys(("setup_order", "reward_mode", "storage_over_limit"), (None, 5, "", "x", ["turn"])),
        **dict.fromkeys(("hack_bonus", "final_pass_reward", "observe_pile_counts"), NO_BOOL),
        "tensor_cards": (None, 5, "cards", [], [5], [[[0, 1], [2, 2]]] * 4, [[[0, 1], [2, 9]]] * 4, [[0, 1, 2, 3]] * 4,
                         [[["a", "b"], ["c", "d"]]] * 4, [[[0, 1], [2, [3]]]] * 4),
    },
}  # fmt: skip


@dataclass
class Soft:
    """Mutable rules."""


def cases() -> Iterator[Case]:
    states: dict[str, Callable[[Any], Any]] = {
        "Env.step": lambda x: TTT.step(x, [0, 1, 2]),
        "Env.reset": TTT.reset,
        "Env.take": lambda x: TTT.take(x, [0]),
        "Env.observe": TTT.observe,
        "Env.state_to_dict": TTT.state_to_dict,
        "Env.to_string": TTT.to_string,
        "Env.render": TTT.render,
        "uniform": te.agents.uniform,
        "rollout_from": lambda x: te.rollout_from(x, "uniform", 2),
        "playout": lambda x: te.playout(x, 2),
        "flat_monte_carlo": lambda x: te.search.flat_monte_carlo(x, 2),
        "perfect": te.agents.perfect(),
        "playout_policy": lambda x: te.search.playout_policy(x, 2),
        "gumbel_muzero_policy": lambda x: te.search.gumbel_muzero_policy(x, evaluation),
        "muzero_policy": lambda x: te.search.muzero_policy(x, evaluation),
        "save_state": lambda x: te.save_state(x, "file"),
        "contact_sheet": te.contact_sheet,
        "Tablebase.value": TABLE.value,
        "Tablebase.action_values": TABLE.action_values,
        "Tablebase.best_actions": TABLE.best_actions,
        "Tablebase.regret": lambda x: TABLE.regret(x, [0, 0, 0]),
    }
    for name, call in states.items():
        yield Case(name, "state", call, NO_STATE)
    envs: dict[str, Callable[[Any], Any]] = {
        "rollout": lambda x: te.rollout(x, "uniform", 2, 2),
        "VectorEnv": lambda x: te.VectorEnv(x, 2),
        "debug": te.debug,
        "check_env": check_env,
    }
    for name, call in envs.items():
        yield Case(name, "env", call, NO_ENV)
    for name, fields in RULES.items():
        for field, values in fields.items():
            named = "deck|card|spaces" if field == "deck" else "board|Star" if field == "board" else ""
            yield Case(f"make({name!r})", field, lambda x, n=name, f=field: te.make(n, **{f: x}), values, named)
    yield Case("make", "id", te.make, (*NO_TEXT, "", "tiddlywinks", "a b/c", "x" * 10**6))
    yield Case("make", "illegal", lambda x: te.make("shed", illegal=x), (*NO_TEXT, "", "ignore"))
    yield Case("make", "size", lambda x: te.make("shed", size=x), (5,))
    yield Case("Env.init", "batch", TTT.init, NO_COUNT)
    yield Case("Env.init", "seed", lambda x: TTT.init(2, x), (*NO_INT, -1, 2**64, HUGE))
    yield Case("Env.init", "device", lambda x: TTT.init(2, device=x), NO_DEVICE)
    yield Case("Env.init", "first_row", lambda x: TTT.init(2, first_row=x), (*NO_INT, -1, 2**32 - 1, HUGE))
    yield Case("Env.step", "action", lambda x: TTT.step(STATE, x), NO_ROWS)
    yield Case("Env.step(raise)", "illegal", lambda x: STRICT.step(STRICT.init(3), x), ([0, 1, 9], [0, 1, -1]))
    masks = (5, "abc", [1, 0, 1], [True], [[True] * 3], [[True], []], Tensor([1, 0, 1]), object(), {}, [None] * 3)
    yield Case("Env.reset", "mask", lambda x: TTT.reset(STATE, x), masks)
    yield Case("VectorEnv.reset", "mask", VECTOR.reset, masks)
    yield Case("Env.take", "rows", lambda x: TTT.take(STATE, x), (*NO_INTEGERS, [3], [-1], [HUGE]))
    players: tuple[Any, ...] = (-1, 2, HUGE, 1.5, "0", True, [0], [0.0, 1.0, 0.0], [0, 1, 2], [0, 1, -1], {}, object())
    yield Case("Env.observe", "player", lambda x: TTT.observe(STATE, x), players)
    for name, method in (("state_to_dict", TTT.state_to_dict), ("to_string", TTT.to_string), ("render", TTT.render)):
        yield Case(f"Env.{name}", "row", lambda x, m=method: m(STATE, x), (*NO_INT, -1, 3, HUGE))
        yield Case(f"Env.{name}", "player", lambda x, m=method: m(STATE, 0, x), (*NO_INT[1:], -1, 2, HUGE))
    games: tuple[Any, ...] = (None, 5, "game", [], [5], [None], [{}], ["board"], [{**GAME, "board": 5}],
             [{**GAME, "board": [2] * 9}],
             [{**GAME, "board": None}], [{**GAME, "current_player": "0"}], [{**GAME, "current_player": []}],
             [{**GAME, "ply": "1"}], [{**GAME, "ply": HUGE}], [{**GAME, "terminated": "no"}],
             [{**GAME, "board": [["x"]] * 9}], [GAME, []], {0: GAME})  # fmt: skip
    yield Case("Env.state_from_dicts", "positions", TTT.state_from_dicts, games, "game|positions")
    yield Case("Env.state_from_dicts", "seed", lambda x: TTT.state_from_dicts([GAME], x), (*NO_INT, -1, HUGE))
    yield Case("Env.action_to_string", "action", TTT.action_to_string, (*NO_INT, -1, 9, HUGE))
    yield Case("Env.action_to_string", "state", lambda x: TTT.action_to_string(0, x), (5, OTHER))
    yield Case("Env.action_to_string", "row", lambda x: TTT.action_to_string(0, STATE, x), (*NO_INT, -1, 3))
    yield Case("Env.string_to_action", "name", TTT.string_to_action, NO_TEXT)
    yield Case("Env.string_to_action", "action", TTT.string_to_action, ("", "(9,9)", "x" * 10**5))
    yield Case("VectorEnv", "num_envs", lambda x: te.VectorEnv(TTT, x), NO_COUNT)
    yield Case("VectorEnv", "seed", lambda x: te.VectorEnv(TTT, 2, x), (*NO_INT, -1, HUGE))
    yield Case("VectorEnv", "device", lambda x: te.VectorEnv(TTT, 2, device=x), NO_DEVICE)
    yield Case("VectorEnv", "autoreset", lambda x: te.VectorEnv(TTT, 2, autoreset=x), (*NO_TEXT, True, "", "no"))
    yield Case("VectorEnv", "first_row", lambda x: te.VectorEnv(TTT, 2, first_row=x), (*NO_INT, -1, HUGE))
    for flag in ("observe", "final_states"):
        yield Case("VectorEnv", flag, lambda x, f=flag: te.VectorEnv(TTT, 2, **{f: x}), NO_BOOL)
    yield Case("VectorEnv.step", "action", VECTOR.step, NO_ROWS)
    yield Case("VectorEnv.state", "state", lambda x: setattr(VECTOR, "state", x), (*NO_STATE, OTHER, TTT.init(2)))
    yield Case("rollout", "policy", lambda x: te.rollout(TTT, x, 2, 2), (None, 5, "", "best", ["uniform"], np.zeros(3)))
    yield Case("rollout", "policy", lambda x: te.rollout(TTT, lambda s: x, 2, 2), (None, 5, [0, 0]))
    yield Case("rollout", "action", lambda x: te.rollout(TTT, lambda s: x, 2, 2), (Tensor([0.5, 0.5]), Tensor([1])))
    yield Case("rollout", "batch", lambda x: te.rollout(TTT, "uniform", x, 2), NO_COUNT)
    yield Case("rollout", "steps", lambda x: te.rollout(TTT, "uniform", 2, x), NO_COUNT)
    yield Case("rollout", "seed", lambda x: te.rollout(TTT, "uniform", 2, 2, x), (*NO_INT, -1, HUGE))
    yield Case("rollout", "device", lambda x: te.rollout(TTT, "uniform", 2, 2, device=x), NO_DEVICE)
    yield Case(
        "rollout", "first_row", lambda x: te.rollout(TTT, "uniform", 2, 2, first_row=x), (*NO_INT, -1, 2**32 - 1)
    )
    yield Case("text.prompt", "state", te.text.prompt, (None, 5))
    yield Case("text.prompt", "i", lambda x: te.text.prompt(STATE, x), (*NO_INT, -1, 3))
    yield Case("text.prompt", "player", lambda x: te.text.prompt(STATE, 0, x), (*NO_INT[1:], -1, 2))
    yield Case("text.prompt", "history", lambda x: te.text.prompt(STATE, history=x), (5, "0", [0]))
    yield Case("text.reward", "game", te.text.reward, (None, 5, "{}"))
    yield Case("text.reward", "oracle", lambda x: te.text.reward(ONE, x), (5, "perfect"))
    yield Case("text.reward", "num_simulations", lambda x: te.text.reward(ONE, None, x), (*NO_INT, 0, 2**20 + 1))
    yield Case("record", "actions", lambda x: te.record(TTT, x), (None, 5, "0", b"0", np.array(0)))
    yield Case("PlayoutOracle", "num_simulations", te.PlayoutOracle, (*NO_INT, 0, 2**20 + 1))
    yield Case("text.prompt", "legal", lambda x: te.text.prompt(STATE, legal=x), (None, 1, "no"))
    yield Case(
        "text.parse", "answer", lambda x: te.text.parse(TTT, x), (*NO_TEXT, "", "x", "(0,0) or (1,1)", "9" * 400)
    )
    yield Case("text.parse", "state", lambda x: te.text.parse(TTT, "(0,0)", x), (5, OTHER))
    yield Case("text.parse", "i", lambda x: te.text.parse(TTT, "(0,0)", STATE, x), (*NO_INT, -1, 3))
    yield Case("shard", "batch", lambda x: te.shard(x, 0, 1), NO_COUNT)
    yield Case("shard", "rank", lambda x: te.shard(5, x, 3), (*NO_INT[1:], -1, 3))
    yield Case("shard", "world_size", lambda x: te.shard(5, 0, x), (*NO_COUNT[1:], 6))
    yield Case("rollout", "autoreset", lambda x: te.rollout(TTT, "uniform", 2, 2, autoreset=x), NO_RESET)
    yield Case("rollout_from", "steps", lambda x: te.rollout_from(STATE, "uniform", x), NO_COUNT)
    yield Case("rollout_from", "autoreset", lambda x: te.rollout_from(STATE, "uniform", 2, x), NO_RESET)
    yield Case("playout", "num_playouts", lambda x: te.playout(STATE, x), NO_COUNT)
    yield Case("playout", "action", lambda x: te.playout(STATE, 2, x), NO_ROWS[1:])
    yield Case("playout", "seed", lambda x: te.playout(STATE, 2, None, x), (*NO_INT, -1, HUGE))
    yield Case("playout", "limit", lambda x: te.playout(STATE, 2, limit=x), NO_COUNT)
    search = te.search.flat_monte_carlo
    yield Case("flat_monte_carlo", "num_playouts", lambda x: search(STATE, x), NO_COUNT)
    yield Case("flat_monte_carlo", "seed", lambda x: search(STATE, 2, x), (*NO_INT, -1, 2**44, HUGE))
    yield Case("flat_monte_carlo", "limit", lambda x: search(STATE, 2, limit=x), NO_COUNT)
    some = (5, 1.5, "abc", [0.5], [[0]], [3], [-1], ["a"], [None], object(), [HUGE])
    yield Case("flat_monte_carlo", "rows", lambda x: search(STATE, 2, rows=x), some)
    searches: dict[str, Callable[..., Any]] = {
        "playout_policy": lambda **arguments: te.search.playout_policy(STATE, **{"num_simulations": 2} | arguments),
        "gumbel_muzero_policy": lambda **arguments: te.search.gumbel_muzero_policy(
            STATE, **{"evaluate": evaluation} | arguments
        ),
        "muzero_policy": lambda **arguments: te.search.muzero_policy(STATE, **{"evaluate": evaluation} | arguments),
    }
    wrong: dict[str, tuple[Any, ...]] = {
        "num_simulations": NO_COUNT,
        "seed": (*NO_INT, -1, HUGE),
        "chance": ("closed", None, 1),
        "keep_tree": NO_BOOL,
    }
    networks = {"evaluate": (5, "f", lambda s: 5, lambda s: (s.ply, s.ply))}
    specific: dict[str, dict[str, tuple[Any, ...]]] = {
        "playout_policy": {"exploration": (*NO_NUMBER[1:], -0.5), "limit": NO_COUNT},
        "gumbel_muzero_policy": {
            "max_num_considered_actions": NO_COUNT,
            "gumbel_scale": (*NO_NUMBER, -0.5),
            **networks,
        },
        "muzero_policy": {
            "dirichlet_fraction": (*NO_NUMBER, -0.5, 1.5),
            "dirichlet_alpha": (*NO_NUMBER, 0.0, 17.0),
            "pb_c_init": (*NO_NUMBER, -0.5),
            "pb_c_base": (*NO_NUMBER, 0.5),
            "temperature": (*NO_NUMBER, -0.5),
            **networks,
        },
    }
    for name, call in searches.items():
        for argument, values in (wrong | specific[name]).items():
            yield Case(name, argument, lambda x, f=call, k=argument: f(**{k: x}), values)
    yield Case("perfect", "needs an oracle", te.agents.perfect(), (te.make("kuhn_poker").init(1),))
    for number in ("gamma", "gae_lambda"):
        values = (*NO_NUMBER, -0.5, 1.5)
        yield Case("advantages", number, lambda x, n=number: advantages(**{n: x}), values)
    yield Case(
        "advantages", "outcomes", lambda x: advantages(outcomes=x), (None, 5, [], [5], [()], [(1, 2)], "outcomes")
    )
    yield Case("advantages", "next_player", lambda x: advantages(next_player=x), (None, 5, [], np.zeros(2)))
    yield Case("advantages", "next_value", lambda x: advantages(next_value=x), (None, 5, [], np.zeros((2, 2))))
    yield Case("debug", "seed", lambda x: te.debug(TTT, x), (*NO_INT, -1, 2**64, HUGE))
    yield Case("debug", "row", lambda x: te.debug(TTT, row=x), (*NO_INT, -1, 2**32, HUGE))
    yield Case("debug", "episode", lambda x: te.debug(TTT, episode=x), (*NO_INT, -1, 2**32, HUGE))
    yield Case("debug", "game", lambda x: te.debug(TTT, game=x), (5, [], "x", {}, {"board": [[3] * 3] * 3}))
    yield Case("ScalarGame", "rules", te.ScalarGame, (None, 5, TTT, DiceRace, Soft()))
    yield Case("ScalarGame", "seed", lambda x: te.ScalarGame(TTT.rules, x), (*NO_INT, -1, HUGE))
    yield Case("ScalarGame.step", "action", lambda x: te.debug(TTT).step(x), NO_INT)
    yield Case("ScalarGame.observe", "player", lambda x: te.debug(TTT).observe(x), (*NO_INT[1:], -1, 2, HUGE))
    yield Case("masked_logits", "logits", lambda x: te.masked_logits(x, MASK), (None, 5, [[0.0] * 9], np.zeros((3, 9)),
               Tensor.zeros(3, 9, dtype=dtypes.int32), Tensor.zeros(2, 9)))  # fmt: skip
    yield Case("masked_logits", "mask", lambda x: te.masked_logits(LOGITS, x), (None, 5, np.ones((3, 9), bool),
               Tensor.ones(3, 9), MASK[:2]))  # fmt: skip
    key = STATE.action_key
    yield Case("sample_action", "logits", lambda x: te.sample_action(x, MASK, key, 0), (None, LOGITS[:2]))
    yield Case("sample_action", "key", lambda x: te.sample_action(LOGITS, MASK, x, 0), (None, 5, key[:2],
               key.cast(dtypes.int32)))  # fmt: skip
    yield Case("sample_action", "counter", lambda x: te.sample_action(LOGITS, MASK, key, x), (*NO_INT, -1, 2**32,
               Tensor([1, 2]), Tensor([0.5] * 3)))  # fmt: skip
    yield Case("from_numpy", "array", te.from_numpy, (None, 5, [1], STATE, np.array(["a"]), np.array([1j])))
    yield Case("to_numpy", "tensor", te.to_numpy, (None, 5, [1], np.zeros(2), STATE))
    for copy, call in (
        ("from_numpy", lambda x: te.from_numpy(np.zeros(2), x)),
        ("to_numpy", lambda x: te.to_numpy(key, x)),
    ):
        yield Case(copy, "copy", call, (0, 1, "no", []))
    yield Case("jit", "function", te.jit, (None, 5, "step"))
    yield Case("save_state", "path", lambda x: te.save_state(STATE, x), NO_PATH)
    yield Case("load_state", "path", te.load_state, NO_PATH)
    yield Case(
        "contact_sheet", "rows", lambda x: te.contact_sheet(STATE, x), (5, [], "0", [3], [-1], [0.0], [None], [HUGE])
    )
    yield Case("contact_sheet", "columns", lambda x: te.contact_sheet(STATE, columns=x), NO_COUNT)
    yield Case("contact_sheet", "width", lambda x: te.contact_sheet(STATE, width=x), (*NO_NUMBER, 0, 10**9))
    yield Case("contact_sheet", "player", lambda x: te.contact_sheet(STATE, player=x), (*NO_INT[1:], 2, -1))
    animate = te.save_animation
    yield Case("save_animation", "states", lambda x: animate(x, "a.svg"), (None, 5, [], [None], [STATE, OTHER], STATE))
    yield Case("save_animation", "path", lambda x: animate([STATE], x), (*NO_PATH, "a.png", "a"))
    for name in ("seconds", "hold", "scale"):
        values = (*NO_NUMBER, -1)
        yield Case("save_animation", name, lambda x, n=name: animate([STATE], "a.svg", **{n: x}), values)
    yield Case("save_animation", "loop", lambda x: animate([STATE], "a.svg", loop=x), NO_BOOL)
    yield Case("save_animation", "row", lambda x: animate([STATE], "a.svg", x), (*NO_INT, 3, -1))
    yield Case("save_animation", "player", lambda x: animate([STATE], "a.svg", player=x), (*NO_INT[1:], 2, -1))
    names = (None, 5, "", "Shed", "a b/c", "_a", "shed", b"x")
    yield Case("register", "id", lambda x: te.register(te.GameEntry(x, DiceRace)), names)
    yield Case("register", "entry", te.register, (None, 5, "x", DiceRace))
    yield Case("register", "replace", lambda x: te.register(te.GameEntry("x", DiceRace), replace=x), NO_BOOL)
    yield Case("GameEntry", "rules", lambda x: te.GameEntry("x", x), (None, 5, "", "x", "a:b:c", int, DiceRace(), Soft))
    yield Case("GameEntry", "version", lambda x: te.GameEntry("x", DiceRace, version=x), (None, 1.5, True, "1", -1))
    for part in ("notation", "render"):
        yield Case("GameEntry", part, lambda x, p=part: te.GameEntry("x", DiceRace, **{p: x}), (None, 5, ["x"]))
    for table in ("presets", "short"):
        yield Case("GameEntry", table, lambda x, t=table: te.GameEntry("x", DiceRace, **{t: x}), (None, 5, "x", [1]))
    yield Case("GameEntry", "presets", lambda x: te.GameEntry("x", DiceRace, presets=x), ({"y": 5}, {"y": {"no": 1}}))
    yield Case("GameEntry", "id", lambda x: te.GameEntry("x", DiceRace, presets=x), ({5: {}}, {"": {}}, {"Y": {}}))
    yield Case("GameEntry", "short", lambda x: te.GameEntry("x", DiceRace, short=x), ({"no": 1}, {5: 1}))
    yield Case("Field", "name", lambda x: te.Field(x, high=1), (None, 5, "", "a b", "_x", "1"))
    yield Case(
        "Field", "shape", lambda x: te.Field("x", x, high=1), (None, 5, [2], (0,), (1.5,), (True,), (HUGE,), (2,) * 70)
    )
    yield Case("Field", "low|bounds", lambda x: te.Field("x", low=x, high=9), (1.5, "0", True, 10, -HUGE, HUGE))
    yield Case("Field", "high|bounds", lambda x: te.Field("x", high=x), (None, 1.5, "9", True, -1, HUGE))
    yield Case("Field", "kind", lambda x: te.Field("x", kind=x), (None, 5, "", "float", ["int"]))
    yield Case("Field", "memory", lambda x: te.Field("x", (2,), kind="uint32", memory=x), NO_BOOL)
    good = {"num_players": 2, "num_actions": 3, "observation_shape": (2,), "fields": ()}
    for name, values in {
        "num_players": NO_COUNT, "num_actions": NO_COUNT, "max_plies": NO_COUNT[1:],
        "max_legal": (*NO_COUNT[1:], 4),
        "exploration": (*NO_NUMBER, -0.5),
        "observation_shape": (None, 5, [2], (0,), (1.5,), (True,), (HUGE,), (2,) * 70),
        "observation_dtype": (None, 5, "", "float64", ["bool"]),
        "fields": (None, 5, "x", (5,), (te.Field("a", high=1),) * 2, (te.Field("ply", high=1),)),
        "chance": NO_BOOL, "zero_sum": NO_BOOL, "perfect_information": NO_BOOL,
    }.items():  # fmt: skip
        yield Case(
            "Spec", name, lambda x, n=name: te.Spec(**{**good, n: x}), values, "field" if name == "fields" else ""
        )
    yield Case("check_env", "steps", lambda x: check_env(TTT, x), NO_COUNT)
    yield Case("check_env", "device", lambda x: check_env(TTT, 5, x), NO_DEVICE)
    yield Case("kronecker_delta", "n", lambda x: ops.kronecker_delta(x, 2), NO_COUNT)
    yield Case("kronecker_delta", "rank", lambda x: ops.kronecker_delta(3, x), (*NO_COUNT, 10**6, 10**9))
    yield Case("line_kernels", "rank", lambda x: ops.line_kernels(x, 3), (*NO_COUNT, 10**6, 10**9))
    yield Case("line_kernels", "k", lambda x: ops.line_kernels(2, x), NO_COUNT)
    for name, function in (("winner", ops.winner), ("count_lines", ops.count_lines), ("find_lines", ops.find_lines),
                           ("line_convolution", ops.line_convolution)):  # fmt: skip
        run: Any = function
        boards = NO_BOARD if name != "line_convolution" else tuple(x for x in NO_BOARD if not isinstance(x, Tensor))
        yield Case(name, "board", lambda x, f=run: f(x, 3), boards)
        yield Case(name, "k", lambda x, f=run: f(BOARD, x), (*NO_COUNT, 4))
        yield Case(name, "device", lambda x, f=run: f(BOARD, 3, device=x), NO_DEVICE)
        if name != "find_lines":
            yield Case(name, "rank", lambda x, f=run: f(BOARD, 3, x), (*NO_COUNT[1:], 3))
        yield Case(
            name,
            "board",
            lambda x, f=run: f(x, 1),
            (np.zeros((1,) * 20, np.int8), Tensor.zeros(*(1,) * 20, dtype=dtypes.int8)),
        )
    yield Case("find_lines", "max_lines", lambda x: ops.find_lines(BOARD, 3, x), NO_COUNT)
    yield Case(
        "find_lines",
        "counts",
        lambda x: ops.find_lines(BOARD, 3, counts=x),
        (5, "x", [1], np.zeros(3), np.zeros((4, 3), int)),
    )
    for name in ("line_directions", "num_directions"):
        yield Case(name, "rank", getattr(ops, name), (*NO_COUNT, 10**6, 10**9))
    shapes = (None, 5, "33", (), (0,), (1.5,), (True,), (HUGE,), (1,) * 20)
    yield Case("num_lines", "shape", lambda x: ops.num_lines(x, 3), shapes)
    yield Case("num_lines", "k", lambda x: ops.num_lines((3, 3), x), NO_COUNT)
    yield Case("placements", "shape", lambda x: ops.placements(x, 3, (0, 1)), shapes)
    yield Case("placements", "k", lambda x: ops.placements((3, 3), x, (0, 1)), NO_COUNT)
    yield Case("placements", "d", lambda x: ops.placements((3, 3), 3, x), (None, 5, (), (1,), (0, 2), (0, True), "01"))
    yield Case("starts", "shape", lambda x: list(ops.starts(x, 3, (0, 1))), shapes)
    yield Case("starts", "k", lambda x: list(ops.starts((3, 3), x, (0, 1))), NO_COUNT)
    yield Case("starts", "d", lambda x: list(ops.starts((3, 3), 3, x)), (None, 5, (), (1,), (0, 2), "01"))
    yield Case("solve", "cards", lambda x: solve(x, "CPU", False), (*NO_COUNT, 22))
    yield Case("solve", "device", lambda x: solve(3, x, False), NO_DEVICE)
    yield Case("solve", "progress", lambda x: solve(3, "CPU", x), NO_BOOL)
    yield Case("solve", "path", lambda x: solve(3, "CPU", False, x), NO_PATH[1:])
    yield Case("Tablebase.load", "path", Tablebase.load, NO_PATH)
    yield Case("Tablebase.write", "path", TABLE.write, NO_PATH)
    yield Case("Tablebase.value", "table", TABLE.value, (STATE, shared_env("shed", cards=4).init(2)))
    yield Case("Tablebase.regret", "action", lambda x: TABLE.regret(OTHER, x), NO_ROWS)
    yield Case("Tablebase.quiet_values", "talon", TABLE.quiet_values, (*NO_INT, -1, 8, HUGE))
    yield Case(
        "Card", "parts", lambda x: Card(1, x), (None, 5, (), "T1", ("T1", "T1", "T1"), (5,), (f"T{HUGE}",)), "part"
    )
    yield Case(
        "Board",
        "lines",
        lambda x: Board(lines=x),
        (None, 5, "x", [5], [((0, 0),)], [((0, 0), (0, HUGE))]),
        "line|space",
    )
    for loader in (load_rules, load_equilibrium):
        yield Case("load_rules", "path", loader, NO_PATH)


def evaluation(state: te.State) -> tuple[Tensor, Tensor]:
    return Tensor.zeros(state.batch, state.env.num_actions), Tensor.zeros(state.batch)


def advantages(**changes: Any) -> Any:
    step = (np.zeros((2, 2)), np.zeros((2, 2)), np.zeros(2), np.zeros(2), np.zeros(2))
    arguments = {
        "outcomes": [step],
        "next_player": np.zeros((2, 2)),
        "next_value": np.zeros(2),
        "gamma": 1.0,
        "gae_lambda": 1.0,
    }
    return te.advantages(**(arguments | changes))


@contextmanager
def at_once() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise RuntimeError(f"not refused within {SECONDS} seconds")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


def world() -> tuple[Any, ...]:
    """Return the state that a refused call must leave unchanged."""
    arrays = [*STATE.numpy().values(), *OTHER.numpy().values(), *VECTOR.state.numpy().values()]
    return VECTOR._count, dict(_entries), sorted(os.listdir()), [array.tobytes() for array in arrays]


ALL = [*cases()]


def test_these_are_hundreds() -> None:
    assert sum(len(case.values) for case in ALL) >= 1000


@pytest.mark.parametrize("case", ALL, ids=[f"{case.function}-{case.argument}" for case in ALL])
def test_one_clear_error(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = world()
    for i, value in enumerate(case.values):
        message = error_of(case.call, value, f"value {i}")
        assert len(message) <= LONGEST and "\n" not in message, (i, message)
        assert re.search(rf"\b({case.named or case.argument})", message), (i, message)
        assert world() == before, i


def error_of(call: Callable[[Any], Any], value: Any, where: str) -> str:
    """Return the message of the error that a call with a wrong value raises at once."""
    try:
        with at_once():
            call(value)
    except (TypeError, ValueError) as error:
        return str(error)
    pytest.fail(f"{where} is not refused")


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda env: env.reset(seed=0), TypeError, "write env.init.batch, seed=0. to start some"),
        (lambda env: env.action_space, AttributeError, "env.num_actions is the number of actions"),
        (lambda env: env.observation_space, AttributeError, "env.observation_shape and env.spec.observation_dtype"),
        (lambda env: env.nonsense, AttributeError, "an Env has no attribute 'nonsense'$"),
        (
            lambda env: env.init(1, device="GPU"),
            ValueError,
            "device 'GPU' cannot be opened here: tinygrad has 'CPU', 'CUDA'",
        ),
        (lambda env: te.make("tensor_envs/TicTacToe-v9"), ValueError, "did you mean 'tensor_envs/TicTacToe-v0'"),
        (lambda env: te.make("tic_tac_toe-v9"), ValueError, "did you mean 'tic_tac_toe-v0'"),
        (lambda env: te.make("tensor_envs/Chess"), ValueError, r"did you mean 'chess'\?"),
        (lambda env: te.make("tensor_envs/TicTacToe"), ValueError, r"did you mean 'tic_tac_toe'\?"),
        (lambda env: te.make("CHESS-V0"), ValueError, r"did you mean 'chess'\?"),
    ],
)
def test_habits_of_gymnasium(call: Any, kind: type[Exception], message: str) -> None:
    """Errors say what to write instead."""
    with pytest.raises(kind, match=message):
        call(TTT)


def test_versioned_ids() -> None:
    for id in ("tic_tac_toe-v0", "tensor_envs/TicTacToe-v0"):
        assert te.make(id).plays_like(TTT) and te.make(id).id == "tic_tac_toe"
    assert all(te.make(gymnasium_id(name, te.make(name).version)).id == name for name in te.registered())


def test_completion_offers_public_names() -> None:
    assert dir(te) == sorted(te.__all__)
