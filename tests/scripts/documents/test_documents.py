"""scripts/documents.py builds a site from the pages of the repository, with boards."""

import json
import re
import textwrap
from pathlib import Path

import pytest

import tensor_envs as te
from documents import games, reference
from documents.main import main
from documents.pages import PAGES, ROOT, TARGETS, linked, write
from tests.scripts.here import run_here

OTHER_HOST = r"(?:https?:)?//"


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    write(folder, ["tic_tac_toe"])
    return folder


def test_every_page_is_there(docs: Path) -> None:
    """Check that every page of the repository is a page of the site."""
    found = [*ROOT.glob("*.md"), *ROOT.glob(".github/*.md"), *ROOT.glob("scripts/**/*.md")]
    written = {path.relative_to(ROOT).as_posix() for path in (*found, *ROOT.glob("tensor_envs/**/*.md"))}
    assert written <= TARGETS.keys() and {"README.md", "scripts/notebooks/start.ipynb"} <= TARGETS.keys()
    assert {str(path.relative_to(docs)) for path in docs.rglob("*.md")} == PAGES.keys()
    families = {page for page in PAGES if page.startswith("games/")} - {"games/index.md", "games/known_results.md"}
    assert {f"games/{folder}.md" for folder in games.ENTRIES} == families
    assert {id for folder in games.ENTRIES for id in games.ids(folder)} == set(te.registered())


def test_a_game(docs: Path) -> None:
    """Check that a game's page has facts from the game and from the tables of other pages."""
    text = (docs / "games" / "hyper_tic_tac_toe.md").read_text()
    assert text.index("../pictures/hyper") < text.index("../../play/index.html#tic_tac_toe") < text.index("## Names")
    assert "play/index.html#qubic" not in text  # its board was not built
    assert "| `'gomoku'` | 2 | 225 | bool [2, 15, 15] | 116 |" in text
    assert "\n| 0..26 | own marks |\n| 27..53 | the opponent's marks |\n" in text
    assert "\n| 24 | `(2,2,0)` | `(2,2,1)` | `(2,2,2)` |\n" in text
    assert "\n| tic-tac-toe 3x3: complete games | 255,168 |" in text and "\n| connect" not in text
    assert re.search(r"^\| tic_tac_toe \| -\d+ \+- \d+ \|", text, re.M), "trained players"
    text = (docs / "games" / "chess.md").read_text()
    assert "\n| 0..383 | own pawns, knights, bishops, rooks, queens, king (6 x 64) |\n" in text
    text = (docs / "games" / "kuhn_poker.md").read_text()
    assert "\\[" not in (docs / "games" / "go.md").read_text()  # the folded observation is printed verbatim
    assert "| 0 | `pass` | `bet` |" in text and "\n| kuhn_poker: value for the first player | -0.0556 |" in text
    assert "## Exact results" not in (docs / "games" / "backgammon.md").read_text()
    assert re.search(r"Player \d is to move, and may play `pass`, `bet`\.", text)  # an unfinished position


def test_sources_and_judges() -> None:
    """Check the table against the folders of the tests and lines of rulebooks."""
    rows = {row.split("|")[1].strip(): row for row in games.provenance() if row.startswith("| [")}
    assert {f"[{games.title(folder)}]({folder}.md)" for folder in games.ENTRIES} == rows.keys()
    assert {id for row in rows.values() for id in re.findall(r"`(\w+)`", row.split("|")[2])} == set(te.registered())
    for folder in games.ENTRIES:
        row = rows[f"[{games.title(folder)}]({folder}.md)"]
        assert row.count("|") == 6, row
        compared = (ROOT / "tests" / "games" / folder / "test_openspiel.py").exists()
        assert ("OpenSpiel" in row.split("|")[5]) == compared, folder
    breakthrough, chess = (rows[f"[{games.title(folder)}]({folder}.md)"] for folder in ("breakthrough", "chess"))
    assert "| 2001 | D. Troyka's rules, winner of the 8x8 Game Design Competition 2001" in breakthrough
    assert breakthrough.endswith("ACG 2011 | OpenSpiel, counts (perft), known answers |")
    assert "python-chess" in chess and "| 2023 | FIDE Laws of Chess (2023)" in chess


@pytest.mark.parametrize("folder", games.ENTRIES)
def test_a_game_is_made_as_its_page_says(docs: Path, folder: str) -> None:
    text = (docs / "games" / f"{folder}.md").read_text()
    (code,) = re.findall(r"^( *)```python\n(.*?)```", text, re.M | re.S)
    made: dict[str, te.Env] = {}
    exec(textwrap.dedent(code[1]), made)
    assert made["env"].rules == te.make(games.ENTRIES[folder].id).rules


def test_notebooks_show_what_they_print_and_draw(docs: Path) -> None:
    text = (docs / "start.md").read_text()
    assert "plays (2,0) - so does perfect play: True" in text
    (picture,) = re.findall(r"\]\((pictures/start_\d+\.svg)\)", text)
    assert (docs / picture).read_text().startswith("<svg")


@pytest.mark.parametrize("source", ["scripts/README.md", "README.md"])
def test_links(source: str, tmp_path: Path) -> None:
    up = "../" * source.count("/")
    text = f"[a]({up}tensor_envs/web#b) [c](https://d.e/) [f][g] `[h](i)`\n- l\n- m\n```text\n[j](k)\n- n\n```\n"
    there = "[a](../../browser.md#b) [c](https://d.e/) [f]\\[g] `[h](i)`\n\n- l\n- m\n```text\n[j](k)\n- n\n```\n"
    assert linked(text, source, "x/y/z.md", tmp_path) == there
    with pytest.raises(ValueError, match=f"{source} links to x.py, which is no page of the site"):
        linked("[x](x.py)", source, "x.md", tmp_path)


def test_linked_programs_are_copied(docs: Path) -> None:
    assert "](programs/main.c)" in (docs / "export.md").read_text() and (docs / "programs" / "main.c").is_file()


def test_every_public_name_is_in_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(text() for text in (*reference.pages().values(), reference.language))
    assert "::: tensor_envs.envs.rollout.rollout\n    options: {heading: te.rollout, toc_label: rollout}" in text
    assert "::: tensor_envs.rules.scalar.where\n    options: {heading: where, " in text
    monkeypatch.setattr(te, "__all__", [*te.__all__, "new_one"])
    with pytest.raises(ValueError, match="'new_one' is on no page"):
        reference.pages()


@pytest.mark.extra("lunr", "mkdocs", "material", "mkdocstrings")
def test_build(tmp_path: Path) -> None:
    """Build without warnings, and without resources of other hosts; only links may lead to them."""
    out = tmp_path / "site"
    code, told, errors = run_here(main, [out, "--env", "tic_tac_toe"])
    assert (code, errors) == (0, "") and f"-d {out}" in told
    assert (out / "play" / "games" / "tic_tac_toe.wasm.gz").stat().st_size > 1000
    pages = [path for path in out.rglob("*.html") if path.parent != out / "play"]
    assert len(pages) >= len(PAGES)
    for path in pages:
        text = path.read_text()
        assert not re.search(r"<p>[^<]*\n(?:- |\|)", text), f"{path} has a list or a table that is none"
        asked = re.findall(r"""<(?!a\b)\w+\b[^>]*?\s(?:src|href|action|data)=["']?([^"' >]+)""", text)
        assert asked and not [link for link in asked if re.match(OTHER_HOST, link)], path
    for path in out.rglob("*.css"):
        assert not re.search(rf"(?:url\(|@import)\s*[\"']?{OTHER_HOST}", path.read_text()), path
    page = (out / "games" / "hyper_tic_tac_toe" / "index.html").read_text()
    frame = re.findall(r'<iframe[^>]* src="([^"#]+)#tic_tac_toe"', page)[0]
    assert (out / "games" / "hyper_tic_tac_toe" / frame).is_file()
    assert "te.rollout" in (out / "reference" / "loops" / "index.html").read_text()


@pytest.mark.extra("lunr", "mkdocs")
def test_unanswered_questions_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("documents.main.web.build", lambda *arguments: None)
    monkeypatch.setattr("documents.main.write", lambda docs, boards: docs.mkdir())
    monkeypatch.setattr("documents.answers.ANSWERS", {"othello": "other/", "go": ""})

    def build(config: Path, out: Path) -> None:
        pages = {"": ("Go", "<p>Othello is on no other page.</p>"), "other/": ("Chess", "")}
        sections = [{"location": page, "title": title, "text": text} for page, (title, text) in pages.items()]
        (out / "search").mkdir(parents=True)
        (out / "search" / "search_index.json").write_text(json.dumps({"docs": sections}))

    monkeypatch.setattr("documents.main.build", build)
    code, _, errors = run_here(main, [tmp_path / "site", "--env", "tic_tac_toe"])
    assert code == 1 and "search: 'othello' finds [''], not 'other/'" in errors and "'go'" not in errors


@pytest.mark.extra("lunr", "mkdocs", "material", "mkdocstrings")
def test_warnings_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("documents.main.web.build", lambda *arguments: None)
    monkeypatch.setattr("documents.main.nav", lambda: ["index.md"])

    def write(docs: Path, boards: object) -> None:
        docs.mkdir()
        (docs / "index.md").write_text("[a](b.md)")

    monkeypatch.setattr("documents.main.write", write)
    code, _, errors = run_here(main, [tmp_path / "site", "--env", "tic_tac_toe"])
    assert code == 1 and errors.startswith("python scripts/documents.py: error: MkDocs: WARNING") and "'b.md'" in errors
    assert not (tmp_path / "site").exists()
