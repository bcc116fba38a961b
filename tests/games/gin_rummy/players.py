"""A player of gin rummy that collects melds: uniform play hardly ever knocks."""

import numpy as np

import tensor_envs as te

CARDS = 52
DRAW_UPCARD, DRAW_STOCK, FINISH, KNOCK, FIRST_MELD = range(52, 57)
VALUES = np.minimum(np.arange(CARDS) % 13 + 1, 10)
CARD = np.arange(CARDS)
SAME_RANK = CARD[:, None] % 13 == CARD % 13
SAME_SUIT = CARD[:, None] // 13 == CARD // 13
NEAR = (SAME_RANK | SAME_SUIT & (abs(CARD[:, None] - CARD) <= 2)) & (CARD[:, None] != CARD)


def careful_actions(state: te.State, rng: np.random.Generator, care: float) -> np.ndarray:
    """Return an action for each game, the careful one with a probability, else a uniform one.

    A careful player knocks, lays melds and lays off when that is legal, takes upcards that go with two own cards, and
    discards the card that goes with the fewest others, the highest of them.
    """
    now = state.numpy()
    mask = now["legal_action_mask"]
    rows = np.arange(len(mask))
    own = now["hands"][rows, np.maximum(now["current_player"], 0)]
    hands = (own[:, None] >> CARD.astype(np.uint64) & np.uint64(1)).astype(bool)
    friends = hands @ NEAR.astype(int)
    score = np.zeros(mask.shape)
    score[:, :CARDS] = 100 + VALUES - 10 * np.minimum(friends, 3)
    score[:, FINISH] = 50
    score[:, KNOCK] = 400
    score[:, FIRST_MELD:] = 300 + rng.random((len(mask), mask.shape[1] - FIRST_MELD))
    score[:, DRAW_STOCK] = 60
    score[:, DRAW_UPCARD] = 80 * (friends[rows, np.maximum(now["upcard"], 0)] >= 2)
    best = np.where(mask, score, -1).argmax(1)
    noise = np.where(mask, rng.random(mask.shape), -1).argmax(1)
    return np.where(rng.random(len(mask)) < care, best, noise).astype(np.int32)
