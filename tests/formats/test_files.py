import gzip
import os

import pysam
import pytest

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats import files
from gpu_tools.formats.files import open_binary, open_output


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")
    with pytest.raises(OutputError, match="encoding utf-8 lacks"), open_output(path) as stream:
        stream.write("half\ud800")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.txt"]


def test_a_pipe_is_written_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open_output(path) as stream:
        stream.write("text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert path.is_fifo()


@pytest.mark.parametrize("name", ["x.tsv.gz", "x.GZ", "x.gff3.bgz"])
def test_an_output_whose_name_says_so_is_bgzipped(tmp_path, name):
    path, text = tmp_path / name, "é\tx\n" * 50_000
    with open_output(path) as stream:
        stream.write(text)
        assert not path.exists()
    with path.open("rb") as stream:
        assert files.compression_of(stream) == "bgzip"
    assert gzip.decompress(path.read_bytes()).decode() == text
    assert "".join(f"{line}\n" for _, line in files.read_lines(path)) == text  # has its end block


def test_a_bgzipped_output_that_fails_leaves_nothing(tmp_path, capfd):
    with pytest.raises(ValueError, match="no"), open_output(tmp_path / "x.gz") as stream:
        stream.write("half")
        raise ValueError("no")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "full.gz").symlink_to("/dev/full")
    with pytest.raises(OutputError, match=r"full\.gz: cannot be written"):
        with open_output(tmp_path / "full.gz") as stream:
            stream.write("text")
    assert capfd.readouterr().err == ""


def test_a_symbolic_link_stays_one(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    with open_output(link) as stream:
        stream.write("text")
    assert link.is_symlink()
    assert target.read_text() == "text"


def test_output_into_a_missing_folder(tmp_path):
    with pytest.raises(OutputError, match=r"none/x: cannot be written \(No such file"):
        with open_output(tmp_path / "none" / "x"):
            pass


def test_a_file_that_explodes(tmp_path, monkeypatch):
    """Of many equal symbols gzip makes a thousandth; what is small is harmless all the same."""
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"A" * 4_000_000))
    with open_binary(path) as stream:
        assert len(stream.read()) == 4_000_000
    monkeypatch.setattr(files, "_HARMLESS", 1_000_000)
    with pytest.raises(InputError, match=r"x.gz: broken compression \(it becomes more than 200 ti"):
        with open_binary(path) as stream:
            while stream.read(1 << 16):
                pass


def test_bgzip_cut_between_blocks(tmp_path):
    path = tmp_path / "x.gz"
    with pysam.BGZFile(str(path), "wb") as stream:
        stream.write(b"A" * 200_000)
    whole = path.read_bytes()
    with open_binary(path) as stream:
        assert stream.read() == b"A" * 200_000
    path.write_bytes(whole[:-28])
    with pytest.raises(InputError, match=r"x.gz: broken compression .*end-of-file block"):
        with open_binary(path) as stream:
            stream.read()
