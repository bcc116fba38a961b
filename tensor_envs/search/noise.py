"""Noise of searches at their roots: Gumbel and Dirichlet, a function of seed, row, episode, ply and action."""

from __future__ import annotations

import math

from tinygrad import Tensor, dtypes

from tensor_envs._engine.random import threefry
from tensor_envs._runtime.jitted import jit
from tensor_envs.envs.sampling import masked_logits
from tensor_envs.envs.state import State

REJECTED = -1e9
TRIES = 8  # candidates of a draw by rejection; each is accepted with probability 3/4 or more


def _uniform(state: State, seed: Tensor, draws: int, actions: Tensor | None) -> Tensor:
    """Draw uniform numbers in (0, 1) by Threefry of seed, row, episode, ply and action; no end is drawn.

    Args:
        seed: uint32 [B * 2], the same two words for every game, so that it is sharded like the games.
        draws: numbers for each action.
        actions: int32 [B, N], -1 for padding; None for all actions.

    Returns:
        float32 [B, draws, N].
    """
    buffers = state.buffers
    num_actions = state.env.num_actions
    if actions is None:
        actions = Tensor.arange(num_actions, dtype=dtypes.int32).reshape(1, -1)
    shape = (state.batch, draws, actions.shape[1])
    row = buffers.layout.view(buffers.row_keys, 2, 1)

    def spread(x: Tensor) -> Tensor:
        return x.cast(dtypes.uint32).reshape(-1, 1, 1).expand(shape)

    seed = seed.reshape(state.batch, 2)
    key = threefry((spread(seed[:, 0]), spread(seed[:, 1])), (spread(row), spread(state.episode)))
    one = spread(row).const_like(1)
    # each ply has a key of its own; the 1 keeps it apart from the keys of simulations
    key = threefry(key, (spread(state.ply), one))
    # an action has the same draws, whatever the other actions are
    first = Tensor.arange(draws, dtype=dtypes.uint32).reshape(1, -1, 1) * num_actions
    index = first + actions.cast(dtypes.uint32).reshape(-1, 1, shape[2])
    bits = threefry(key, (index.expand(shape), one))[0]
    # 24 bits are what a float32 holds exactly; half a step keeps 0 and 1 out, where noise is infinite
    return ((bits >> 8).cast(dtypes.float32) + 0.5) * 2.0**-24


def _gumbel(uniform: Tensor) -> Tensor:
    return -(-uniform.log()).log()


def _drawn(actions: Tensor | None, columns: int) -> Tensor | None:
    return None if actions is None else actions[:, :columns]


def _padded(noise: Tensor, actions: Tensor | None, padding: float = 0.0) -> Tensor:
    """Pad noise [..., columns] to the columns of the listed actions."""
    more = 0 if actions is None else actions.shape[1] - noise.shape[-1]
    return noise.pad((*(None,) * (noise.ndim - 1), (0, more)), value=padding)


@jit
def gumbel_noise(state: State, seed: Tensor, actions: Tensor | None, columns: int, scale: float) -> Tensor:
    """Draw Gumbel noise for actions of the roots, float32 [B * N].

    Args:
        actions: see `_uniform`.
        columns: number of the first columns of `actions` that are drawn; the others are padding.
    """
    noise = _gumbel(_uniform(state, seed, 1, _drawn(actions, columns))) * scale
    return _padded(noise, actions).flatten().contiguous()


@jit
def muzero_noise(
    state: State, seed: Tensor, actions: Tensor | None, columns: int, alpha: float, scale: float
) -> Tensor:
    """Draw Dirichlet noise over the legal actions, and Gumbel noise, float32 [B * 2 * N].

    actions, columns: see `gumbel_noise`.
    """
    legal = state.legal_action_mask if actions is None else actions >= 0
    # a gamma variate is a sum of exponential variates and one gamma variate with alpha at most 1
    whole = math.ceil(alpha) - 1
    uniform = _uniform(state, seed, 1 + 2 * TRIES + whole, _drawn(actions, columns))
    uniform = uniform.contiguous()  # prevents a new draw for every use
    gamma = _log_gamma(uniform[:, 1 : 1 + 2 * TRIES], alpha - whole)
    if whole:
        # the sum of exponential variates, which are minus logarithms of uniform ones
        gamma = (gamma.exp() - uniform[:, 1 + 2 * TRIES :].log().sum(1)).log()
    # contiguous, since the softmax reads it three times
    # gamma variates divided by their sum are a Dirichlet variate: a softmax of their logarithms
    dirichlet = masked_logits(_padded(gamma, actions, REJECTED).contiguous(), legal).softmax()
    gumbel = _padded(_gumbel(uniform[:, 0]) * scale, actions)
    return Tensor.stack(dirichlet, gumbel, dim=1).flatten().contiguous()


def _log_gamma(uniform: Tensor, alpha: float) -> Tensor:
    """Return the logarithm of a gamma variate for alpha at most 1: the first accepted of TRIES candidates.

    If no candidate is accepted, the variate is almost 0. Source: J. H. Ahrens, U. Dieter, "Computer methods for
    sampling from gamma, beta, Poisson and binomial distributions", 1974, algorithm GS, in logarithms.
    """
    b = (math.e + alpha) / math.e
    p = uniform[:, :TRIES] * b
    limit = uniform[:, TRIES:].log()
    small = p.log() / alpha
    large = (-((b - p) / alpha).log().minimum(-1e-9)).log()
    # a candidate comes from one of two envelopes: a power below 1, an exponential above
    x = (p <= 1).where(small, large)
    accepted = (p <= 1).where(limit <= -small.exp(), limit <= (alpha - 1) * large)
    x = accepted.where(x, REJECTED).contiguous()
    # from the last candidate to the first, so that the first accepted one stays
    chosen = x[:, -1]
    for k in range(TRIES - 2, -1, -1):
        chosen = (x[:, k] == REJECTED).where(chosen, x[:, k])
    return chosen
