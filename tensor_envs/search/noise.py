"""Gumbel and Dirichlet noise at the roots of searches, a function of seed, row, episode, ply and action."""

from __future__ import annotations

import math

from tinygrad import Tensor, dtypes

from tensor_envs._engine.random import threefry
from tensor_envs._runtime.jitted import jit
from tensor_envs.envs.sampling import masked_logits
from tensor_envs.envs.state import State

REJECTED = -1e9  # stands for a candidate that is rejected
TRIES = 8  # candidates of a draw by rejection sampling; each is accepted with probability 3/4 or more


def _uniform(state: State, seed: Tensor, draws: int, actions: Tensor | None) -> Tensor:
    """Draw uniform numbers in the open interval (0, 1) by Threefry of seed, row, episode, ply and action.

    Args:
        state: the games.
        seed: uint32 [B * 2], the same two words for every game, so that it is sharded like the games.
        draws: how many numbers to draw for each action.
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
    # Each ply has its own key. The 1 makes it differ from the keys of simulations.
    key = threefry(key, (spread(state.ply), one))
    # An action's numbers depend only on the action, not on the other legal ones.
    first = Tensor.arange(draws, dtype=dtypes.uint32).reshape(1, -1, 1) * num_actions
    index = first + actions.cast(dtypes.uint32).reshape(-1, 1, shape[2])
    bits = threefry(key, (index.expand(shape), one))[0]
    # A float32 holds 24 bits exactly. Half a step keeps out 0 and 1, for which the noise would be infinite.
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
        columns: number of columns of `actions` to draw for; the columns after them are padding in all games.
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
    # A gamma variate is the sum of exponential variates and a gamma variate with alpha at most 1.
    exponentials = math.ceil(alpha) - 1
    uniform = _uniform(state, seed, 1 + 2 * TRIES + exponentials, _drawn(actions, columns))
    uniform = uniform.contiguous()  # otherwise every use would draw again
    gamma = _log_gamma(uniform[:, 1 : 1 + 2 * TRIES], alpha - exponentials)
    if exponentials:
        # The negative logarithm of a uniform variate is an exponential one.
        gamma = (gamma.exp() - uniform[:, 1 + 2 * TRIES :].log().sum(1)).log()
    # Gamma variates divided by their sum are a Dirichlet variate: a softmax of their logarithms. The softmax reads them
    # three times, so they are made contiguous.
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
    # A candidate comes from one of two envelopes: a power below 1, an exponential above.
    x = (p <= 1).where(small, large)
    accepted = (p <= 1).where(limit <= -small.exp(), limit <= (alpha - 1) * large)
    x = accepted.where(x, REJECTED).contiguous()
    # Go from the last candidate to the first, so that the first accepted one stays.
    chosen = x[:, -1]
    for k in range(TRIES - 2, -1, -1):
        chosen = (x[:, k] == REJECTED).where(chosen, x[:, k])
    return chosen
