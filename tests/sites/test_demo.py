"""Site mode and list mode on the demo's genes: chains translate where they must; bad cases."""

import numpy as np
import pytest

from gpu_tools import Case, InputError, Sequence, SplicedScoring, spliced_align
from gpu_tools.exons.model import load_model
from gpu_tools.exons.predict import predict_exons
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.resources import resource_path
from gpu_tools.model.sequences import decode, reverse_complement
from gpu_tools.sites.api import SiteCase, site_align, tables_of
from gpu_tools.sites.model import load_sites
from tests.oracles import sites as oracle_sites


def test_bad_cases():
    base, model = Sequence.from_text("b", "ACGT"), load_sites("vertebrate")
    with pytest.raises(InputError, match="empty target"):
        site_align([SiteCase(base, Sequence.from_text("t", ""), tables_of(base, model))])
    with pytest.raises(InputError, match="sites of 4 bases"):
        site_align([SiteCase(Sequence.from_text("b", "A"), base, tables_of(base, model))])


def demo_pairs():
    """Return the demo's loci, each with its mRNA."""
    folder = ("demo",)
    loci = read_fasta(resource_path(*folder, "loci.fa.gz"))
    mrnas = read_fasta(resource_path(*folder, "mrnas.fa.gz"))
    return list(zip(loci, mrnas, strict=True))


def check_translates(base, result):
    """Check that a chain reads through from a start codon to a stop codon, and its phases."""
    m, forward = len(base), result.strand == "+"
    chain = [(s, e) if forward else (m - e, m - s) for s, e in result.chain]
    text = decode(base.codes if forward else reverse_complement(base.codes))
    assert oracle_sites.translates(text, chain)
    before = np.cumsum([0] + [end - start for start, end in chain[:-1]])
    assert result.phases == tuple(-before % 3)
    return "".join(text[start:end] for start, end in chain)


@pytest.mark.parametrize("reading", ["complete", "incomplete"])
def test_all_site_chains_of_the_demo_translate(reading):
    model = load_sites("vertebrate")
    cases = [
        SiteCase(locus, mrna, tables_of(locus, model, reading=reading))
        for locus, mrna in demo_pairs()
    ]
    assert len(cases) == 10
    results = site_align(cases, SplicedScoring(ends="free-target"), device="cpu")
    for case, result in zip(cases, results, strict=True):
        spliced = check_translates(case.base, result)
        assert result.start_codon == (spliced[:3] == "ATG")
        if reading == "complete":
            assert result.start_codon
            assert result.stop_codon


@pytest.mark.parametrize("reading", ["complete", "incomplete"])
def test_all_candidate_chains_of_the_demo_translate(reading):
    cases = [
        Case(locus, mrna, predict_exons(locus.codes, load_model("vertebrate")))
        for locus, mrna in demo_pairs()
    ]
    scoring = SplicedScoring(exon_weight=1, intron_penalty=15, ends="free-target")
    results = spliced_align(cases, scoring, device="cpu", reading=reading)
    for case, result in zip(cases, results, strict=True):
        check_translates(case.base, result)
        known = set(zip(case.exons.starts.tolist(), case.exons.ends.tolist(), strict=True))
        assert set(result.chain) <= known
        if reading == "complete":
            assert result.start_codon
            assert result.stop_codon
