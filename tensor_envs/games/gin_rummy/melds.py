"""Melds of gin rummy by bit operations on sets of cards.

A set of cards is a uint64, in which bit 13 * suit + rank stands for a card:

    51 ... 39   38 ... 26   25 ... 13   12 ... 0
     hearts      diamonds     clubs      spades
"""

from tensor_envs.rules import Scalar, any_in_range, int32, maximum, minimum, uint32, uint64, where
from tensor_envs.rules.lists import any_of, popcount, sum_of, union_of

RANKS = 13
SUITS = 4
CARDS = RANKS * SUITS
SUIT = 2**RANKS - 1  # the spades
COLUMN = sum(1 << RANKS * suit for suit in range(SUITS))  # the aces
RUNS = (3, 4, 5)  # lengths of runs that are melds; a longer run is several of them
SETS = 5  # sets of a rank: without the card of each suit, then all four cards
VALUES = tuple(min(rank + 1, 10) for rank in range(RANKS))
# Binary digits of the values, each as the set of the cards that have it.
DIGITS = tuple(COLUMN * sum(1 << rank for rank, value in enumerate(VALUES) if value >> k & 1) for k in range(4))
CHOICES = SUITS + 1  # uses of a rank with four cards: no set, or a set that may leave the card of a suit to a run


def cards_by_suit(cards: Scalar) -> list[Scalar]:
    """Return the ranks in each suit as words."""
    return [uint32(cards >> RANKS * suit) & SUIT for suit in range(SUITS)]


def value_of(cards: Scalar) -> Scalar:
    """Return the sum of the values of cards."""
    return sum_of(popcount(cards & digit) << k for k, digit in enumerate(DIGITS))


def run_starts(cards: Scalar, length: int) -> Scalar:
    """Return the lowest card of every run of a length within a suit."""
    starts = cards & COLUMN * (2 ** (RANKS + 1 - length) - 1)
    for k in range(1, length):
        starts = starts & cards >> k
    return starts


def melds_in(cards: Scalar) -> dict[str, Scalar | list[Scalar]]:
    """Return the melds among cards by their kind, as in the actions of the rules (G3)."""
    suits = cards_by_suit(cards)
    kinds = [without(suits, suit) for suit in range(SUITS)]
    kinds.append(kinds[0] & suits[0])
    sets = [(ranks >> rank & 1) != 0 for rank in range(RANKS) for ranks in kinds]
    found: dict[str, Scalar | list[Scalar]] = {"set_of_rank": sets}
    for length in RUNS:
        starts = run_starts(cards, length)
        size = RANKS + 1 - length
        packed = [starts >> (RANKS - size) * suit & 2**size - 1 << size * suit for suit in range(SUITS)]
        found[f"run_of_{length}"] = union_of(packed)
    return found


def without(suits: list[Scalar], suit: int) -> Scalar:
    """Return the ranks that all suits but one have."""
    first, second, third = (ranks for k, ranks in enumerate(suits) if k != suit)
    return first & second & third


def set_cards(index: Scalar) -> Scalar:
    """Return the cards of the set with a number."""
    kind = index % SETS
    missing = where(kind < SUITS, uint64(SUIT) << RANKS * minimum(kind, SUITS - 1), 0)
    return (uint64(COLUMN) << index // SETS) & ~missing


def run_cards(index: Scalar, length: int) -> Scalar:
    """Return the cards of the run with a number among those of its length."""
    size = RANKS + 1 - length
    return uint64(2**length - 1) << RANKS * (index // size) + index % size


def neighbours(cards: Scalar) -> Scalar:
    """Return the cards next to others of their suit."""
    above = cards << 1 & ~uint64(COLUMN) & 2**CARDS - 1
    return above | cards >> 1 & ~(uint64(COLUMN) << RANKS - 1)


def can_reach(cards: Scalar, limit: Scalar, discards: bool = False) -> Scalar:
    """Return whether cards can be arranged in melds with a deadwood of at most `limit`.

    Args:
        cards: at most eleven cards.
        discards: whether a card of the deadwood does not count.
    """
    suits = cards_by_suit(cards)
    quads = without(suits, 0) & suits[0]
    ranks = union_of(without(suits, suit) for suit in range(SUITS))
    # Three ranks at most have three cards or more, and the last of them has no four if those with four come first.
    columns = list[Scalar]()
    for _ in range(3):
        some = where((ranks & quads) != 0, ranks & quads, ranks)
        rank = some & -some
        ranks = ranks ^ rank
        columns.append(uint64(rank) * COLUMN & cards)
    fours = [where(popcount(column) == SUITS, column, 0) for column in columns]

    def is_low(index: Scalar) -> Scalar:
        """Return whether the deadwood is low enough with one choice for each of the three ranks."""
        sets = uint64(0)
        spare = uint64(0)
        for k, column in enumerate(columns):
            choice = index // CHOICES**k % CHOICES
            suit = uint64(SUIT) << RANKS * maximum(choice - 1, 0)
            sets = sets | where(choice > 0, column, 0)
            spare = spare | where(choice > 0, fours[k] & suit, 0)  # a run may take one card of a set of four
        starts = run_starts(cards & ~sets | spare, 3)
        dead = cards & ~(sets | starts | starts << 1 | starts << 2)
        deadwood = value_of(dead)
        return deadwood - (highest_value(dead) if discards else 0) <= limit

    # All games of a block take the turns of this loop together, but those after a knock check each of their actions
    # in a loop of their own, in which the choices are written out: a loop within it takes twice the time of a step.
    count = 2 * CHOICES**2
    return any_in_range(count, is_low) if discards else any_of(is_low(int32(index)) for index in range(count))


def highest_value(cards: Scalar) -> Scalar:
    """Return the value of the card of the highest rank, 0 for no card."""
    ranks = union_of(cards_by_suit(cards))
    for step in (1, 2, 4, 8):
        ranks = ranks | ranks >> step  # with all lower ranks
    return minimum(popcount(ranks), VALUES[-1])
