"""Sampling of actions from masked logits, and the uniform policy."""

from __future__ import annotations

from tinygrad import Tensor, dtypes

from tensor_envs._engine.random import threefry
from tensor_envs._runtime.launch import eager
from tensor_envs._validate import instance, integer
from tensor_envs.envs.state import State

FLOOR = -1e9  # finite, so that the softmax of a row without legal actions is uniform, not NaN
MIN_NOISY_LOGIT = -1e38  # lower bound of a legal action's logit with noise


def masked_logits(logits: Tensor, mask: Tensor) -> Tensor:
    """Replace the logits of illegal actions by a finite floor.

    The floor is -1e9, or the lowest finite value of a float16. The softmax of a row without legal actions is uniform,
    not NaN.

    Args:
        logits: floats [..., A].
        mask: bool of the same shape.

    Returns:
        A lazy Tensor of the logits' dtype and shape.

    Raises:
        TypeError: `logits` has no float dtype, or `mask` is not bool.
        ValueError: the shapes differ.

    Examples:
        >>> from tinygrad import Tensor
        >>> te.masked_logits(Tensor([[2.0, 3.0]]), Tensor([[True, False]])).softmax().tolist()
        [[1.0, 0.0]]
    """
    instance("logits", logits, Tensor)
    instance("mask", mask, Tensor)
    if not dtypes.is_float(logits.dtype):
        raise TypeError(f"logits must have a float dtype, got {logits.dtype}")
    if mask.dtype is not dtypes.bool:
        raise TypeError(f"mask must be bool, got {mask.dtype}")
    if logits.shape != mask.shape:
        raise ValueError(f"logits and mask must have one shape, got {logits.shape} and {mask.shape}")
    floor = -65504.0 if logits.dtype is dtypes.float16 else FLOOR
    return mask.where(logits, logits.const_like(floor))


def sample_action(logits: Tensor, mask: Tensor, key: Tensor, counter: Tensor | int) -> Tensor:
    """Draw one action per row from the softmax of the legal logits, by the Gumbel-max trick.

    A legal action whose logit is NaN or minus infinity is drawn only if all legal logits are so; the result is then the
    first legal action.

    Args:
        logits: floats [B, A].
        mask: bool [B, A].
        key: random key of each row, uint32 [B, 2], such as `state.action_key`.
        counter: an int or integers [B]. The same key and counter give the same draw, so use another counter for every
            decision of an episode, such as `state.ply`.

    Returns:
        int32 [B]; lazy in a jit. Row i depends only on row i; the action of a row without legal actions is arbitrary.

    Raises:
        TypeError, ValueError: an argument of another dtype or shape.

    Examples:
        >>> state = te.make("tic_tac_toe").init(2)
        >>> logits = state.legal_action_mask.float()
        >>> te.sample_action(logits, state.legal_action_mask, state.action_key, state.ply).shape
        (2,)
    """
    masked = masked_logits(logits, mask)
    if masked.ndim != 2:
        raise ValueError(f"logits must have shape [B, A], got {logits.shape}")
    batch, actions = masked.shape
    instance("key", key, Tensor)
    if key.shape != (batch, 2) or key.dtype is not dtypes.uint32:
        raise ValueError(f"key must be uint32 of shape ({batch}, 2), got {key.dtype} of shape {key.shape}")
    index = Tensor.arange(actions, dtype=dtypes.uint32).reshape(1, actions).expand(batch, actions)
    if isinstance(counter, Tensor):
        if counter.shape != (batch,) or not dtypes.is_int(counter.dtype):
            raise ValueError(f"counter must be integers of shape ({batch},), got {counter.dtype} of {counter.shape}")
        count = counter.cast(dtypes.uint32).reshape(batch, 1).expand(batch, actions)
    else:
        count = index.const_like(integer("counter", counter, 0, 2**32 - 1))
    keys = (key[:, :1].expand(batch, actions), key[:, 1:].expand(batch, actions))
    bits = threefry(keys, (count, index))[0]
    numbers = ((bits >> 8).cast(dtypes.float32) + 0.5) * 2.0**-24  # in the open interval (0, 1)
    # `contiguous` makes a separate kernel. Otherwise tinygrad would repeat and unroll the noise for every use of the
    # action, and compile for seconds.
    noise = (-numbers.log()).log().contiguous()
    noisy = masked.cast(dtypes.float32) - noise
    # Replace NaN and -inf, so that a legal action is above all illegal ones.
    finite = (noisy > MIN_NOISY_LOGIT).where(noisy, MIN_NOISY_LOGIT)
    return eager(mask.where(finite, 2 * MIN_NOISY_LOGIT).argmax(1).cast(dtypes.int32))


def uniform(state: State) -> Tensor:
    """Draw a uniformly random legal action for each game, which depends only on its seed, row, episode and ply.

    Args:
        state: the games.

    Returns:
        int32 [B]; 0 in a game without legal actions.

    Raises:
        TypeError: `state` is no State.

    Examples:
        >>> te.agents.uniform(te.make("tic_tac_toe").init(4)).shape
        (4,)
    """
    instance("state", state, State)
    return state.env.engine.sample(state.buffers)
