"""Headers of loci, the records' lengths, and positions there and back."""

import logging

import numpy as np
import pytest

from gpu_tools.errors import InputError
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.locus import Loci, Locus, may_be_locus
from gpu_tools.model.sequences import Sequence

CHR1 = Locus("chr1", 99, 900)


def sequence(name, length, description=""):
    return Sequence(name, np.zeros(length, dtype=np.uint8), description)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("chr1:100-900", CHR1),
        ("chr1:1,000-1,234,567", Locus("chr1", 999, 1234567)),
        ("HLA-A*01:01:5-5", Locus("HLA-A*01:01", 4, 5)),
        ("chr1:0-5", None),
        ("chr1:9-5", None),
        ("chr1:10,00-20,00", None),
        ("chr1:5", None),
        ("chr1", None),
        (":1-5", None),
        ("chr 1:1-5", None),
        ("chr1:1-5 ", None),
    ],
)
def test_regions(text, expected):
    assert Locus.parse(text) == expected


@pytest.mark.parametrize(
    ("name", "description", "length", "expected"),
    [
        ("chr1:100-900", "", 801, CHR1),
        ("chr1:100-900", "record_length=5000 more", 801, CHR1._replace(record_length=5000)),
        ("x", "of man locus=chr1:100-900 record_length=900", 801, CHR1._replace(record_length=900)),
        ("chr2:1-801", "locus=chr1:100-900", 801, CHR1),
        # not of that length: an ordinary name
        ("chr1:100-900", "", 800, Locus.whole("chr1:100-900", 800)),
        ("HLA-A*01:01-02", "", 1098, Locus.whole("HLA-A*01:01-02", 1098)),
        ("x", "locus=chr1:100-900", 5, Locus.whole("x", 5)),
        ("x", "locus=AT1G01010 record_length=9", 5, Locus.whole("x", 5)),
        ("chr1:100-900", "xrecord_length=5000", 801, CHR1),
        ("chr1", "", 7, Locus.whole("chr1", 7)),
    ],
)
def test_headers(name, description, length, expected):
    assert Locus.of(sequence(name, length, description)) == expected
    if expected.record != name:
        assert may_be_locus(name, description)


@pytest.mark.parametrize("name", ["chr1:100-900", "x", "chr1"])
@pytest.mark.parametrize("record_length", [900, None])
def test_a_written_header_reads_back(name, record_length):
    locus = CHR1._replace(record_length=record_length)
    assert Locus.of_header(name, locus.header(name), 801) == locus


def test_a_locus_behind_its_record_is_an_error():
    with pytest.raises(InputError, match="record chr1: locus chr1:100-900 ends behind its record"):
        Locus.of(sequence("chr1:100-900", 801, "record_length=899"))


def test_positions_go_there_and_back():
    exons = ExonSet.from_intervals([(98, 110), (99, 110), (500, 900), (500, 901)], "-")
    inside = CHR1.exons_within(exons)
    assert inside.starts.tolist() == [0, 401]
    back = CHR1.exons_to_record(inside)
    assert (back.starts.tolist(), back.ends.tolist()) == ([99, 500], [110, 900])
    assert back.reverse.all()
    assert CHR1.part(1, 3).name == "chr1:101-102"
    assert CHR1.to_record((1, 3)) == (100, 102)


def test_loci_of_one_record_share_its_length():
    loci = Loci([
        sequence("chr1:1-5", 5), sequence("chr1:11-15", 5, "record_length=20"), sequence("y", 3),
    ])  # fmt: skip
    assert loci.record_lengths == {"chr1": 20, "y": 3}
    assert loci["chr1:1-5"] == Locus("chr1", 0, 5, 20)
    exons = ExonSet.from_intervals([(0, 2)])
    moved = loci.exons_by_record({"chr1:1-5": exons, "chr1:11-15": exons, "y": exons})
    assert {name: found.starts.tolist() for name, found in moved.items()} == {
        "chr1": [0, 10], "y": [0],
    }  # fmt: skip


def test_the_records_own_sequence_states_its_length():
    assert Loci([sequence("chr1:1-5", 5), sequence("chr1", 9)]).record_lengths == {"chr1": 9}
    with pytest.raises(InputError, match="locus chr1:5-9 ends behind its record"):
        Loci([sequence("chr1:5-9", 5), sequence("chr1", 8)])


def test_an_unknown_length_is_the_last_end_with_a_warning(caplog):
    with caplog.at_level(logging.WARNING):
        loci = Loci([sequence("chr1:11-15", 5), sequence("chr1:1-5", 5)])
    assert loci.record_lengths == {"chr1": 15}
    assert "the length of record chr1 is not known" in caplog.text


def test_headers_that_contradict_each_other():
    parts = [sequence("chr1:1-5", 5, f"record_length={n}") for n in (20, 30)]
    with pytest.raises(InputError, match="record chr1: the record has 20 symbols by one header"):
        Loci([parts[0], sequence("chr1:2-6", 5, "record_length=30")])
    assert Loci(parts[:1]).record_lengths == {"chr1": 20}


def test_locus_coordinates_move_nothing():
    loci = Loci([sequence("chr1:100-900", 801, "record_length=1000")], "locus")
    assert loci["chr1:100-900"] == Locus.whole("chr1:100-900", 801)
    assert loci.record_lengths == {"chr1:100-900": 801}
