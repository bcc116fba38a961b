"""Batched board- and card-game environments in pure tinygrad: exact rules, one kernel a step, on any device."""

from tensor_envs import ops, policies, search, testing
from tensor_envs._compiler.threads import num_threads, set_num_threads
from tensor_envs.core.combine import concat, where
from tensor_envs.core.entry import GameEntry
from tensor_envs.core.env import Env
from tensor_envs.core.jit import jit
from tensor_envs.core.plain import PlainGame, debug
from tensor_envs.core.registry import make, register, registered
from tensor_envs.core.state import State
from tensor_envs.core.vector import Transition, VectorEnv
from tensor_envs.exact.counts import Perft, perft
from tensor_envs.exact.values import Solution, solve
from tensor_envs.interop import from_numpy, from_torch, to_numpy, to_torch
from tensor_envs.learning import advantages
from tensor_envs.matches import Evaluation, Ratings, arena, evaluate, regret
from tensor_envs.pictures import contact_sheet, save_animation
from tensor_envs.policies import Oracle
from tensor_envs.policy import masked_logits, random_policy, sample_action
from tensor_envs.rollout import Rollout, playout, rollout, rollout_from
from tensor_envs.rules import Chance, Field, GameState, Outcome, Rules, Spec, Symmetry
from tensor_envs.saving import load_state, save_state
from tensor_envs.sharding import Shard, shard

__version__ = "0.2.0"


__all__ = [
    "Chance",
    "Env",
    "Evaluation",
    "Field",
    "GameEntry",
    "GameState",
    "Oracle",
    "Outcome",
    "Perft",
    "PlainGame",
    "Ratings",
    "Rollout",
    "Rules",
    "Shard",
    "Solution",
    "Spec",
    "State",
    "Symmetry",
    "Transition",
    "VectorEnv",
    "__version__",
    "advantages",
    "arena",
    "concat",
    "contact_sheet",
    "debug",
    "evaluate",
    "from_numpy",
    "from_torch",
    "jit",
    "load_state",
    "make",
    "masked_logits",
    "num_threads",
    "ops",
    "perft",
    "playout",
    "policies",
    "random_policy",
    "register",
    "registered",
    "regret",
    "rollout",
    "rollout_from",
    "sample_action",
    "save_animation",
    "save_state",
    "search",
    "set_num_threads",
    "shard",
    "solve",
    "testing",
    "to_numpy",
    "to_torch",
    "where",
]
