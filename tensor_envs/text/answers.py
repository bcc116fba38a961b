"""Answers of players that write, read as actions: an explicit mark wins, and words that change a meaning count."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from functools import partial
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from tensor_envs._validate import shown

if TYPE_CHECKING:
    from tensor_envs.envs.env import Env
    from tensor_envs.envs.state import State

MAX_READ = 2**16  # characters of an answer that are read, its last ones
# elements of thoughts, which may lack an end where an answer is cut off, or a beginning that the prompt has
THOUGHTS = "(think(?:ing)?|thoughts?|reason(?:ing)?|analysis|scratchpad|reflection|explanation)"
THINKING = re.compile(rf"<{THOUGHTS}\b[^<>]*>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
THOUGHT = re.compile(rf"\A.*</{THOUGHTS}>", re.IGNORECASE | re.DOTALL)
CLOSING = re.compile(r"</\w+>")
EXAMPLE = re.compile(r"such as:[\s*_`'\"]*move:[^\n]*")  # in a prompt, which an answer may repeat
# mark before an answer: as a prompt asks for it, in JSON, XML or a box, or as models often write it
MARK = re.compile(
    r"(?:\b|_|(?-i:(?<=[a-z])(?=[MA])))(?:move|action|answer)\b[\s*_`'\"]*[:=]|<(?:move|action|answer)>|\\boxed\{",
    re.IGNORECASE,
)
# words before a move where an answer has no mark, unless they are a condition or a plan, as in "if I play e4"
PHRASE = re.compile(
    r"\b(?:move|action|answer)\b[\s*_`'\"]*is\b"
    r"|(?:^|[.!?;:,]|\b(?:so|thus|hence|therefore|but|instead|now))[\s*_`]{0,8}"
    r"I(?:'ll|'d|\s+will|\s+would|(?:'m|\s+am)\s+going\s+to)?(?:\s+(?:now|therefore|simply|thus|then))?"
    r"\s+(?:play|choose|pick|select|move|take|place|put|drop|mark|open\s+with|go(?:\s+(?:with|for))?|decide\s+on)\b",
    re.IGNORECASE | re.MULTILINE,
)
# words directly before a mark of a move that is another's, an earlier one, or one that is not played
OTHERS = re.compile(
    r"(?<![A-Za-z])(?:last|previous|prior|earlier|opponent(?:'?s)?|their|his|her"
    r"|other|another|alternative|candidate|illegal|invalid|bad|worst|wrong|losing|no)"
    r"(?:[\s_]+(?:best|next|only|likely|strongest|possible))?[\s_]*$",
    re.IGNORECASE,
)
# words before the first name behind a mark, by which that name is one of several that an explanation has
CLAUSE = re.compile(
    r"\b(?:if|since|because|as|after|although|though|while|when|unless|given|consider\w*|thought|thinking|was|were|had)\b",
    re.IGNORECASE,
)
# words behind a mark by which no move follows, such as null in JSON
NOTHING = re.compile(
    r"[\s*_`]*(?:\"\"|''|[\"'*_`]*(?:none|null|nil|n/?a|nothing|unknown|undecided|resign(?:s|ed|ing)?)\b)",
    re.IGNORECASE,
)
# words by which a text without a mark plays no move
REFUSAL = re.compile(
    r"\bI(?:'ll|'d|\s+(?:will|would|must|have\s+to))?\s+(?:resign|surrender|forfeit|give\s+up)\b"
    r"|\b(?:refuse|decline|unable)\s+to\s+(?:move|answer|continue|help)\b"
    r"|\b(?:can(?:not|\s+not|'?t)|won't|will\s+not)\s+(?:help|assist|continue|answer|comply|make\s+a\s+move"
    r"|(?:move|play)(?!\s+\w))\b|^\W*(?:maybe|perhaps|possibly)\b",
    re.IGNORECASE,
)
# words directly before a name that is not played
DENIAL = re.compile(
    r"(?:\b(?:not?|never|neither|nor|cannot|avoid(?:ing)?|without|refus(?:e|ing)|declin(?:e|ing)|against|if|after|suppos\w+"
    r"|threaten(?:s|ed|ing)?)"
    r"|n't|\b(?:instead\s+of|rather\s+than|too\s+\w+)"
    r"|\b(?:illegal|invalid|bad|worst|wrong|losing|last|previous|opponent(?:'?s)?)\s+(?:move|action|answer)s?\b[\s:*_`'\"]*"
    r"(?:is|was)?|\b(?:opponent|they|he|she)(?:\s+(?:just|has|have|may|might|could|will|would|can|also))*"
    r"\s+(?:play|threaten|take|took|move|reply|replie|respond|answer|chose)(?:s|d|ed)?(?:\s+with)?)\s+"
    r"(?:(?:to|be|do|an?|able|going|want|wish|like|play|playing|choose|choosing|the|move|is|I|we|for|sure|about"
    r"|recommend|suggest|advise|consider|think|pick)[\s:]+)*[\s*_`'\"]*$",
    re.IGNORECASE,
)
# words directly behind a name that is not played
DISMISSAL = re.compile(
    r"[\s*_`'\")]*(?:\b(?:is|are|was|were|looks?|seems?|(?:would|will)\s+be)\s+(?:(?:an?|also|clearly|just|very)\s+)*"
    r"(?:not|too|bad|weak|wrong|worse|illegal|invalid|impossible|losing|premature|mistake|blunder|taken|occupied)\b"
    r"|\b(?:is|are|was|were|would|does|do|did|will|can|could)n't\b|\b(?:would|does|will|could|can)\s*not\b"
    r"|\b(?:loses|fails|blunders)\b)",
    re.IGNORECASE,
)
# a sentence that asks, whose moves are not played
QUESTION = re.compile(
    r"(?:^|[.!?;:,]\s)[\W_]{0,8}(?:what|why|how|which|who|where|when|should|shall|could|can|would|will|is|are|am|do|does"
    r"|did|may|might)\b[^.!?\n]{1,256}\?",
    re.IGNORECASE | re.MULTILINE,
)
# words behind a move by which another one may replace it
CORRECTION = re.compile(
    r"\bno,?\s+wait\b|(?:^|[.!?;,(-])[\s*_`]{0,8}(?:no(?=[,.:;!])|wait|actually|correction|scratch\s+that"
    r"|on\s+second\s+thought)\b",
    re.IGNORECASE | re.MULTILINE,
)
BEFORE = 64  # characters in which such words are looked for
# numbers of moves, as in "1.e4" and "1.24/20": before a word where a line or a name begins, elsewhere before squares
NUMBER = r"\d{1,3}[ \t]?\.{1,3}[ \t]*"
MOVE_NUMBER = re.compile(
    rf"(?:^[ \t]*|(?<=[:=>*_`'\"({{\[])[ \t]?){NUMBER}(?=[*_`]*[A-Za-z♔-♟])"
    rf"|(?<![\w.]){NUMBER}(?=[*_`]*(?:[A-Za-z]{{1,3}}\d|[♔-♟]|O-O|\d+[ \t]*(?:[-x/]|[a-z]\b)))",
    re.MULTILINE,
)
NUMBERED = re.compile(r"^[ \t]*\d{1,3}\)[ \t]+(?=[*_`]*[A-Za-z♔-♟])", re.MULTILINE)  # an item of a list, as in "1) e4"
SIGNS = str.maketrans(
    dict.fromkeys("‐‑‒–—−→⇒➔➜", "-")
    | dict.fromkeys("×✕✖⨯", "x")
    | dict.fromkeys("‘’", "'")
    | dict.fromkeys("“”„«»", '"')
    | {"…": "...", "\u00a0": " ", "、": ",", "。": "."}
    | {chr(0xFF00 + code): chr(0x20 + code) for code in range(1, 95)}  # full width, such as "：" and "（"
)
# a start and a target, as words or in JSON
FROM_TO = re.compile(
    r"\b(?:from|start|source|origin)\b\W{1,9}([a-z]?\d{1,2}[a-z]?)\W{1,9}\b(?:to|end|target|destination)\b\W{1,9}(?=\w)",
    re.IGNORECASE,
)
# between two moves of which an answer leaves the choice open, and between those of a list
GAP = r"[\s*_`'\"]*"
OR = re.compile(
    rf"{GAP}(?:[/|]|,?{GAP}\b(?:or|and)\b(?:\s+(?:else|maybe|perhaps|possibly|even|alternatively))*){GAP}",
    re.IGNORECASE,
)
OR_NUMBER = re.compile(rf"{GAP}\bor\b{GAP}\d+\b(?!\s*[.-])", re.IGNORECASE)  # as in "play 0 or 1"
COMMA = re.compile(rf"{GAP},{GAP}")
NUMBERS = r"\d+(?:\s*,\s*\d+)+"
LIST = re.compile(rf"\[(\s*{NUMBERS}\s*)\]")  # coordinates as JSON has them
# coordinates alone in a line, or behind a mark
BARE = re.compile(rf"(?<![^:=>\n])([ \t*_`'\"]*)({NUMBERS})(?=[ \t*_`'\".}}]*$)", re.MULTILINE)
MAX_LISTED = 8  # names of actions in an error
# parts of a name, between which there may be spaces; "e2e4" and "22x15" consist of squares
TOKEN = re.compile(r"[A-Za-z]+\d+(?=x?[a-z]\d)|\d+(?=x\d)|x(?=[a-z]?\d)|\w+|[^\w\s]")
SQUARE = re.compile(r"[A-Za-z]+\d+")
DASH = r"(?:[-:x]|\bto\b)"
SPELLINGS = {"-": DASH, "x": DASH, "=": "=?", "/": r"(?:[-/]|\bto\b)"}
SEPARATOR = r"\s*(?:[,;&+]\s*)?(?:and\s+)?"  # between numbers in a row, such as "1, 2 and 4"
BETWEEN = rf"[\s'\"]*(?:(?:{DASH}|,)[\s'\"]*)?"  # two squares
UNSIGNED = str.maketrans("", "", "-x")
ILLEGAL = -1  # in place of the number of an action whose name no legal one has


class IllegalMove(ValueError):
    """Answer that names a move which is not legal."""


def action_of(env: Env, answer: str, state: State | None, row: int, argument: str = "answer") -> int:
    """Return the action that an answer names, see `te.text.parse`. Errors call it `argument`."""
    # legal moves decide between names; the others are known, too
    legal = None if state is None else env.legal_actions(state, row)
    every = {} if env.names_depend_on_position else {name: a for a, name in enumerate(env.action_names)}
    # all names, so that an illegal move can be called so; of two actions with one name the legal one is meant
    named_by_position = env.spellings(state, row)
    notation = env.entry.find("notation")
    form = notation.move_pattern(named_by_position) if env.names_depend_on_position else ""
    names = _names(tuple((every | named_by_position).items()), form, getattr(notation, "COMMENT_SIGNS", ""))
    has_numbers = any(name.isdecimal() for name in named_by_position)
    read = _normalized(answer, getattr(notation, "SYNONYMS", ()), has_numbers)

    def named_in(place: str, is_marked: bool) -> dict[int, str]:
        """Return the actions that a text names, with their names there."""
        if not is_marked and REFUSAL.search(place):
            return {}
        matches = _played(place, list(names.pattern.finditer(place)))
        if matches and OR_NUMBER.match(place, matches[0].end()):
            raise ValueError(f"{argument} must name one move, got {shown(place.strip())}")
        if is_marked and matches and not CLAUSE.search(place, 0, matches[0].start()):
            matches = _alternatives(place, matches)  # text after a move explains it
        return {names.action(match): match.group() for match in matches}

    places, others = _places(names, read)
    beside = {action: text for other in others for action, text in named_in(other, False).items()}
    # the first place that names one move decides; one that names several asks for a clearer answer
    for place, is_marked in places:
        named = named_in(place, is_marked)
        # moves beside it must not differ
        if named:
            named = beside | named
        # the only legal one of several is meant
        if legal is not None and len(named) > 1:
            named = {action: text for action, text in named.items() if action in legal}
        if len(named) == 1:
            ((action, text),) = named.items()
            if legal is None or action in legal:
                return action
            name = text if action == ILLEGAL else env.action_names[action]
            raise IllegalMove(f"{name} is not legal; {_listed(env, legal)}")
        if len(named) > 1:
            texts = legal or dict(enumerate(env.action_names))
            several = ", ".join(texts[action] for action in sorted(named.keys() & texts.keys())[:MAX_LISTED])
            raise ValueError(f"{argument} must name one move, got {shown(place.strip())}, which names {several}")
    raise ValueError(f"{argument} must name a move, got {shown(answer)}; {_listed(env, legal)}")


def _places(names: _Names, read: str) -> tuple[list[tuple[str, bool]], list[str]]:
    """Return the texts where an answer's move may stand, the likeliest first, and those whose moves must not differ.

    Each of the first comes with whether it stands behind a mark.
    """
    lines = [line for line in read.splitlines() if any(map(str.isalnum, line))]
    last = lines[-1] if lines else ""
    alone = list(takewhile(partial(_is_move_alone, names), reversed(lines)))  # last lines that are nothing but a move
    others = list[str]()
    marked, behind = _marked(names, read)
    if marked:
        # a mark such as "move: none" says that no move follows
        is_nothing = NOTHING.match(marked) and not names.pattern.match(marked.strip())
        places = [] if is_nothing else [(marked, True)]
        if places and alone:
            places.append((last, False))
            others.append(last)
    elif alone:
        places = [("\n".join(alone), False)]  # a list leaves the choice open
    else:
        phrase, behind = _phrase(read)
        places = [(phrase, True), (last, False), (read, False)]
        if lines and _is_move_alone(names, lines[0]):
            others.append(lines[0])
        if any(map(str.isalnum, behind.partition("\n")[2])):  # the phrase is not in the last line
            others.append(last)
    if correction := CORRECTION.search(behind):
        others.append(behind[correction.end() :].partition("\n")[0])
    return places, others


def _marked(names: _Names, read: str) -> tuple[str, str]:
    """Return the text behind the last mark of an own move, in its line or the next move alone, and all of it."""
    own = [
        mark for mark in MARK.finditer(read) if not OTHERS.search(read[max(0, mark.start() - BEFORE) : mark.start()])
    ]
    if not own:
        return "", ""
    behind = read[own[-1].end() :]
    line, _, below = behind.partition("\n")
    if any(map(str.isalnum, line)):
        return line, behind
    following = next((line for line in below.splitlines() if any(map(str.isalnum, line))), "")
    return following if _is_move_alone(names, following) else "", behind


def _phrase(read: str) -> tuple[str, str]:
    """Return the text behind the last phrase such as "I play", in its line and all."""
    ends = [phrase.end() for phrase in PHRASE.finditer(read)]
    behind = read[ends[-1] :] if ends else ""
    return behind.partition("\n")[0], behind


def _is_move_alone(names: _Names, line: str) -> bool:
    """Return whether a line has a name and no other letters or digits."""
    match = names.pattern.search(line)
    return match is not None and not any(map(str.isalnum, line[: match.start()] + line[match.end() :]))


def _alternatives(place: str, matches: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the first match and, where "or" joins it to others, perhaps in a list, these as well."""
    for count, (one, other) in enumerate(pairwise(matches), 2):
        if OR.fullmatch(place, one.end(), other.start()):
            return matches[:count]
        if not COMMA.fullmatch(place, one.end(), other.start()):
            break
    return matches[:1]


def _normalized(answer: str, synonyms: Sequence[tuple[str, Any]], has_numbers: bool) -> str:
    """Return the end of an answer with plain signs, and with names for synonyms.

    Numbers of moves are left out unless the game `has_numbers` for names, as in "I choose 3. It blocks 5".
    """
    if len(answer) > MAX_READ:
        answer = answer[-MAX_READ:].partition(" ")[2]  # a name may be cut
    text = answer.translate(SIGNS)
    for pattern in (THINKING, THOUGHT, CLOSING, EXAMPLE):
        text = pattern.sub("", text)
    for words, replacement in synonyms:
        text = re.sub(words, replacement, text)
    text = FROM_TO.sub(r"\1-", text)
    if not has_numbers:
        text = NUMBERED.sub("", MOVE_NUMBER.sub("", text))
    return BARE.sub(r"\1(\2)", LIST.sub(r"(\1)", text))


def _played(text: str, matches: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """Return the matches of names that a text neither denies, nor dismisses, nor asks about."""
    questions = [question.span() for question in QUESTION.finditer(text)]
    played = list[re.Match[str]]()
    is_denied = False
    for k, match in enumerate(matches):
        goes_on = is_denied and OR.fullmatch(text, matches[k - 1].end(), match.start())  # "not e4 or d4"
        is_denied = bool(goes_on or DENIAL.search(text[max(0, match.start() - BEFORE) : match.start()]))
        is_asked = any(start <= match.start() < end for start, end in questions)
        if not (is_denied or is_asked or DISMISSAL.match(text, match.end())):
            played.append(match)
    return played


def _listed(env: Env, legal: dict[int, str] | None) -> str:
    """Return a sentence that lists some moves."""
    if legal is not None and not legal:
        return "no move is legal, the game is over"
    listed = env.action_names if legal is None else tuple(legal.values())
    names = "; ".join(listed[:MAX_LISTED]) + "; ..." * (len(listed) > MAX_LISTED)
    return f"{'moves' if legal is None else 'legal moves'} are {names}"


class _Names(NamedTuple):
    """Pattern that finds names, the longest first, with a group for each action, of which one may be ILLEGAL."""

    pattern: re.Pattern[str]
    actions: tuple[int, ...]

    def action(self, match: re.Match[str]) -> int:
        """Return the action of a match."""
        assert match.lastindex is not None
        return self.actions[match.lastindex - 1]


@functools.lru_cache(64)
def _names(names: tuple[tuple[str, int], ...], form: str, signs: str) -> _Names:
    """Return the pattern of some names. Case counts in those alone that differ by it, as "b" and "B" do in chess.

    What has another name of the pattern `form` is ILLEGAL; without one there are only these names. `signs` behind a
    name are comments.
    """
    # behind a name "+" is another move, as in shogi, unless it is a sign of check
    no_promotion = r"(?!\+)" if form and "+" not in signs else ""
    # actions of names that differ by case, dashes and signs of captures alone
    by_lower: dict[str, set[int]] = {}
    beginnings = set[tuple[str, ...]]()  # proper beginnings of longer names
    for name, action in names:
        by_lower.setdefault(name.lower().translate(UNSIGNED), set()).add(action)
        tokens = TOKEN.findall(name.lower())
        beginnings |= {tuple(tokens[:k]) for k in range(1, len(tokens))}

    def spelled(name: str) -> str:
        tokens = TOKEN.findall(name)
        text = SPELLINGS.get(tokens[0], re.escape(tokens[0]))
        for before, token in pairwise(tokens):
            is_pair = SQUARE.fullmatch(before) and SQUARE.match(token)
            is_row = before.isdecimal() and token.isdecimal()
            text += BETWEEN if is_pair else SEPARATOR if is_row else r"\s*"
            text += SPELLINGS.get(token, re.escape(token))
        # a shorter name is never read where a longer one stands
        after = r"(?!\w)(?!\.(?:\d|[a-z]\b))(?!-\w)" + no_promotion if name[-1].isalnum() else ""
        after += "" if "/" in name else r"(?!/\w)"
        after += r"(?!\s*%)" if name[-1].isdecimal() else ""
        if name[-1].isdecimal() and tuple(TOKEN.findall(name.lower())) in beginnings:
            after += rf"(?!{SEPARATOR}\d)"
        is_one = len(by_lower[name.lower().translate(UNSIGNED)]) == 1
        return f"({text if is_one else f'(?-i:{text})'}){after}"

    # names by their first letter or digit: a text has few places where one can begin
    groups: dict[str, list[tuple[str, int]]] = {}
    for name, action in sorted(names, key=lambda pair: len(pair[0]), reverse=True):
        first = "" if TOKEN.findall(name)[0] in SPELLINGS else name[0].lower()
        groups.setdefault(first, []).append((spelled(name), action))
    patterns = list[str]()
    for first, spellings in groups.items():
        before = r"(?<!\w)(?<!\d\.)(?<!\b[a-z]\.)(?<!\w[-/])(?<!\d\()" if first.isalnum() else ""
        before += "(?<!-)" if first.isdecimal() else ""  # a number that is not negative
        ahead = f"(?={re.escape(first)})" if first else ""
        patterns.append(f"{before}{ahead}(?:{'|'.join(text for text, _ in spellings)})")
    actions = [action for spellings in groups.values() for _, action in spellings]
    if form:
        patterns.append(rf"(?<![\w/-])((?-i:{form}))(?![\w/-])")
        actions.append(ILLEGAL)
    return _Names(re.compile("|".join(patterns), re.IGNORECASE), tuple(actions))
