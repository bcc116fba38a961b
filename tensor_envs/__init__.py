"""Batched board- and card-game environments in pure tinygrad: exact rules, one kernel a step, on any device."""

import functools
import importlib
import sys
import warnings
from typing import TYPE_CHECKING, Any

from tensor_envs import lab, ops, search, text, train
from tensor_envs._engine.entry import GameEntry
from tensor_envs._runtime.exchange import from_dlpack, from_numpy, from_torch, to_dlpack, to_numpy, to_torch
from tensor_envs._runtime.jitted import jit
from tensor_envs._runtime.threads import num_threads, set_num_threads
from tensor_envs.envs.counts import DecisionCounts
from tensor_envs.envs.env import Env, concat, where
from tensor_envs.envs.inspection import Inspection, inspect
from tensor_envs.envs.interpreter import ScalarGame, debug
from tensor_envs.envs.registry import register, registered
from tensor_envs.envs.rollout import Rollout, Shard, playout, rollout, rollout_from, shard
from tensor_envs.envs.sampling import masked_logits, sample_action
from tensor_envs.envs.state import State
from tensor_envs.envs.vector import Transition, VectorEnv
from tensor_envs.equilibria.equilibrium import Equilibrium, equilibrium
from tensor_envs.equilibria.exploitability import best_response, exploitability
from tensor_envs.equilibria.game_tree import GameTree, game_tree
from tensor_envs.equilibria.resolve import resolve
from tensor_envs.equilibria.tabular_policy import TabularPolicy
from tensor_envs.evaluation import (
    Evaluation,
    ExploitabilityBound,
    PlayoutOracle,
    Ratings,
    agents,
    arena,
    evaluate,
    exploitability_bound,
    regret,
)
from tensor_envs.evaluation.agents import Oracle
from tensor_envs.files.pictures import contact_sheet, save_animation
from tensor_envs.files.records import Record, load_game, record, replay, save_game
from tensor_envs.files.states import load_state, save_state
from tensor_envs.rules import Chance, Field, GameState, Outcome, Rules, Spec, Symmetry
from tensor_envs.solve.alpha_beta import SearchSolution
from tensor_envs.solve.enumeration import Solution, solve
from tensor_envs.solve.perft import Perft, perft
from tensor_envs.train.advantages import advantages

if TYPE_CHECKING:
    from tensor_envs import testing
    from tensor_envs._known_games import make as make  # a stub: rules and fields of each game
else:
    from tensor_envs.envs.registry import make

__version__ = "0.3.0"

# names of version 0.2, until 0.4
_RENAMED = {"PlainGame": "ScalarGame", "policies": "agents", "random_policy": "agents.uniform"}


def __getattr__(name: str) -> Any:
    """Return the conformance test, which is imported at its first use, or what a deprecated name stands for."""
    if name == "testing":
        return importlib.import_module("tensor_envs.testing")
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{__name__}.{name} is {__name__}.{_RENAMED[name]} now", DeprecationWarning, stacklevel=2)
    return functools.reduce(getattr, _RENAMED[name].split("."), sys.modules[__name__])


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return __all__


__all__ = [
    "Chance",
    "DecisionCounts",
    "Env",
    "Equilibrium",
    "Evaluation",
    "ExploitabilityBound",
    "Field",
    "GameEntry",
    "GameState",
    "GameTree",
    "Inspection",
    "Oracle",
    "Outcome",
    "Perft",
    "PlayoutOracle",
    "Ratings",
    "Record",
    "Rollout",
    "Rules",
    "ScalarGame",
    "SearchSolution",
    "Shard",
    "Solution",
    "Spec",
    "State",
    "Symmetry",
    "TabularPolicy",
    "Transition",
    "VectorEnv",
    "__version__",
    "advantages",
    "agents",
    "arena",
    "best_response",
    "concat",
    "contact_sheet",
    "debug",
    "equilibrium",
    "evaluate",
    "exploitability",
    "exploitability_bound",
    "from_dlpack",
    "from_numpy",
    "from_torch",
    "game_tree",
    "inspect",
    "jit",
    "lab",
    "load_game",
    "load_state",
    "make",
    "masked_logits",
    "num_threads",
    "ops",
    "perft",
    "playout",
    "record",
    "register",
    "registered",
    "regret",
    "replay",
    "resolve",
    "rollout",
    "rollout_from",
    "sample_action",
    "save_animation",
    "save_game",
    "save_state",
    "search",
    "set_num_threads",
    "shard",
    "solve",
    "testing",
    "text",
    "to_dlpack",
    "to_numpy",
    "to_torch",
    "train",
    "where",
]
