"""Files of a report: sessions of IGV, and figures."""

import xml.etree.ElementTree as ET

from gpu_tools.report.files import write_figures, write_session


def test_files_are_named_relative_to_the_session(tmp_path):
    (tmp_path / "results").mkdir()
    tracks = [tmp_path / "annotation.gff3", tmp_path / "results" / "site_alignments.bam"]
    session = tmp_path / "results" / "igv.xml"
    write_session(session, tmp_path / "genome.fa", tracks, "chr1:1-100")
    root = ET.parse(session).getroot()
    assert root.get("genome") == "../genome.fa"
    assert root.get("locus") == "chr1:1-100"
    resources = list(root.iter("Resource"))
    assert [r.get("path") for r in resources] == ["../annotation.gff3", "site_alignments.bam"]
    assert not any(r.get("index") for r in resources)
    assert {t.get("id") for t in root.iter("Track")} == {r.get("path") for r in resources}


def test_without_a_genome_none_is_named(tmp_path):
    write_session(tmp_path / "igv.xml", None, [])
    assert "genome" not in ET.parse(tmp_path / "igv.xml").getroot().attrib


def test_files_of_figures_have_distinct_names(tmp_path):
    figure = {"mark": "point", "data": {"values": [{}]}}
    write_figures(tmp_path, {"a/b": figure, "a:b": figure, "a_b": figure})
    assert len(list(tmp_path.glob("*.svg"))) == 3


def test_a_track_is_linked_and_in_the_session(page):
    track = "batches/0123456789ab/annotation.gff3"
    assert f'href="{track}"' in page.read_text()
    session = ET.parse(page.parent / "igv.xml").getroot()
    assert [resource.get("path") for resource in session.iter("Resource")] == [track]


def test_figures_are_svg_and_png(page):
    folder = page.parent / "figures"
    names = {path.name.split(".")[0] for path in folder.iterdir()}
    assert {"overview", "heat_map", "locus_plus_1", "locus__script_minus"} <= names
    for name in names:
        assert ET.parse(folder / f"{name}.svg").getroot().tag.endswith("svg")
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
