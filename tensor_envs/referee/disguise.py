"""Disguises: the same game under another skin, to tell reasoning from recall."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any

from tensor_envs._validate import instance, integer, one_of
from tensor_envs.envs.env import Env
from tensor_envs.text import compose, describe, moves_of, rulebook
from tensor_envs.text.answers import action_of

if TYPE_CHECKING:
    from tensor_envs.envs.state import State
    from tensor_envs.files.records import Record

KINDS = ("symmetry", "renamed", "permuted", "retold")
MAX_SYMMETRIES = 1000  # that one is drawn from
RESERVED = {"move", "action", "answer"}  # `te.text.parse` looks for them
RUN = r"[A-Za-z]+|\d+"  # a label: letters, or digits
SQUARE = r"[a-z]\d+|\d+[a-z]\b"
# in algebraic notation, such as "Nf3" and "exd5": the letter of a piece, and one of a square
PIECE, SQUARE_LETTER = r"[A-Z](?=[a-z]?\d?x?[a-z]\d)", r"[a-z](?=x?[a-z]?\d)"
# words of rulebooks, and those of a retold one
NOUNS = {
    **{"board": "field", "cell": "spot", "square": "spot", "column": "lane", "diagonal": "slope", "corner": "edge"},
    **{"mark": "token", "stone": "token", "disc": "token", "piece": "token", "checker": "token", "card": "slip"},
    **{"king": "elder", "queen": "falcon", "rook": "tower", "bishop": "envoy", "knight": "leaper", "pawn": "scout"},
    **{"pot": "bowl", "poker": "game", "deck": "heap", "tile": "plate", "talon": "reserve", "hand": "basket"},
}


class Disguise:
    """Skin of a game: what a player reads and writes of it. The game itself stays the same.

    - "symmetry": the player reads a mirrored or rotated game.
    - "renamed": labels, of which names of actions and coordinates consist, are made-up words.
    - "permuted": labels are exchanged among each other.
    - "retold": the rulebook names neither the game nor its usual things.

    The prompt says what renamed and permuted labels stand for, so nothing is kept from the player.

    Attributes:
        env: the environment.
        kinds: the kinds of this disguise; none is the game as it is.
        actions: the action that each action of the shown game stands for.
        labels: the shown label for each label.

    Raises:
        ValueError, TypeError: an unknown kind, "renamed" together with "permuted", or a game without symmetries.

    Examples:
        >>> from tensor_envs.referee import Disguise
        >>> Disguise(te.make("tic_tac_toe"), ["permuted"], seed=1).spell("(0,1)")
        '(0,2)'
    """

    def __init__(self, env: Env, kinds: Sequence[str] = (), seed: int = 0):
        instance("env", env, Env)
        for kind in kinds:
            one_of("kinds", kind, KINDS)
        self.env = env
        self.kinds = tuple(kinds)
        random = Random(integer("seed", seed, 0, 2**64 - 1))
        if {"renamed", "permuted"} <= {*kinds}:
            raise ValueError("kinds must have one of renamed and permuted, got both")
        self.actions = tuple(range(env.num_actions))
        if "symmetry" in kinds:
            symmetries = list(islice(env.symmetries(), MAX_SYMMETRIES))[1:]
            if not symmetries:
                raise ValueError(f"kinds must not have symmetry, since {env!r} has none")
            self.actions = random.choice(symmetries).actions
        self.labels = dict[str, str]()
        if "renamed" in kinds:
            labels = _labels(env)
            self.labels = dict(zip(labels, _made_up(len(labels), random), strict=True))
        if "permuted" in kinds:
            for pattern in (r"\d+", r"[a-z]", r"[A-Z]", r"[A-Za-z]{2,}"):
                group = [label for label in _labels(env) if re.fullmatch(pattern, label)]
                self.labels |= dict(zip(group, random.sample(group, len(group)), strict=True))
        # a label of the game that is not shown stands for none
        self._meant = self.labels | {new: old for old, new in self.labels.items()}
        self._lower = {new.lower(): old for new, old in self._meant.items()}
        # letters of pieces in drops such as "G*3a" are no labels, also where a rank is "g"
        self._meant = {name[0]: name[0] for name in env.action_names if name[1:2] == "*"} | self._meant

    @property
    def notes(self) -> dict[str, Any]:
        """Mapping for the record, as JSON can hold it."""
        actions = {} if self.actions == tuple(range(self.env.num_actions)) else {"actions": [*self.actions]}
        return {"kinds": [*self.kinds], "labels": self.labels, **actions}

    def shown(self, action: int) -> int:
        """Return the action of the shown game that stands for an action."""
        return self.actions.index(action) if action in self.actions else action

    def spell(self, text: str) -> str:
        """Return a text of the game with the shown labels."""
        return re.sub(RUN, lambda run: self.labels.get(run[0], run[0]), text) if self.labels else text

    def read(self, answer: str) -> str:
        """Return an answer with the real labels in place of the made-up ones."""
        if not self.labels:
            return answer
        made_up = [*self.labels.values()] if "renamed" in self.kinds else []  # such as both of "biikofuumi"
        words = f"(?=(?:(?:{'|'.join(made_up)})x?)+(?![A-Za-z]))"
        # a letter that is no label may stand before made-up words, such as e in "biikoefuumi"
        bare = [f"[A-Za-z]x?{words}"] if made_up else []
        # the letter of a piece is no label, also where a file has the same letter
        pieces, letters = list[str](), list[str]()
        if self.env.names_depend_on_position:
            pieces = [rf"(?P<piece>(?-i:{PIECE}{f'|[A-Z]x?{words}' if made_up else ''}))"]
            letters = [f"(?-i:{SQUARE_LETTER})"]
        pattern = "|".join([*made_up, *pieces, *bare, *letters, RUN])

        def meant(run: re.Match[str]) -> str:
            if run.lastgroup == "piece":
                return run[0]
            return self._meant.get(run[0]) or self._lower.get(run[0].lower(), run[0])

        return re.sub(pattern, meant, answer, flags=re.IGNORECASE)

    def rules(self) -> str:
        """Return the rules as the player reads them."""
        text = _retold(self.env) if "retold" in self.kinds else describe(self.env)
        if self.labels:
            pairs = ", ".join(f"{new} stands for {old}" for old, new in self.labels.items())
            text += f"\nPositions and moves are written with other labels: {pairs}.\n"
        return text

    def prompt(self, state: State, history: Record | None, legal: bool, player: int | None = None) -> str:
        """Return the prompt of a position of the shown game, see `te.text.prompt`."""
        moves = None if history is None else moves_of(history, state, 0)
        title = "this game" if "retold" in self.kinds else self.env.id
        return compose(state, 0, player, moves, legal, title, self.spell)

    def parse(self, answer: str, state: State, argument: str = "answer") -> int:
        """Return the action that an answer names in a position of the shown game.

        Errors are those of `te.text.parse`, in which the answer is called `argument`.
        """
        return self.actions[action_of(self.env, self.read(answer), state, 0, argument)]


def _labels(env: Env) -> list[str]:
    """Return all words and numbers in the names of a game's actions, numbers first."""
    names = list(env.action_names)
    if env.names_depend_on_position:  # then players read other names, of the squares with which these begin
        squares = [square[0] for name in names if (square := re.match(SQUARE, name))]
        state = env.init(1)
        legal = env.legal_actions(state)
        names = [*squares, *legal.values()]
        names += env.legal_actions(env.step(state, [min(legal)])).values()
    labels = {label for name in names for label in re.findall(RUN, name)} - RESERVED
    return sorted(labels, key=lambda label: (not label.isdigit(), int(label) if label.isdigit() else 0, label))


def _made_up(count: int, random: Random) -> list[str]:
    """Return different words such as "biiko": no English text has them, and a sequence of them can be split."""
    consonants = "bdfgklmprstvz"
    words = [c + v + d + w for c in consonants for v in ("ii", "uu") for d in consonants for w in "aeiou"]
    if count > len(words):
        raise ValueError(f"kinds must not have renamed for games of more than {len(words)} labels, got {count}")
    return random.sample(words, count)


def _retold(env: Env) -> str:
    """Return the rulebook with other nouns, and without the game's name, sources and known results."""
    title, _, text = rulebook(env.rules).strip().partition("\n")
    text = re.sub(r"(?s)\bSources?:\s.*?(?=\n\n)", "", text.partition("\n## Known ")[0])
    names = {title.strip("# "), env.id, env.entry.id, env.id.replace("_", " "), env.entry.id.replace("_", " ")}
    text = re.sub(rf"(?i)\b({'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})\b", "the game", text)
    labels = {label.lower() for label in _labels(env)}  # words in the names of moves
    nouns = "|".join(noun for noun in NOUNS if noun not in labels)
    parts = re.split(r"(`[^`]*`)", text)  # names in code stay: they are those of the rule fields
    parts[::2] = [re.sub(rf"(?i)\b({nouns})(s?)\b", _noun, part) for part in parts[::2]]
    setting = describe(env).splitlines()[-1].removeprefix(f"This game is {env.id}")
    return f"# A game\n{''.join(parts).rstrip()}\n\nThis game is played{setting}\n"


def _noun(match: re.Match[str]) -> str:
    """Return the other word for a noun, with its capital and its plural."""
    noun = NOUNS[match[1].lower()]
    return (noun.capitalize() if match[1][0].isupper() else noun) + match[2]
