"""Searches by mctx on Pgx with the positions, networks and noise of the tests.

`python -m tests.search.mctx_trees` records them.
"""

from __future__ import annotations

import functools
import importlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

import tensor_envs as te

RECORDED = Path(__file__).parents[1] / "data" / "mctx_trees.json"
BATCH, HIDDEN, CONSIDERED = 24, 32, 16
# game, simulations, random plies before
SETTINGS = [
    *(("tic_tac_toe", simulations, plies) for simulations, plies in ((8, 0), (8, 3), (32, 1), (32, 4), (64, 2))),
    *(("connect_four", simulations, plies) for simulations, plies in ((8, 3), (16, 5), (32, 0), (32, 8), (64, 12))),
]


def weights(env: te.Env) -> list[np.ndarray]:
    random, size = np.random.default_rng(1), math.prod(env.observation_shape)
    shapes = ((size, HIDDEN), (HIDDEN, env.num_actions), (HIDDEN, 1))
    scales = ((2 / size) ** 0.5, 0.3, 0.3)
    return [(random.normal(size=s) * k).astype(np.float32) for s, k in zip(shapes, scales, strict=True)]


def noise(env: te.Env) -> np.ndarray:
    """Return Gumbel noise, float32 [B, A]."""
    return np.random.default_rng(2).gumbel(size=(BATCH, env.num_actions)).astype(np.float32)


def played(env: te.Env, plies: int) -> tuple[te.State, list[np.ndarray]]:
    """Return positions and the actions that lead to them; some games may be over."""
    state, actions = env.init(BATCH, seed=plies), []
    for _ in range(plies):
        actions.append(te.agents.uniform(state).numpy())
        state = env.step(state, actions[-1])
    return state, actions


def by_mctx(name: str, simulations: int, plies: int) -> dict[str, np.ndarray]:
    """Run mctx's `gumbel_muzero_policy` with fixed noise, by its parts. Returns visits and actions."""
    jax, jnp, mctx, pgx, selection, halving = (
        importlib.import_module(module)
        for module in ("jax", "jax.numpy", "mctx", "pgx", "mctx._src.action_selection", "mctx._src.seq_halving")
    )
    search: Any = importlib.import_module("mctx._src.search").search
    env, game = te.make(name), pgx.make(name)
    state = jax.vmap(game.init)(jax.random.split(jax.random.PRNGKey(0), BATCH))
    step, gumbel = jax.jit(jax.vmap(game.step)), noise(env)
    for actions in played(env, plies)[1]:
        state = step(state, actions)
    first, policy, value = weights(env)

    def network(state: Any) -> tuple[Any, Any]:
        # Pgx's observations have the planes last
        planes = jnp.moveaxis(state.observation, -1, 1).reshape(BATCH, -1).astype(jnp.float32)
        x = jax.nn.relu(planes @ first)
        return x @ policy, jnp.tanh(x @ value)[:, 0]

    def recurrent(_: Any, __: Any, action: Any, state: Any) -> Any:
        mover = state.current_player
        state = step(state, action)
        logits, value = network(state)
        over = state.terminated
        return mctx.RecurrentFnOutput(
            reward=state.rewards[jnp.arange(BATCH), mover],
            discount=jnp.where(over, 0.0, -1.0),
            prior_logits=jnp.where(state.legal_action_mask, logits, jnp.finfo(jnp.float32).min),
            value=jnp.where(over, 0.0, value),
        ), state

    illegal = ~state.legal_action_mask
    logits, root_value = network(state)
    logits = jnp.where(illegal, jnp.finfo(jnp.float32).min, logits - logits.max(-1, keepdims=True))
    transform = mctx.qtransform_completed_by_mix_value
    tree = search(
        None,
        jax.random.PRNGKey(0),
        root=mctx.RootFnOutput(prior_logits=logits, value=root_value, embedding=state),
        recurrent_fn=recurrent,
        root_action_selection_fn=functools.partial(
            selection.gumbel_muzero_root_action_selection,
            num_simulations=simulations,
            max_num_considered_actions=CONSIDERED,
            qtransform=transform,
        ),
        interior_action_selection_fn=functools.partial(
            selection.gumbel_muzero_interior_action_selection, qtransform=transform
        ),
        num_simulations=simulations,
        invalid_actions=illegal,
        extra_data=mctx.GumbelMuZeroExtraData(root_gumbel=gumbel),
    )
    visits = tree.summary().visit_counts
    values = jax.vmap(transform, in_axes=[0, None])(tree, 0)
    scores = halving.score_considered(visits.max(-1, keepdims=True), gumbel, logits, values, visits)
    return {"visits": np.asarray(visits), "action": np.asarray(selection.masked_argmax(scores, illegal))}


def main() -> None:
    found = {
        f"{name}, {simulations}, {plies}": {
            key: value.astype(int).tolist() for key, value in by_mctx(name, simulations, plies).items()
        }
        for name, simulations, plies in SETTINGS
    }
    RECORDED.write_text(json.dumps(found, separators=(",", ":")).replace('"tic', '\n"tic').replace('"con', '\n"con'))


if __name__ == "__main__":
    main()
