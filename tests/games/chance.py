"""Threefry-2x32 with 20 rounds on plain Python integers: the reference engines' only source of chance.

Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

MASK = 0xFFFFFFFF
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))

Key = tuple[int, int]


def threefry(key: Key, counter: Key) -> Key:
    """Two 32-bit key words, two 32-bit counter words -> two 32-bit output words."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA)
    x, y = (counter[0] + key[0]) & MASK, (counter[1] + key[1]) & MASK
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x = (x + y) & MASK
            y = ((y << rotation | y >> (32 - rotation)) & MASK) ^ x
        x = (x + schedule[(group + 1) % 3]) & MASK
        y = (y + schedule[(group + 2) % 3] + group + 1) & MASK
    return x, y


def words(seed: int) -> Key:
    return seed & MASK, seed >> 32


def game_key(seed: int, row: int, episode: int) -> Key:
    return threefry(words(seed), (row, episode))


def policy_key(seed: int, row: int) -> Key:
    """Key of the uniform test policy in a batch row, the same in every episode."""
    return threefry(words(seed), (row, MASK))


def bits(key: Key, counter: int) -> int:
    return threefry(key, (counter, 0))[0]


def draw(key: Key, counter: int, n: int) -> int:
    """Uniform in 0..n-1."""
    return bits(key, counter) * n >> 32


def uniform_action(key: Key, decision: int, legal: list[int]) -> int:
    """The action of the uniform test policy at the `decision`-th decision (from 0) of an episode."""
    return legal[draw(key, decision, len(legal))]
