"""Reports of measurements: tables as text, in Markdown, HTML and JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING

from tensor_envs.lab.estimates import Measurement, significant
from tensor_envs.lab.pictures import multiples
from tensor_envs.lab.ranking import Standing, ranking, strongest
from tensor_envs.lab.similarity import CLOSEST, closest

if TYPE_CHECKING:
    from tensor_envs.lab.measures import ActionUse

MARK = "*"  # marks a cell that differs from the base
MAX_COLUMNS = 9  # maximum number of variants in the table of all numbers
MAX_RANKED = 12  # maximum number of variants in the ranking, besides the base
MAX_UNUSED = 12  # maximum number of unused actions that are listed by name
STYLE = (
    "body{font:15px/1.4 sans-serif;margin:24px;max-width:none}table{border-collapse:collapse;margin:12px 0}"
    "td,th{border:1px solid #ccc;padding:3px 8px;text-align:right}td:first-child,th:first-child{text-align:left}"
    ".differs{background:#ffe9a8}"
    # on a phone pictures shrink, and tables are scrolled
    "table{display:block;overflow-x:auto}svg{max-width:100%;height:auto}p,h1{overflow-wrap:anywhere}"
)
PLAYOUTS_OF = "playouts of "
Key = tuple[str, str]  # name of a player or contest, and name of a measure


@dataclass(frozen=True)
class VariantReport:
    """Measurements of one variant.

    Attributes:
        name: the variant.
        games: number of games that each player or contest has played, and of playouts of the strongest search.
        numbers: measurements by player or contest and by measure.
        actions: use of the kinds of actions, by player.
        unused: actions that were never legal, and those that were legal and never taken, by player.
        profile: measures of uniform play by which games are similar; empty without the uniform player.
        seconds: processor time.

    Examples:
        >>> te.lab.measure(te.make("kuhn_poker"), players=["uniform"], games=64).base.games
        {'uniform': 1024}
    """

    name: str
    games: dict[str, int]
    numbers: dict[Key, Measurement]
    actions: dict[str, dict[str, ActionUse]]
    unused: dict[str, dict[str, list[str]]]
    profile: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class Report:
    """Measurements of variants of a game, the base first.

    Examples:
        >>> report = te.lab.measure(te.make("tic_tac_toe"), players=["uniform"], games=64)
        >>> print(report.base.numbers["uniform", "game tree, log10"])  # of 255,168 games
        5.40683
        >>> report.to_markdown().splitlines()[0]
        '| tic_tac_toe |  |'
    """

    variants: tuple[VariantReport, ...]

    @property
    def base(self) -> VariantReport:
        """The variant that the others are compared with."""
        return self.variants[0]

    @property
    def keys(self) -> list[Key]:
        """Players or contests with their measures, in the order of the tables."""
        keys = dict.fromkeys(key for variant in self.variants for key in variant.numbers)
        who = list(dict.fromkeys(player for player, _ in keys))
        return sorted(keys, key=lambda key: who.index(key[0]))

    @cached_property
    def differences(self) -> set[tuple[str, Key]]:
        """Variants and measures that differ significantly from the base, over all cells at 5 % (Holm 1979)."""
        return significant({
            (variant.name, key): (self.base.numbers[key], number)
            for variant in self.variants[1:]
            for key, number in variant.numbers.items()
            if key in self.base.numbers
        })  # fmt: skip

    @property
    def dead(self) -> list[str]:
        """Variants without a number that differs significantly from the base."""
        alive = {name for name, _ in self.differences}
        return [variant.name for variant in self.variants[1:] if variant.name not in alive]

    @cached_property
    def ranking(self) -> list[Standing]:
        """Ranking of the base and of variants that differ from it, the best first; empty in games for one player."""
        return ranking([variant for variant in self.variants if variant.name not in self.dead])

    @property
    def _shown(self) -> list[VariantReport]:
        """Variants with a column in the table of all numbers: the base, and those that differ most from it."""
        if len(self.variants) <= MAX_COLUMNS:
            return list(self.variants)
        num_differences = Counter(name for name, _ in self.differences)
        most = sorted(self.variants[1:], key=lambda variant: -num_differences[variant.name])[: MAX_COLUMNS - 1]
        return [variant for variant in self.variants if variant is self.base or variant in most]

    def to_markdown(self) -> str:
        """Return tables in Markdown, with a star at numbers that differ significantly from the base."""
        return "\n\n".join(
            "\n".join(f"| {' | '.join(cells)} |" for cells in _with_line(table)) for table in self._tables(MARK)
        ) + "".join(f"\n\n{line}" for line in self._remarks())

    def to_text(self, width: int) -> str:
        """Return tables of aligned columns for a terminal of a width; wider tables are cut between columns."""
        tables = (line for table in self._tables(MARK) for line in [*_fitted(table, width), ""])
        return "\n".join([*tables, *(fill(line, width) for line in self._remarks())])

    def to_html(self) -> str:
        """Return a page with pictures and tables."""
        title = escape(self.base.name)
        body = [f"<h1>{title}</h1>", *(f"<p>{escape(line)}</p>" for line in self._remarks())]
        body += [self.picture(), *map(_html, self._tables(MARK))]
        meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        head = f'<!doctype html><html lang="en">{meta}<title>{title}</title><style>{STYLE}</style>'
        return head + "\n".join(body) + "</html>\n"

    def to_json(self) -> str:
        """Return all measurements as JSON: a list of variants."""
        return json.dumps([self._plain(variant) for variant in self.variants])

    def picture(self) -> str:
        """Return small multiples as SVG: each measure of every variant and player, with its interval."""
        return multiples([(variant.name, variant.numbers) for variant in self._shown], self.differences)

    def _repr_html_(self) -> str:
        """Return the tables for a notebook."""
        return "\n".join([*map(_html, self._tables(MARK)), *(f"<p>{escape(line)}</p>" for line in self._remarks())])

    def __str__(self) -> str:
        """Return the tables in Markdown."""
        return self.to_markdown()

    def _tables(self, mark: str) -> Iterator[list[list[str]]]:
        """Yield the tables of the ranking, of the numbers, and of the base's actions, as rows of cells."""
        if len(self.variants) > 1 and self.ranking:
            yield [*self._ranking_rows()]
        # Measurements of one kind of play form a section with a heading row and the number of games.
        shown = self._shown
        who = ""
        rows = [[self.base.name, "base", *(variant.name for variant in shown[1:])]]
        if len(shown) == 1:
            # Without variants the heading is only the name of the game.
            rows = [[self.base.name, ""]]
        for key in self.keys:
            if key[0] != who:
                who = key[0]
                counts = [f"{v.games[who]:,} games" if who in v.games else "" for v in shown]
                rows.append([f"**{who}**", *counts])
            cells = list[str]()
            for variant in shown:
                differs = (variant.name, key) in self.differences
                cells.append(f"{variant.numbers.get(key, '')}{mark * differs}")
            rows.append([key[1], *cells])
        yield rows
        # The tables of actions are only for the base; the remarks name actions that a variant never uses.
        players = list(self.base.actions)
        if players:
            rows = [["action", *(f"{player}: legal, taken" for player in players)]]
            for name in self.base.actions[players[0]]:
                uses = [self.base.actions[player][name] for player in players]
                rows.append([f"`{name}`", *(f"{use.legal}, {use.chosen or '-'}" for use in uses)])
            yield rows
            yield [*self._player_rows()]

    def _player_rows(self) -> Iterator[list[str]]:
        """Yield the rows of the table of the base's actions: the share of each player, and the mean moment."""
        uses = {who: kinds for who, kinds in self.base.actions.items() if not who.startswith(PLAYOUTS_OF)}
        seats = max(len(use.players) for kinds in uses.values() for use in kinds.values())
        shown = seats if seats > 2 else seats - 1  # the second of two players has the remaining share
        names = "".join(f"by player {seat}, " for seat in range(shown))
        yield ["action", *(f"{player}: {names}when" for player in uses)]
        for name in next(iter(uses.values())):
            cells = [[*kinds[name].players[:shown], kinds[name].moment] for kinds in uses.values()]
            yield [f"`{name}`", *(", ".join(map(str, cell)) if cell[-1] else "-" for cell in cells)]

    def _ranking_rows(self) -> Iterator[list[str]]:
        """Yield the rows of the ranking: the best variants, and the base."""
        yield ["best variants", "balance", "decisiveness", "draws", "plies", "numbers that differ"]
        for rank, entry in enumerate(self.ranking):
            variant = entry.variant
            is_base = variant is self.base
            if rank >= MAX_RANKED and not is_base:
                continue
            player = str(strongest(variant))
            num_differences = "" if is_base else str(sum(name == variant.name for name, _ in self.differences))
            name = f"{'base' if is_base else variant.name}{' (front)' * entry.front}"
            draws, plies = (str(variant.numbers[player, measure]) for measure in ("draws", "plies"))
            yield [name, str(entry.balance), str(entry.decisiveness), draws, plies, num_differences]

    def _remarks(self) -> Iterator[str]:
        """Yield remarks on results that the tables do not contain."""
        if len(self.variants) > 1:
            yield f"A {MARK} marks what differs from the base (5 % for all cells together, Holm's method)."
        # A switch without effect on any number may be one that the rules do not need.
        if self.dead:
            yield f"No measured number differs from the base with {'; '.join(self.dead)}."
        if self.base.profile:
            games = closest(self.base.profile, CLOSEST, self.base.name)
            similar = ", ".join(f"{id} ({distance:.2f})" for id, distance in games)
            yield f"By uniform play the most similar games are {similar}."
        for variant in self._shown:
            for player, groups in variant.unused.items():
                for label, names in groups.items():
                    # List only actions that the base uses: others are not unused because of the change.
                    base_names = [] if variant is self.base else self.base.unused.get(player, {}).get(label, [])
                    new = [name for name in names if name not in base_names]
                    more = f" and {len(new) - MAX_UNUSED} more" if len(new) > MAX_UNUSED else ""
                    rules = "" if variant is self.base else f" with {variant.name}"
                    if new:
                        by = "" if player.startswith(PLAYOUTS_OF) else "games by "
                        played = f"{variant.games[player]:,} {by}{player}{rules}"
                        yield f"In {played} {label}: {', '.join(new[:MAX_UNUSED])}{more}."

    def _plain(self, variant: VariantReport) -> dict[str, object]:
        """Return a variant's measurements in types of JSON."""

        def plain(number: Measurement | None) -> dict[str, float | None] | None:
            """Return a measurement with None in place of NaN, which JSON lacks."""
            if number is None:
                return None
            return {k: None if math.isnan(x) else x for k, x in dataclasses.asdict(number).items()}

        numbers = [
            {"player": who, "measure": what, "differs": (variant.name, (who, what)) in self.differences}
            | (plain(number) or {})
            for (who, what), number in variant.numbers.items()
        ]
        actions = {
            who: {
                name: {what: plain(getattr(use, what)) for what in ("legal", "taken", "chosen", "moment")}
                | {"players": [plain(share) for share in use.players]}
                for name, use in uses.items()
            }
            for who, uses in variant.actions.items()
        }
        return {
            "name": variant.name,
            "games": variant.games,
            "seconds": variant.seconds,
            "numbers": numbers,
            "actions": actions,
            "unused": variant.unused,
            "profile": variant.profile,
        }


def _with_line(table: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the rows of a table with Markdown's line below the header."""
    return [table[0], ["---", *["---:"] * (len(table[0]) - 1)], *table[1:]]


def _fitted(table: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Yield the lines of a table in sections of as many columns as fit the width, each with the first column."""
    rows = [[row[0].strip("*`"), *row[1:]] for row in table]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    first = 1
    while first < len(widths):
        end = first + 1
        while end < len(widths) and widths[0] + sum(2 + wide for wide in widths[first : end + 1]) <= width:
            end += 1
        for row in rows:
            cells = (f"{cell:>{wide}}" for cell, wide in zip(row[first:end], widths[first:end], strict=True))
            yield f"{row[0]:<{widths[0]}}  {'  '.join(cells)}".rstrip()
        if end < len(widths):
            yield ""
        first = end


def _html(table: Sequence[Sequence[str]]) -> str:
    """Return a table, whose cells have Markdown's marks, in HTML."""
    rows = list[str]()
    for number, row in enumerate(table):
        tag = "td" if number else "th"
        cells = list[str]()
        for cell in row:
            bold = cell.startswith("**")
            differs = cell.endswith(MARK) and not bold
            text = escape(cell.strip("*`"))
            text = f"<b>{text}</b>" if bold else text
            cells.append(f"<{tag}{' class=differs' if differs else ''}>{text}</{tag}>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(rows)}</table>"
