"""Strength of poker hands by bit operations on sets of ranks, without lookup tables.

A set of ranks is a word with bit r for rank r, so that of two sets of equal size the greater word has the higher ranks.
"""

from collections.abc import Sequence

from tensor_envs.rules import Scalar, bit, int32, popcount, uint32, union_of, where

RANKS = 13
HAND = 5  # cards of a hand, the best of all cards
MAX_CARDS = 7
CATEGORIES = (
    "high card", "pair", "two pair", "three of a kind", "straight", "flush", "full house", "four of a kind",
    "straight flush",
)  # fmt: skip


def strength(cards: Sequence[Scalar], ranks: int, suits: int) -> Scalar:
    """Return a number that is the higher, the better the best hand of at most seven cards is (T8).

    Args:
        cards: different cards, card c with rank c // suits and suit c % suits.
        ranks, suits: numbers of ranks and suits.

    Returns:
        An int of three parts:

            30......26  25.......13  12........0
             category    main ranks    kickers
    """
    by_suit = [union_of(where(card % suits == k, bit(card // suits), 0) for card in cards) for k in range(suits)]
    once, twice, thrice, quads = (uint32(0) for _ in range(4))  # ranks of at least so many cards
    for own in by_suit:
        quads = quads | thrice & own
        thrice = thrice | twice & own
        twice = twice | once & own
        once = once | own
    flush = union_of(where(popcount(own) >= HAND, own, 0) for own in by_suit)
    straight_flush = highest(straights(flush, ranks), 1)
    straight = highest(straights(once, ranks), 1)
    trips = highest(thrice, 1)
    pairs = highest(twice, 2)
    full = highest(twice & ~trips, 1)
    # from the lowest category up: whether a hand has it, its main ranks, the ranks of kickers and their number
    rows = (
        (once != 0, uint32(0), once, HAND),
        (twice != 0, pairs, once & ~pairs, HAND - 2),
        (popcount(pairs) == 2, pairs, once & ~pairs, HAND - 4),
        (trips != 0, trips, once & ~trips, HAND - 3),
        (straight != 0, straight, uint32(0), 0),
        (flush != 0, uint32(0), flush, HAND),
        ((trips != 0) & (full != 0), trips, full, 1),
        (quads != 0, quads, once & ~quads, HAND - 4),
        (straight_flush != 0, straight_flush, uint32(0), 0),
    )
    best = [uint32(0)] * 4
    for number, (has_it, *parts, kickers) in enumerate(rows):
        best = where(has_it, [uint32(number), *parts, uint32(kickers)], best)
    category, main, others, count = best
    return int32(category << 2 * RANKS | main << RANKS | highest(others, int32(count)))


def highest(ranks: Scalar, count: int | Scalar) -> Scalar:
    """Return the `count` highest of a set of ranks, which are at most two more: seven cards, a hand of five."""
    for _ in range(MAX_CARDS - HAND):
        ranks = where(popcount(ranks) > count, ranks & ranks - 1, ranks)  # without the lowest
    return ranks


def straights(held: Scalar, ranks: int) -> Scalar:
    """Return the lowest rank, plus 1, of all straights among ranks; an ace may be low, if all 13 ranks are in play."""
    run = held << 1 | (held >> RANKS - 1 if ranks == RANKS else 0)
    for gap in (1, 1, 2):  # runs of two, three and five ranks
        run = run & run >> gap
    return run
