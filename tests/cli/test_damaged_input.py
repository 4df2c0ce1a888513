"""Files of every kind are taken, damaged headers of arrays are told; `tests.fuzz` damages more."""

import pytest

from gpu_tools.cli.main import main
from tests.cli.damage import COMMANDS, FILES


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command among the files, of which some are replaced."""
    monkeypatch.chdir(tmp_path)

    def call(command, replaced):
        for name, content in (FILES | replaced).items():
            (tmp_path / name).write_bytes(content)
        before = set(tmp_path.iterdir())
        code = main([*command, "--output", "out", "--quiet"])
        index = (".fai", ".gzi", ".bai")
        written = {p.name for p in set(tmp_path.iterdir()) - before if p.suffix not in index}
        return code, capsys.readouterr(), written

    return call


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_is_not_damaged_is_taken(run, command):
    code, shown, written = run(command, {})
    assert code == 0, shown.err
    assert written == {"out", *(word for word in command if word.startswith("a."))}


@pytest.mark.parametrize("name", ["values.npy", "matrix.npy"])
def test_damaged_header(run, name):
    (command,) = (words for words in COMMANDS if name in words)
    for k in range(0, 80, 4):
        content = bytearray(FILES[name])
        content[k : k + 1] = b"("
        code, shown, written = run(command, {name: bytes(content)})
        assert code == 0 or (not written and f"error: {name}" in shown.err)


def test_least_score_beyond_all_integers(run):
    command = "local-align --query target.fa --subject base.fa --min-score"
    code, _, written = run([*command.split(), "9" * 20], {})
    assert (code, written) == (0, {"out"})
