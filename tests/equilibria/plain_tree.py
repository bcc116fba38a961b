"""Equilibria in plain Python, history by history: values, best responses and CFR+, to compare with arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import Any, Protocol


class History(Protocol):
    """One history of a game."""

    @property
    def over(self) -> bool: ...
    @property
    def mover(self) -> int: ...
    @property
    def legal(self) -> list[int]: ...
    @property
    def information(self) -> Hashable: ...
    @property
    def returns(self) -> Any: ...
    def after(self, action: int) -> Iterator[tuple[Fraction, Any]]: ...


Policy = dict[Hashable, dict[int, float]]  # by information state and action
Roots = list[tuple[Fraction, Any]]


def histories(roots: Roots) -> Iterator[Any]:
    """Yield all histories."""
    for _, h in roots:
        yield h
        for action in [] if h.over else h.legal:
            yield from histories(list(h.after(action)))


def uniform(roots: Roots) -> Policy:
    return {h.information: dict.fromkeys(h.legal, 1 / len(h.legal)) for h in histories(roots) if not h.over}


def value(h: Any, policy: Policy, player: int) -> float:
    """Return the expected return of a player."""
    if h.over:
        return float(h.returns[player])
    chosen = policy[h.information]
    return sum(chosen[a] * float(p) * value(x, policy, player) for a in h.legal for p, x in h.after(a))


def best_response(roots: Roots, policy: Policy, player: int) -> tuple[float, Policy]:
    """Return the value of a best response and the policy with it, the deepest information states first."""
    reached: dict[Hashable, list[tuple[float, Any]]] = defaultdict(list)

    def walk(h: Any, reach: float) -> None:
        if h.over:
            return
        if h.mover == player:
            reached[h.information].append((reach, h))
        for a in h.legal:
            chance = 1.0 if h.mover == player else policy[h.information][a]
            for p, x in h.after(a):
                walk(x, reach * chance * float(p))

    for p, h in roots:
        walk(h, float(p))
    response = {key: dict(chances) for key, chances in policy.items()}
    for key in sorted(reached, key=lambda key: -reached[key][0][1].ply):
        legal = reached[key][0][1].legal
        worth = {
            a: sum(r * float(p) * value(x, response, player) for r, h in reached[key] for p, x in h.after(a))
            for a in legal
        }
        best = max(legal, key=lambda a: worth[a])
        response[key] = {a: float(a == best) for a in legal}
    return sum(float(p) * value(h, response, player) for p, h in roots), response


def cfr_plus(roots: Roots, players: int, iterations: int) -> Policy:
    """Return the average policy of CFR+ with updates in turn and weights that grow with the iteration."""
    current = uniform(roots)
    regrets = {key: dict.fromkeys(chances, 0.0) for key, chances in current.items()}
    average = {key: dict.fromkeys(chances, 0.0) for key, chances in current.items()}
    for t in range(1, iterations + 1):
        for player in range(players):
            change = {key: dict.fromkeys(chances, 0.0) for key, chances in current.items()}

            def walk(h: Any, own: float, others: float) -> float:
                if h.over:
                    return float(h.returns[player])  # noqa: B023
                key, worth = h.information, {}
                for a in h.legal:
                    chance, mine = current[key][a], h.mover == player  # noqa: B023
                    worth[a] = sum(
                        float(p) * walk(x, own * (chance if mine else 1), others * float(p) * (1 if mine else chance))
                        for p, x in h.after(a)
                    )
                total = sum(current[key][a] * worth[a] for a in h.legal)
                if h.mover == player:  # noqa: B023
                    for a in h.legal:
                        change[key][a] += others * (worth[a] - total)  # noqa: B023
                        average[key][a] += t * own * current[key][a]  # noqa: B023
                return total

            for p, h in roots:
                walk(h, 1.0, float(p))
            for key, changes in change.items():
                for a, x in changes.items():
                    regrets[key][a] = max(regrets[key][a] + x, 0.0)
                total = sum(regrets[key].values())
                for a, x in regrets[key].items():
                    current[key][a] = x / total if total else 1 / len(changes)
    return {
        key: {a: x / sum(chances.values()) if any(chances.values()) else 1 / len(chances) for a, x in chances.items()}
        for key, chances in average.items()
    }
