"""Standard streams, pipes and paths of every kind: a line that says what is wrong, no traceback."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_tools.cli.main import main
from gpu_tools.formats.files import open_output
from tests.cli.damage import FILES

ROOT = Path(__file__).parents[2]

CUT = "cut --fasta base.fa --record chr1 --locus 5-10"
CUTTING = {
    f"{CUT} >/dev/full": "standard output: cannot be written (No space left on device)",
    f"{CUT} --output /dev/full": "/dev/full: cannot be written (No space left on device)",
    f"{CUT} >&-": "standard output: cannot be written (it is closed)",
    f"{CUT} --output loop/x": "loop/x: cannot be written (Too many levels of symbolic links)",
    "--help >/dev/full": "No space left on device",
    "cut --fasta - --record chr1 <&-": "standard input: it is closed",
    "cut --fasta - <base.fa": "standard input: it is needed twice, and can be read once; "
    "expected a file",
    "cut --fasta pipe & cat base.fa >pipe; wait $!": "pipe: it is needed twice, and can be read "
    "once; expected a file",
    "cut --fasta loop --record x": "loop: cannot be read (Too many levels of symbolic links)",
    r"cut --fasta $'a\nb\377' --record x": r"a\nb\udcff: cannot be read "
    "(No such file or directory)",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("base.fa", "patterns.fa", "values.txt", "scale.tsv"):
        (tmp_path / name).write_bytes(FILES[name])
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def shell(command, **more):
    program = f"{sys.executable} -P -m gpu_tools sequences {command}"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "LC_ALL": "C.UTF-8"}
    environment |= more
    return subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, env=environment, timeout=60
    )


@pytest.mark.parametrize("command", CUTTING)
def test_one_line_and_exit_code_1(folder, command):
    done = shell(command)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"gpu-tools: error: {CUTTING[command]}\n"


@pytest.mark.parametrize("closed", ["", "<&-", "2>&-", "<&- 2>&-"])
def test_what_is_closed_and_not_needed_does_not_matter(folder, closed):
    done = shell(f"{CUT} --quiet --output out {closed}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (folder / "out").read_text() == ">chr1:5-10 record_length=1500\nATTGAA\n"


@pytest.mark.parametrize(("encoding", "name"), [("ascii", "é"), ("latin-1", "ł")])
def test_a_name_that_the_encoding_lacks(folder, encoding, name):
    (folder / "base.fa").write_text(f">{name}\nACGT\n")
    done = shell("cut --fasta base.fa --locus 1-4", PYTHONIOENCODING=f"{encoding}:strict")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        r"gpu-tools: error: standard output: cannot be written \(the encoding \S+ lacks \S+\); "
        "expected names that it has, or PYTHONIOENCODING=utf-8 for standard output\n", done.stderr
    )  # fmt: skip
    assert encoding in done.stderr
    done = shell("cut --fasta base.fa --locus 1-4", PYTHONIOENCODING="utf-8")
    assert done.stdout == f">{name}:1-4 record_length=4\nACGT\n"


def test_a_pipe_of_fastq(folder):
    done = shell("cut --fasta <(printf '@a\nACGTT\n+\nIIIII\n') --record a --locus 2-4")
    assert (done.returncode, done.stdout) == (0, ">a:2-4 record_length=5\nCGT\n")


def test_a_name_of_the_longest_length_is_written(folder):
    name = "x" * 255
    assert main(["sequences", *CUT.split(), "--output", name]) == 0
    assert (folder / name).is_file()


@pytest.mark.parametrize("name", ["a\n>b", "a\tb", "a b", "\udcff", "\x1b[1m", ""])
def test_a_name_is_one_word(folder, capsys, name):
    code = main(["sequences", *CUT.split(), "--name", name])
    assert code == 2
    assert capsys.readouterr().out == ""


SEGMENTS = "max-segments --sequence base.fa --scale scale.tsv --output {} --bed {}"


@pytest.mark.parametrize(
    ("first", "second"),
    [("x", "x"), ("x", "./x"), ("x", "link"), ("-", "-"), ("-", "/dev/stdout"), ("loop", "loop")],
)
def test_two_outputs_in_one_file(folder, capsys, first, second):
    (folder / "link").symlink_to("x")
    assert main(SEGMENTS.format(first, second).split()) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"error: {second}: named for two outputs; expected a file for each\n" in shown.err
    assert not (folder / "x").exists()


def test_two_outputs_that_nobody_wants(folder):
    assert main(SEGMENTS.format(os.devnull, os.devnull).split()) == 0


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_file_that_is_replaced_has_its_permissions(tmp_path, mode):
    path = tmp_path / "x"
    path.write_text("old")
    path.chmod(mode)
    with open_output(path) as stream:
        stream.write("new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", mode)


ENDED = """
import os, signal, sys
import click
from gpu_tools.cli.main import main

def work():
    exec("import os, signal\\nos.kill(os.getpid(), signal.{number})\\nfor _ in range(9**7): pass")

sys.exit(main([], click.command("x")(work)))
"""

LOST = """
import signal, sys, weakref
import click
from gpu_tools.cli.main import main

class Held:
    pass

def work():
    held = Held()
    told = weakref.ref(held, lambda _: signal.raise_signal(signal.{number}))
    del held
    for _ in range(9**8): pass

sys.exit(main([], click.command("x")(work)))
"""


@pytest.mark.parametrize("script", [ENDED, LOST], ids=["in a string", "in a callback"])
@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_a_signal_where_python_loses_it(tmp_path, script, number, code):
    """In a string Python with -m would end by SIGINT, although the interrupt is handled; in a
    callback, as those of imports, it would go on."""
    (tmp_path / "ended.py").write_text(script.format(number=number))
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    ended = subprocess.run(
        [sys.executable, "-m", "ended"], capture_output=True, env=environment, cwd=ROOT
    )
    assert ended.returncode == code
    assert b"Traceback" not in ended.stderr


def test_an_interrupt_while_the_program_is_imported():
    script = (
        "import sys, click\nsys.modules['click'] = None\n"
        "class Finder:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'gpu_tools.cli.main': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from gpu_tools.__main__ import main\nsys.exit(main())\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True)
    assert (ended.returncode, ended.stderr) == (130, b"gpu-tools: error: interrupted\n")


READ_BY_NOBODY = [
    ("local-align --query patterns.fa --subject base.fa --device cpu", "stdout stderr"),
    ("match-exact --patterns patterns.fa --text base.fa --device cpu --quiet", "stdout"),
    ("sequences cut --fasta base.fa --record chr1", "stdout"),
    ("--help", "stdout"),
]


@pytest.mark.parametrize(("command", "streams"), READ_BY_NOBODY)
def test_a_reader_that_is_gone_ends_the_command_quietly(folder, command, streams):
    """As `head` leaves it, but certainly before the first line is written."""
    read, written = os.pipe()
    os.close(read)
    to = {"stderr": subprocess.PIPE} | dict.fromkeys(streams.split(), written)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-P", "-m", "gpu_tools", *command.split()]
    done = subprocess.run(words, timeout=120, env=environment, **to)
    os.close(written)
    assert done.returncode in (1, 141)
    lines = [line for line in (done.stderr or b"").splitlines() if b" %" not in line]
    assert lines == []


def test_the_first_line_is_what_the_reader_wanted(folder):
    program = f"set -o pipefail; {sys.executable} -P -m gpu_tools exons"
    (folder / "many.tsv").write_text("base\tstart\tend\n" + "chr1\t5\t9\n" * 20_000)
    done = subprocess.run(
        ["bash", "-c", f"{program} convert many.tsv --to bed | head -1"], capture_output=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, timeout=120,
    )  # fmt: skip
    assert (done.stdout.count(b"\n"), done.stderr) == (1, b"")
