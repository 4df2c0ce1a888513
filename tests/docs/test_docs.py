"""Pages: generated parts, links, and examples that run and print what the page shows."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gpu_tools.cli.main import cli
from tests.docs.folder import prepare, run

ROOT = Path(__file__).parents[2]
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
FOLDERS = ("docs", "config", "resources", "benchmarks/notes")
PAGES = [*ROOT.glob("*.md"), *(page for name in FOLDERS for page in (ROOT / name).rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def page_id(page):
    return str(page.relative_to(ROOT))


def text_of(page):
    return page.read_text(encoding="utf-8")


def blocks(page, *languages):
    """Return (language, text) of a page's blocks in some languages."""
    return [block for block in BLOCK.findall(text_of(page)) if block[0] in languages]


def test_config_table_is_up_to_date():
    command = [sys.executable, ROOT / "docs" / "config_table.py", "--check"]
    assert subprocess.run(command).returncode == 0, "run docs/config_table.py"


def anchors(page):
    """Return what links can name in a page: its headings, as GitHub writes them."""
    outside = BLOCK.sub("", text_of(page))
    headings = re.findall(r"^#+ (.*)$", outside, re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_to_files_and_headings(page):
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", text_of(page))):
        path, _, anchor = link.partition("#")
        if ":" in path:
            continue
        other = page.parent / path if path else page
        if not other.exists() or (anchor and anchor not in anchors(other)):
            wrong.append(link)
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_records_that_pages_cite_exist(page):
    cited = re.findall(r"`benchmarks/(results/[\w-]+\.json)`", text_of(page))
    assert [name for name in cited if not (ROOT / "benchmarks" / name).exists()] == []


CODE_PAGES = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "guide" / "security.md",
    *sorted((ROOT / "docs" / "design").glob("*.md")),
]


@pytest.mark.parametrize("page", CODE_PAGES, ids=page_id)
def test_modules_and_folders_that_pages_name_exist(page):
    named = set(re.findall(r"`([\w.-]+/[\w./-]+)`", text_of(page)))
    roots = (ROOT, ROOT / "gpu_tools", ROOT / "gpu_tools" / "cli", ROOT / "benchmarks")
    assert not {name for name in named if not any((root / name).exists() for root in roots)}


def test_files_and_names_of_the_code_that_contributing_and_the_glossary_name_exist():
    text = text_of(ROOT / "CONTRIBUTING.md") + text_of(ROOT / "docs" / "glossary.md")
    folders = ("gpu_tools", "workflow", "tests", "benchmarks", "docs", "resources", "config")
    files = [file for name in folders for file in (ROOT / name).rglob("*.*")]
    assert set(re.findall(r"`(\w+\.(?:py|smk|html|js))`", text)) <= {file.name for file in files}
    code = "".join(text_of(file) for file in files if file.suffix in (".py", ".smk"))
    names = set(re.findall(r"`(_?[A-Z][A-Z_]{3,}|[A-Z][a-z]+[A-Z]\w+)`", text))
    assert not {name for name in names if not re.search(rf"^(class )?{name}\b", code, re.M)}


PYTHON = [page for page in PAGES if blocks(page, "python")]


@pytest.mark.parametrize("page", PYTHON, ids=page_id)
def test_python_examples_run(page):
    names = {}  # later examples of a page go on from earlier ones
    for _, text in blocks(page, "python"):
        exec(compile(text, page.name, "exec"), names)


SHELL = [page for page in GUIDE if blocks(page, "sh")]


@pytest.mark.parametrize("page", SHELL, ids=page_id)
def test_shell_examples_print_what_the_page_shows(page, tmp_path):
    folder, printed = prepare(tmp_path), None
    for language, text in blocks(page, "sh", "text"):
        if language == "text":
            assert printed == text
        printed = run(["sh", "-e", "-c", text], folder) if language == "sh" else None


def commands(text):
    """Return the words of each gpu-tools command in a block."""
    lines = text.replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("gpu-tools ")]


CONSOLE = [page for page in PAGES if blocks(page, "console")]


@pytest.mark.parametrize("page", CONSOLE, ids=page_id)
def test_commands_that_cannot_run_here_have_known_options(page):
    for _, text in blocks(page, "console"):
        for words in commands(text):
            command = cli
            while isinstance(command, click.Group):
                command = command.get_command(None, words.pop(0))
            context = click.Context(command)
            command.make_parser(context).parse_args(args=words)  # raises for an unknown option


def leaves(group, words=()):
    """Yield the names of all commands, as their words."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if isinstance(command, click.Group):
            yield from leaves(command, (*words, name))
        else:
            yield (*words, name)


@pytest.mark.parametrize("words", [*leaves(cli)], ids="-".join)
def test_every_command_has_a_page_that_the_guide_and_the_readme_list(words):
    name = f"{'-'.join(words)}.md"
    assert ROOT / "docs" / "guide" / name in GUIDE
    assert f"](docs/guide/{name})" in text_of(ROOT / "README.md").split("```")[0]
    assert f"]({name})" in text_of(ROOT / "docs" / "guide" / "index.md")


INDEXES = [ROOT / "docs" / name / "index.md" for name in ("guide", "design")]


@pytest.mark.parametrize("index", INDEXES, ids=page_id)
def test_an_index_leads_to_every_page_beside_it(index):
    """The navigation of the site, which `make docs` builds, follows these links."""
    beside = {page.name for page in index.parent.glob("*.md")} - {"index.md"}
    assert beside <= set(re.findall(r"\]\(([\w-]+\.md)\)", text_of(index)))


@pytest.mark.workflow
def test_the_sheet_of_the_page_can_be_planned(tmp_path):
    folder = prepare(tmp_path)
    ((_, sheet), (_, command)) = blocks(ROOT / "docs" / "guide" / "workflow.md", "tsv", "console")
    (folder / "cases.tsv").write_text(sheet)
    (folder / "genome.fa").write_text(">chr1\n" + "ACGTTGCA" * 1000 + "\n")
    (folder / "mrnas.fa").write_text(">NM_010548.1\nACGTACGT\n")
    words = shlex.split(command.replace("\\\n", " "))
    assert words[0] == "snakemake"
    planned = run([sys.executable, "-m", *words, "--dry-run"], folder)
    assert "rule all:" in planned
    assert "spliced_align" in planned
