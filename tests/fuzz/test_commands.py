"""Every command with damaged files and hostile options: a result, or one line of what is wrong."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from gpu_tools.cli.main import cli
from tests.cli.damage import COMMANDS, FILES
from tests.fuzz.running import MOST_SECONDS, faults, run
from tests.fuzz.strategies import damages, hostile_options, options_of

EXAMPLES = int(os.environ.get("GPU_TOOLS_FUZZ", "2"))
SEED = int(os.environ.get("GPU_TOOLS_FUZZ_SEED", "1"))
FORBIDDEN = (
    "output", "device", "alignments", "bed", "gff3", "report", "dot_plot", "shuffles", "threads",
    "quiet", "debug", "help",
)  # fmt: skip
"""Options that say where to write, or take as long as they are told to."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPU_TOOLS_TINY_RUN", "1")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    return tmp_path


def lay_out(files: dict[str, bytes]) -> set[str]:
    """Put the files into the folder, which holds nothing else, and return all names in it."""
    for path in Path().iterdir():
        if path.name not in ("loop", "folder"):
            path.unlink()
    for name, content in files.items():
        Path(name).write_bytes(content)
    return {path.name for path in Path().iterdir()}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_command(folder, command):
    options = options_of(command, cli)
    names = [word for word in command if word in FILES]
    outputs = {"out", *(word for word in command if word.startswith("a."))}

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.data())
    def fuzz(data):
        files = dict(FILES)
        if data.draw(st.booleans()):
            name = data.draw(st.sampled_from(names))
            files[name] = data.draw(damages(FILES[name]))
        more = data.draw(hostile_options(options, FORBIDDEN))
        words = [*command, *more, "--device", "cpu", "--threads", "2"]
        if "device" not in {option.name for option in options}:
            words = [*command, *more]
        words += ["--output", "out", "--quiet"]
        before = lay_out(files)
        outcome = run(words)
        if outcome.seconds > MOST_SECONDS:  # some of it may have been compiling
            before = lay_out(files)
            outcome = run(words)
        found = faults(outcome, before, outputs)
        if outcome.seconds > MOST_SECONDS:
            found.append(f"{outcome.seconds:.0f} s")
        assert not found, f"{words}: {found}\n{outcome.errors[-2000:]}"

    fuzz()
