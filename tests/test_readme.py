"""README and the pages that it leads to: Python and commands run; figures, catalogue and links are right."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import tensor_envs as te
from tensor_envs.envs import registry

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
CATALOGUE = ROOT / "scripts" / "documents" / "catalogue.md"
CONTENTS = ROOT / "scripts" / "documents" / "contents.md"
DOCUMENTS = [ROOT / "README.md", *sorted(ROOT.glob("scripts/**/README.md"))]
DOCUMENTS += sorted(ROOT.glob("scripts/documents/*.md"))
ROOM_PAGES = "GUIDE", "README", "STRENGTH"  # pages of the package, by name
DOCUMENTS += [path for name in ROOM_PAGES for path in sorted(ROOT.glob(f"tensor_envs/**/{name}.md"))]
LENGTH = 90  # upper bound of lines in the README
BLOCKS = [
    (str(path.relative_to(ROOT)), language, text)
    for path in DOCUMENTS
    for language, text in re.findall(r"```(\w+)\n(.*?)```", path.read_text(), re.DOTALL)
]
PYTHON = [(path, text) for path, language, text in BLOCKS if language == "python"]
COMMANDS = [
    line.partition("#")[0].strip()
    for _, language, text in BLOCKS
    if language == "bash"
    for line in text.splitlines()
    if line.startswith("python scripts/") and "grpo.py" not in line  # which has a test of its own, and an extra
]
LONG = (
    "50 50 50 50 50",
    "--shape 3 3 3 3",
    "--shape 4 4 4",
    "benchmark.py",
    "shed.py",
    "--show 0",
)  # parts of commands that take long
TRAINING = ("nn.optim", "te.train.", "te.lab.variants")  # parts of programs that take long
# pages whose fast tests are those of the first block
LATER = re.compile(r"(rules|equilibria|adapters|referee|solve|search)/README|GUIDE|how_to")


def takes_long(block: int) -> bool:
    """Return whether a block of Python is run by slow tests alone."""
    path, code = PYTHON[block]
    is_first = path != PYTHON[block - 1][0]
    return any(part in code for part in TRAINING) or (not is_first and LATER.search(path) is not None)


def links(path: Path) -> set[Path]:
    """Return the files that a page links."""
    found = re.findall(r"\]\(([^)#]+)", path.read_text())
    return {(path.parent / link).resolve() for link in found if "://" not in link}


def test_documents() -> None:
    """The README is short, and one page that it links lists all others."""
    assert len(README.splitlines()) <= LENGTH
    names = {path.name for path in ROOT.glob("scripts/documents/*.md")} | {f"{name}.md" for name in ROOM_PAGES}
    assert {path.name for path in DOCUMENTS} == names and len(DOCUMENTS) >= 11
    assert len(PYTHON) >= 12 and len(COMMANDS) >= 5
    first = links(ROOT / "README.md")
    inner = {ROOT / "tensor_envs" / room / "README.md" for room in ("_compiler", "_runtime")}
    assert CONTENTS in first and set(DOCUMENTS) <= first | links(CONTENTS) | inner | {ROOT / "README.md"}


def test_the_readme_counts_the_games() -> None:
    ids, games = map(int, re.findall(r"(\d+) ids of (\d+) board and card games", README)[0])
    assert ids == len(te.registered())
    assert games == len({type(te.make(name).rules) for name in te.registered()})


def test_the_readme_names_the_version() -> None:
    (named,) = re.findall(r"^- Version ([\d.]+): ", README, re.M)
    assert te.__version__.startswith(f"{named}.")


def test_the_readmes_figures_of_a_card_are_measured() -> None:
    """The sentence rounds rows of the card's page."""
    page = (ROOT / "scripts" / "measured" / "card.md").read_text()
    sentence = README[README.index("One NVIDIA") :].partition("[Speed]")[0]
    (card,) = re.findall(r"One (NVIDIA \w+) takes", sentence)
    assert card in page
    figures = re.findall(r"([\d.]+) billion (?:bare steps )?of\s(connect four|\w+)", sentence)
    assert len(figures) == 3
    for figure, game in figures:
        row = rf"^\| {game.replace(' ', '_')}, \d+ games, bare step \| ([\d.]+) G/s"
        (measured,) = re.findall(row, page, re.M)
        assert abs(float(measured) - float(figure)) <= 0.03 * float(measured), game


def test_pictures_of_the_readme_have_alternative_texts() -> None:
    shown = re.findall(r"<img [^>]*>", README)
    assert len(shown) == 3 and all(re.search(r'alt="[^"]{30,}"', image) for image in shown)
    for source in re.findall(r'(?:src|srcset)="([^"]*)"', README):
        assert (ROOT / source).exists(), source


@pytest.mark.parametrize("path", [*DOCUMENTS, ROOT / ".github" / "CONTRIBUTING.md"], ids=str)
def test_links(path: Path) -> None:
    for link, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", path.read_text()):
        if "://" not in link:
            linked = path.parent / link if link else path
            assert linked.exists(), link
            titles = re.findall(r"^#+ (.*)$", linked.read_text(), re.M) if anchor else []
            anchors = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
            assert not anchor or anchor in anchors, anchor


@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param(path, code, id=f"{path}-{i}", marks=pytest.mark.slow if takes_long(i) else ())
        for i, (path, code) in enumerate(PYTHON)
    ],
)
def test_python(path: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block of Python runs, and prints what its comments quote."""
    imported = r"^(?:import|from) (gymnasium|sb3_contrib|torch\w*|jax|pyspiel|mcp)\b"
    adapter = r"adapters(?: import |\.)(pettingzoo|openenv|verifiers)"
    for package in re.findall(rf"{imported}|{adapter}|\.(torch)\(\)", code, re.MULTILINE):
        pytest.importorskip("".join(package))
    monkeypatch.setattr(registry, "_entries", {})  # custom games are removed afterwards
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {"__name__": "readme"})
    for promised in re.findall(r"print\(.*?\)\s+# (\[.*\])$", code, re.MULTILINE):
        assert promised in printed.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(c, marks=pytest.mark.slow if any(part in c for part in LONG) else ())
        for c in dict.fromkeys(COMMANDS)
    ],
)
def test_command(command: str, tmp_path: Path) -> None:
    script, *arguments = shlex.split(command)[1:]
    done = subprocess.run(
        [sys.executable, str(ROOT / script), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_table_of_games() -> None:
    """The catalogue lists every game with its figures and a link to its rules."""
    rows = re.findall(r"^\| \[`(\w+)`\]\(\S+\) \| (\d+) \| (\d+) \|", CATALOGUE.read_text(), re.M)
    assert {row[0] for row in rows} == set(te.registered())
    for name, players, actions in rows:
        env = te.make(name)
        assert (int(players), int(actions)) == (env.num_players, env.num_actions), name
