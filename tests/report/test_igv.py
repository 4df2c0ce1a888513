"""Sessions of IGV."""

import xml.etree.ElementTree as ET

from gpu_tools.report.files import write_session


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
