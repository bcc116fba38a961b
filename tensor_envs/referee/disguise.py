"""Disguises: the same game in another form, to distinguish reasoning from recall."""

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
MAX_SYMMETRIES = 1000  # number of a game's first symmetries from which one is drawn
RESERVED = {"move", "action", "answer"}  # words with a meaning for `te.text.parse`, which are no labels
LABEL = r"[A-Za-z]+|\d+"  # a label: letters, or digits
SQUARE = r"[a-z]\d+|\d+[a-z]\b"
# in algebraic notation, such as "Nf3" and "exd5"
PIECE = r"[A-Z](?=[a-z]?\d?x?[a-z]\d)"  # letter of a piece
SQUARE_LETTER = r"[a-z](?=x?[a-z]?\d)"  # letter of a square
# nouns of rulebooks, and the nouns that replace them in a retold one
NOUNS = {
    **{"board": "field", "cell": "spot", "square": "spot", "column": "lane", "diagonal": "slope", "corner": "edge"},
    **{"mark": "token", "stone": "token", "disc": "token", "piece": "token", "checker": "token", "card": "slip"},
    **{"king": "elder", "queen": "falcon", "rook": "tower", "bishop": "envoy", "knight": "leaper", "pawn": "scout"},
    **{"pot": "bowl", "poker": "game", "deck": "heap", "tile": "plate", "talon": "reserve", "hand": "basket"},
}


class Disguise:
    """Disguise of a game, which changes what a player reads and writes. The game itself stays the same.

    - "symmetry": the game is mirrored or rotated.
    - "renamed": labels, the letters and numbers in names of actions and coordinates, are replaced by random words.
    - "permuted": labels are exchanged among each other.
    - "retold": the rulebook omits the game's name, and has other nouns for its board and pieces.

    The prompt says what renamed and permuted labels stand for, so the player lacks no information.

    Attributes:
        env: the environment.
        kinds: the kinds of this disguise; without any, the game is shown as it is.
        actions: for each action of the shown game, the action that it stands for.
        labels: for each label, the shown label.

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
            labels = _labels_of(env)
            self.labels = dict(zip(labels, _random_words(len(labels), random), strict=True))
        if "permuted" in kinds:
            for pattern in (r"\d+", r"[a-z]", r"[A-Z]", r"[A-Za-z]{2,}"):
                group = [label for label in _labels_of(env) if re.fullmatch(pattern, label)]
                self.labels |= dict(zip(group, random.sample(group, len(group)), strict=True))
        # An answer with a real label that is not shown must not name a move: it is replaced as well.
        self._real_labels = self.labels | {new: old for old, new in self.labels.items()}
        self._lower_case = {new.lower(): old for new, old in self._real_labels.items()}
        # Letters of pieces in drops such as "G*3a" are no labels, even if a rank is "g".
        self._real_labels = {name[0]: name[0] for name in env.action_names if name[1:2] == "*"} | self._real_labels

    @property
    def notes(self) -> dict[str, Any]:
        """Kinds, labels and actions of the disguise for notes of a record, which JSON can hold."""
        actions = {} if self.actions == tuple(range(self.env.num_actions)) else {"actions": [*self.actions]}
        return {"kinds": [*self.kinds], "labels": self.labels, **actions}

    def shown(self, action: int) -> int:
        """Return the action of the shown game that stands for an action."""
        return self.actions.index(action) if action in self.actions else action

    def spell(self, text: str) -> str:
        """Return a text with the shown labels in place of the real ones."""
        return re.sub(LABEL, lambda label: self.labels.get(label[0], label[0]), text) if self.labels else text

    def read(self, answer: str) -> str:
        """Return an answer with the real labels in place of the shown ones."""
        if not self.labels:
            return answer
        random_words = [*self.labels.values()] if "renamed" in self.kinds else []  # such as both of "biikofuumi"
        before_words = f"(?=(?:(?:{'|'.join(random_words)})x?)+(?![A-Za-z]))"
        # A letter that is no label may precede random words, such as e in "biikoefuumi".
        single_letters = [f"[A-Za-z]x?{before_words}"] if random_words else []
        # The letter of a piece is no label, even if a file has the same letter.
        pieces = list[str]()
        square_letters = list[str]()
        if self.env.names_depend_on_position:
            pieces = [rf"(?P<piece>(?-i:{PIECE}{f'|[A-Z]x?{before_words}' if random_words else ''}))"]
            square_letters = [f"(?-i:{SQUARE_LETTER})"]
        pattern = "|".join([*random_words, *pieces, *single_letters, *square_letters, LABEL])

        def real_label(label: re.Match[str]) -> str:
            """Return what a matched part of the answer stands for."""
            if label.lastgroup == "piece":
                return label[0]
            return self._real_labels.get(label[0]) or self._lower_case.get(label[0].lower(), label[0])

        return re.sub(pattern, real_label, answer, flags=re.IGNORECASE)

    def rules(self) -> str:
        """Return the rules in this disguise."""
        text = _retold_rules(self.env) if "retold" in self.kinds else describe(self.env)
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


def _labels_of(env: Env) -> list[str]:
    """Return all words and numbers in the names of a game's actions, numbers first."""
    names = list(env.action_names)
    # If names depend on the position, use the squares of actions, and the names of both players' first moves.
    if env.names_depend_on_position:
        squares = [square[0] for name in names if (square := re.match(SQUARE, name))]
        state = env.init(1)
        legal = env.legal_actions(state)
        names = [*squares, *legal.values()]
        names += env.legal_actions(env.step(state, [min(legal)])).values()
    labels = {label for name in names for label in re.findall(LABEL, name)} - RESERVED
    return sorted(labels, key=lambda label: (not label.isdigit(), int(label) if label.isdigit() else 0, label))


def _random_words(count: int, random: Random) -> list[str]:
    """Return different random words such as "biiko", which English lacks, and of which a sequence can be split."""
    consonants = "bdfgklmprstvz"
    words = [c + v + d + w for c in consonants for v in ("ii", "uu") for d in consonants for w in "aeiou"]
    if count > len(words):
        raise ValueError(f"kinds must not have renamed for games of more than {len(words)} labels, got {count}")
    return random.sample(words, count)


def _retold_rules(env: Env) -> str:
    """Return the rulebook with other nouns, and without the game's name, sources and known results."""
    title, _, text = rulebook(env.rules).strip().partition("\n")
    text = re.sub(r"(?s)\bSources?:\s.*?(?=\n\n)", "", text.partition("\n## Known ")[0])
    names = {title.strip("# "), env.id, env.entry.id, env.id.replace("_", " "), env.entry.id.replace("_", " ")}
    text = re.sub(rf"(?i)\b({'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})\b", "the game", text)
    labels = {label.lower() for label in _labels_of(env)}  # words in the names of moves
    nouns = "|".join(noun for noun in NOUNS if noun not in labels)
    parts = re.split(r"(`[^`]*`)", text)  # keep names in code, which are those of rule fields
    parts[::2] = [re.sub(rf"(?i)\b({nouns})(s?)\b", _noun, part) for part in parts[::2]]
    setting = describe(env).splitlines()[-1].removeprefix(f"This game is {env.id}")
    return f"# A game\n{''.join(parts).rstrip()}\n\nThis game is played{setting}\n"


def _noun(match: re.Match[str]) -> str:
    """Return the replacement of a noun, with its capital letter and plural."""
    noun = NOUNS[match[1].lower()]
    return (noun.capitalize() if match[1][0].isupper() else noun) + match[2]
