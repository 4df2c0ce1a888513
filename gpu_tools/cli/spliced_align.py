"""``gpu-tools spliced-align``: the best chain of candidate exons for each pair of sequences."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import click

import gpu_tools
from gpu_tools.cli.common import loci, options
from gpu_tools.cli.common.cases import (
    CaseFiles,
    CaseInputs,
    read_cases,
    read_listed_protein_cases,
    read_protein_cases,
    read_site_cases,
)
from gpu_tools.cli.common.credibility import Run, credibility, tell, tell_codons
from gpu_tools.cli.common.evidence import evidence_options, read_evidence, taken
from gpu_tools.cli.common.grouped import GroupedCommand
from gpu_tools.cli.common.options import GENOMIC, SECONDS_BETWEEN_LINES, option, progress, time_left
from gpu_tools.cli.common.proteins import (
    OPTIONS,
    check_protein_usage,
    protein_options,
    protein_scoring,
    write_proteins,
)
from gpu_tools.cli.common.run_record import write_summary
from gpu_tools.cli.common.site_models import AUTO, GENERIC, HELP, tell_choice
from gpu_tools.errors import counted
from gpu_tools.formats import tables
from gpu_tools.formats.alignments import SUFFIXES, check_names, write_alignments
from gpu_tools.formats.files import STANDARD_STREAM
from gpu_tools.formats.scales import load_nucleotide_scores
from gpu_tools.hardware.device import cpu_threads
from gpu_tools.model.acceptance import YES, Acceptance, with_cut_ends
from gpu_tools.model.locus import described
from gpu_tools.model.results import DROP, SplicedAlignment, faults_of, with_frameshifts
from gpu_tools.model.scoring import (
    CANDIDATE_WEIGHTS,
    ENDS,
    GENE_SCORING,
    SITE_SCORING,
    ProteinScoring,
    SplicedScoring,
)
from gpu_tools.model.significance import NullModel, with_evalues

if TYPE_CHECKING:
    from gpu_tools.model.sequences import Sequence
    from gpu_tools.sites.model import GeneSites

_log = logging.getLogger(__name__)
_CELLS_TOLD = 10**11
"""Fewer cells take seconds: they are not worth a word."""

COLUMNS = (
    "base", "target", "strand", "score", "base_length", "target_length", "n_exons", "n_chain",
    "chain", "identity", "cells", "coverage", "evalue", "accepted",
)  # fmt: skip


def _runs_on_cpu(requested: dict) -> str | None:
    """Return which work it is that no GPU does, None if a GPU can do it."""
    if requested["proteins"] and requested["exons"]:
        return "proteins with listed candidates"
    from_sites = requested["site_model"] is not None
    if from_sites or not (requested["coding"] or requested["ends"] == "free"):
        return None
    return "listed candidates with free ends or that translate"


@click.command("spliced-align", cls=GroupedCommand, positional=("base", "targets"))
@option("--genome base FASTA", "Genomic sequences.", required=True, aliases=GENOMIC)
@loci.region_of("the genomic sequences")
@option(
    "--exons FILE",
    "Candidate exons by sequence name: GENSCAN report, GFF3, GTF, BED or TSV. Either this or "
    "--site-model is needed.",
)
@option(
    "--site-model NAME|FILE",
    f"Instead of --exons: all exons between its sites. {HELP}",
)
@option("--strand", "With --site-model: only this strand.", type=click.Choice(("+", "-")))
@option("--coding", "Only chains that translate, from a start codon to a stop codon.")
@option(
    "--incomplete",
    "With --coding: chains may also begin and end at any other codon; with --site-model, for the "
    "model's points.",
)
@option(
    "--min-intron N", type=options.Count(),
    help="With --site-model: length of the shortest intron.  [default: the model's]",
)  # fmt: skip
@option(
    "--max-intron N", type=options.Count(),
    help="With --site-model and cDNAs: length of the longest intron.  [default: no limit]",
)  # fmt: skip
@options.targets
@protein_options
@options.pairs
@options.exons_format
@option(
    "--match N",
    type=options.IntegerRange(min=1),
    of=GENE_SCORING,
    help="Score of equal nucleotides.",
)
@option("--mismatch N", "Score of unequal nucleotides.", type=int, of=GENE_SCORING)
@option(
    "--gap N",
    type=options.IntegerRange(max=0),
    of=GENE_SCORING,
    help="Score added for each gap symbol.",
)
@option(
    "--exon-weight W", type=float, callback=options.finite,
    help="Add round(W * candidate's own score) for each exon of the chain; with --site-model W is "
    f"points per bit of a splice site.  [default: {GENE_SCORING.exon_weight}, or the model's; with "
    "--proteins 1, or 1.7]",
)  # fmt: skip
@option(
    "--intron-penalty N", type=int,
    help="Subtract N for each exon after the chain's first; with --site-model a longer intron "
    "costs more, as the model says.  "
    f"[default: {GENE_SCORING.intron_penalty}, or the model's; with --proteins 20, or 28]",
)  # fmt: skip
@option(
    "--ends", type=click.Choice(ENDS), of=GENE_SCORING,
    help="free-target: the target's ends may stay unaligned at no cost; free: also, the chain may "
    "enter its first exon and leave its last one anywhere. Proteins are aligned from end to end "
    "by default.",
)  # fmt: skip
@option(
    "--end-cost N", type=options.Count(0),
    help="With --site-model: points that leaving out an end of the target costs, its poly-A tail "
    f"excepted.  [default: {SITE_SCORING.end_cost}]",
)  # fmt: skip
@option(
    "--best K", type=options.Count(1), default=1,
    help="Up to K chains of each base and target that share no aligned pair of symbols, best "
    "first, such as those of tandem copies of a gene; the column rank counts them.",
)  # fmt: skip
@evidence_options
@option(
    "--confidence",
    "With --site-model: add the confidence of each intron and exon to GFF3 and GTF, and the least "
    "of a chain to the table: the points that the best chain there loses without it.",
)
@option(
    "--min-confidence N", type=options.Count(), default=Acceptance.min_confidence,
    help="With --site-model: least confidence of all introns of an accepted chain, or of its only "
    "exon.",
)  # fmt: skip
@options.alignments_of(SUFFIXES)
@loci.coordinates
@credibility
@options.output
@option(
    "--summary JSON",
    "Also write how many cases are accepted, and what the run was: version, command line, limits, "
    "digests of inputs.",
)
@options.device_unless(_runs_on_cpu)
@options.common
@click.pass_context
def command(
    context, base, regions, exons, targets, pairs, exons_format, site_model, strand, min_intron,
    max_intron, end_cost, best, coding, incomplete, max_evalue, min_identity, min_coverage,
    shuffles, confidence, min_confidence, all_alignments, alignments, alignments_format,
    coordinates, output, summary, device, threads, quiet, **scores,
) -> None:  # fmt: skip
    """Find the chain of candidate exons that aligns best to each target, exactly.

    Candidate exons are those of --exons, or all that the splice sites of --site-model allow. A
    chain is a list of them on one strand that do not overlap. Its score is that of the best
    alignment of the joined exons with the target, plus the exons' own scores, less the introns'
    penalties. FASTA files may be compressed and hold many records. The table has one row for each
    base and target, with 1-based inclusive positions on the forward strand. Results on a locus are
    in its record's coordinates. The table says which chains are credible; files of alignments hold
    those alone.

    --exon-weight 0 --intron-penalty 0 --ends global gives Gelfand's score: that of the global
    alignment alone.
    """
    reading = ("incomplete" if incomplete else "complete") if coding else "any"
    sites = {"strand": strand, "min_intron": min_intron, "max_intron": max_intron,
             "end_cost": end_cost, "confidence": confidence or None,
             "min_confidence": min_confidence or None, **taken(scores)}  # fmt: skip
    proteins = {name: scores.pop(name) for name in OPTIONS}
    check_protein_usage(context, alignments)
    _check_targets(proteins["proteins"], sites)
    _check_usage(exons, site_model, sites, scores)
    _check_coding(coding, incomplete, exons, scores)
    if targets is not None and not _is_default(context, "matrix"):
        scores["matrix"] = _nucleotide_scores(context, proteins["matrix"], scores["mismatch"])
    targets_file = proteins["proteins"] if targets is None else targets
    files = CaseFiles(base, exons, targets_file, pairs, exons_format, regions)
    if targets is None and _is_default(context, "ends"):
        scores["ends"] = "global"
    sites |= {"reading": reading, "threads": threads}
    wanted = Acceptance(max_evalue, min_identity, min_coverage, min_confidence)
    make = partial(_work_on, files, sites=sites, scores=scores, proteins=proteins)
    if site_model == AUTO:
        site_model = _chosen_model(make, wanted, (base, targets_file, pairs), device, quiet)
    work = make(site_model=site_model)
    inputs = work.inputs
    placed = loci.place(base, inputs.bases.values(), coordinates)
    with loci.errors_of_records({base: placed.record_lengths, targets_file: inputs.targets}):
        check_names(alignments, placed.record_lengths, inputs.targets, alignments_format)
    tell_codons(list(inputs.targets.values()), reading, scores["ends"])
    align = partial(work.align, scoring=work.scoring, device=device, threads=threads)
    nucleotides = targets is not None
    run = Run(inputs.cases, align, work.nulls, reading, shuffles, nucleotides, work.doubtful)
    if reading == "any" and not quiet and not (exons and scores["ends"] == "free"):
        _tell_expected(inputs.cases, device, threads)
    cases, results = _aligned(run, work.scoring, best, wanted, quiet)
    if targets is None and site_model is not None and not proteins["keep_ends"]:
        results = _supported(cases, results, wanted, work.scoring, align)
    results = _with_ends_and_frames(results, wanted, inputs, proteins["frameshifts"])
    judge = confidence or min_confidence > 0
    if judge:
        wish = wanted, all_alignments
        results = _with_confidence(cases, results, work.scoring, *wish, device, threads)
    verdicts = [*map(wanted.verdict, results)]
    accepts = [verdict == YES for verdict in verdicts]
    _tell_misfits(work, [*compress(results, accepts)])
    chosen = _chosen(results, accepts, all_alignments, proteins["frameshifts"] == DROP)
    moved = [result.moved(placed[result.base]) for result in results]
    written, passing = ([*compress(each, chosen)] for each in (moved, accepts))
    about = placed.record_lengths, inputs.targets, alignments_format, passing
    for path in alignments:
        write_alignments(path, written, *about)
    found = [pair for pair in compress(zip(results, moved, strict=True), chosen) if pair[1].chain]
    write_proteins(proteins, found, inputs.bases, work.scoring)
    _write_table(output, moved, verdicts, (judge, best > 1), inputs.targets)
    count = len(inputs.cases)
    if summary:
        write_summary(summary, {
            "cases": count, "accepted": dict(Counter(verdicts)), "site_model": site_model,
        })  # fmt: skip
    options.note(counted(count, "case"), f"{sum(accepts):,} accepted")


def _chosen(results: list, accepts: list[bool], every: bool, drops: bool) -> list[bool]:
    """Return which results are written to files of alignments."""
    return [
        (every or accepted) and not (drops and faults_of(one))
        for one, accepted in zip(results, accepts, strict=True)
    ]


def _nucleotide_scores(context: click.Context, matrix: str, mismatch: int):
    if not _is_default(context, "match"):
        raise click.UsageError("--match does not go with --matrix")
    return load_nucleotide_scores(matrix, mismatch)


def _with_ends_and_frames(
    results: list, wanted: Acceptance, inputs: CaseInputs, frameshifts: str
) -> list:
    """Return results; credible ones know what edges cut off, and how frameshifts are written."""
    return [
        with_frameshifts(with_cut_ends(one, inputs.bases[one.base]), frameshifts)
        if wanted.is_credible(one) else one for one in results
    ]  # fmt: skip


def _is_default(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.DEFAULT


def _work_on(
    files: CaseFiles, site_model: str | None, sites: dict, scores: dict, proteins: dict
) -> _Work:
    """Return the work on cDNAs or proteins, in site mode or on listed candidates."""
    scores = dict(scores)  # of which some leave for the site model
    if proteins["proteins"]:
        if site_model is not None:
            return _with_proteins(files, site_model, sites, scores, proteins)
        return _with_listed_proteins(files, scores, proteins)
    if site_model is not None:
        return _with_sites(files, site_model, sites, scores, proteins["target_introns"])
    return _with_candidates(files, scores, sites["reading"])


def _aligned(
    run: Run, scoring, most: int, wanted: Acceptance, quiet: bool
) -> tuple[list, list[SplicedAlignment]]:
    """Align all cases, find E-values, and tell what fits as its reverse complement.

    Returned are the chains, up to `most` of a case, and the case of each.
    """
    total = sum(case.cells for case in run.cases)
    with progress("aligning", total, quiet) as done:
        results = run.align(run.cases, progress=done)
    with progress("shuffling", total * (run.shuffles or 0), quiet) as done:
        laws = run.laws(done, wanted.max_evalue)
    results = run.judged(run.cases, results, laws, quiet)
    run.tell_reversed(results, laws, wanted, quiet)
    if most == 1:
        return run.cases, results
    return _with_further(run, results, laws, scoring, most, wanted, quiet)


def _with_further(
    run: Run, results: list, laws: list, scoring, most: int, wanted: Acceptance, quiet: bool
) -> tuple[list, list[SplicedAlignment]]:
    """Return the best chains of each case and the case of each, whose banned pairs are known.

    A case's chains end before the first further one whose E-value is above the limit.
    """
    from gpu_tools.splicing.best_chains import best_chains

    def goes_on(k: int, one: SplicedAlignment) -> bool:
        evalue = one.evalue
        if evalue is None and laws[k] is not None:
            evalue = laws[k].evalue(one.score_alone)
        return (evalue or 0.0) <= wanted.max_evalue

    chains = best_chains(run.cases, results, most, run.align, scoring, goes_on)
    numbers = [k for k, own in enumerate(chains) for _ in own[1:]]
    cases, own_laws = ([each[k] for k in numbers] for each in (run.cases, laws))
    further = [chain.alignment for own in chains for chain in own[1:]]
    judged = iter(run.judged(cases, further, own_laws, quiet))
    found = [
        (chain.case, chain.alignment if rank == 0 else next(judged))
        for own in chains for rank, chain in enumerate(own)
    ]  # fmt: skip
    return [case for case, _ in found], [one for _, one in found]


def _with_confidence(
    cases: list, results: list, scoring, wanted: Acceptance, every: bool, device: str,
    threads: int | None,
) -> list:  # fmt: skip
    """Return results, accepted ones or all with the confidence of introns and exons."""
    from gpu_tools.sites.confidence import with_confidence

    chosen = [every or wanted.verdict(one) == YES for one in results]
    own = list(compress(cases, chosen)), list(compress(results, chosen))
    judged = iter(with_confidence(*own, scoring, device=device, threads=threads))
    return [next(judged) if is_chosen else one
            for one, is_chosen in zip(results, chosen, strict=True)]  # fmt: skip


def _supported(cases: list, results: list, wanted: Acceptance, scoring, align: Callable) -> list:
    """Return results; credible ones have no ends that are there only since all is aligned."""
    from gpu_tools.sites.proteins.ends import unsupported_ends, with_supported_ends

    cut = [k for k, one in enumerate(results)
           if wanted.is_credible(one) and any(unsupported_ends(one, scoring))]  # fmt: skip
    own = [cases[k] for k in cut], [results[k] for k in cut]
    again = dict(zip(cut, with_supported_ends(*own, scoring, align), strict=True))
    tell(
        [results[k].target for k in cut if again[k]], "protein",
        "with an end that is like nothing beside the accepted exons and is left out (coverage "
        "below 1; --keep-ends aligns it)",
    )  # fmt: skip
    return [again.get(k) or one for k, one in enumerate(results)]


def _tell_expected(cases: list, device: str, threads: int | None) -> None:
    """Tell about how long cases take that take long, before the first of them is done."""
    if sum(case.cells for case in cases) < _CELLS_TOLD:
        return
    from gpu_tools.estimate.api import expected_seconds

    seconds = expected_seconds(cases, "cpu" if device == "cpu" else "gpu", cpu_threads(threads))
    if seconds is not None and seconds >= SECONDS_BETWEEN_LINES:
        click.echo(f"aligning: 0 %{time_left(seconds, 1, 2)} by the time model", err=True)


class _Work(NamedTuple):
    """Cases, scoring, function, and what gives the models of unrelated targets' scores.

    `warning` tells what is wrong with accepted chains, None if nothing is; `doubtful` is for `Run`.
    """

    inputs: CaseInputs
    scoring: SplicedScoring
    align: Callable
    nulls: Callable[[list], list[NullModel]]
    warning: Callable[[list[SplicedAlignment]], str | None]
    doubtful: Callable[..., bool] = Run.doubtful
    model: GeneSites | None = None


def _check_targets(proteins: str | None, sites: dict) -> None:
    for name in ("max_intron", "end_cost"):
        if proteins and sites[name] is not None:
            raise click.UsageError(f"--{name.replace('_', '-')} is for cDNAs, not for --proteins")


def _check_usage(exons: str | None, site_model: str | None, sites: dict, scores: dict) -> None:
    if scores["mismatch"] > scores["match"]:
        raise click.UsageError(
            f"--mismatch {scores['mismatch']} is above --match {scores['match']}"
        )
    if (exons is None) == (site_model is None):
        raise click.UsageError("give either --exons or --site-model")
    for name, value in sites.items():
        if value is not None and site_model is None:
            raise click.UsageError(f"--{name.replace('_', '-')} needs --site-model")


def _check_coding(coding: bool, incomplete: bool, exons: str | None, scores: dict) -> None:
    if incomplete and not coding:
        raise click.UsageError("--incomplete needs --coding")
    if coding and exons and scores["ends"] == "free":
        raise click.UsageError("--coding with --exons needs whole candidates, not --ends free")


def _chosen_model(make: Callable, wanted: Acceptance, paths, device: str, quiet: bool) -> str:
    """Choose a site model by the introns of some cases of long targets; return its name."""
    from gpu_tools.sites.fit import chosen_model, first_pass, sites_of_alignments

    if STANDARD_STREAM in paths:
        raise click.UsageError("--site-model auto reads files twice; give files, not -")
    work = make(site_model=GENERIC)
    every, is_protein = work.inputs.cases, isinstance(work.scoring, ProteinScoring)
    cases = [every[k] for k in first_pass([len(case.target) for case in every], is_protein)]
    align = partial(work.align, scoring=work.scoring, device=device)
    run = Run(cases, align, work.nulls, "any", None)
    results = with_evalues(align(cases), run.laws(lambda cells: None, wanted.max_evalue))
    accepted = [one for one in results if wanted.verdict(one) == YES]
    return tell_choice(*chosen_model(sites_of_alignments(work.inputs.bases, accepted)), quiet)


def _with_candidates(files: CaseFiles, scores: dict, reading: str) -> _Work:
    """Return the work on listed candidates."""
    scoring = replace(GENE_SCORING, **{name: n for name, n in scores.items() if n is not None})
    align = partial(gpu_tools.spliced_align, reading=reading)
    nulls = partial(_null_models, scoring, reading, None, False)
    return _Work(read_cases(files), scoring, align, nulls, lambda results: None)


def _with_listed_proteins(files: CaseFiles, scores: dict, proteins: dict) -> _Work:
    """Return the work on proteins and listed candidates."""
    from gpu_tools.spliced.proteins.api import protein_spliced_align

    weights = CANDIDATE_WEIGHTS | {name: n for name, n in scores.items() if n is not None}
    scoring = protein_scoring(
        proteins, **{name: weights[name] for name in ("ends", *CANDIDATE_WEIGHTS)}
    )
    nulls = partial(_null_models, scoring, "any", None, False)
    inputs = read_listed_protein_cases(files)
    return _Work(inputs, scoring, protein_spliced_align, nulls, lambda results: None)


def _with_sites(
    files: CaseFiles, site_model: str, sites: dict, scores: dict, own_genes: str | None
) -> _Work:
    """Return the work on all exons that a model admits."""
    from gpu_tools.sites.api import site_align
    from gpu_tools.sites.model import load_sites
    from gpu_tools.sites.suitability import (
        has_weak_sites,
        many_shortest_introns,
        unusual_site_counts,
    )

    loaded = load_sites(site_model)
    model = _adjusted(loaded, sites["min_intron"], scores)
    own_weights = model.fingerprint != loaded.fingerprint
    if sites["max_intron"] is not None:
        model = model.with_longest_intron(sites["max_intron"])
    cost = SITE_SCORING.end_cost if sites["end_cost"] is None else sites["end_cost"]
    scoring, reading = SplicedScoring(**scores, end_cost=cost), sites["reading"]
    strands = sites["strand"] or "+-"
    read = partial(read_evidence, sites)
    inputs = read_site_cases(
        files, model, strands, scoring.ends, reading, sites["threads"], read, own_genes
    )
    _warn(unusual_site_counts(model, inputs.cases))
    nulls = partial(_null_models, scoring, reading, model, own_weights)
    warning = partial(many_shortest_introns, model)
    return _Work(inputs, scoring, site_align, nulls, warning, has_weak_sites, model)


def _null_models(scoring, reading: str, model, own_weights: bool, cases: list) -> list[NullModel]:
    """Return the models of unrelated targets' scores that are shipped, or stand in."""
    from gpu_tools.sites.api import is_coding
    from gpu_tools.sites.suitability import null_models_or_stand_ins

    coding = [
        bool(model) and isinstance(scoring, SplicedScoring) and is_coding(case.target, model.stops)
        for case in cases
    ]
    return null_models_or_stand_ins(scoring, reading, model, own_weights, coding)


def _adjusted(model, min_intron: int | None, scores: dict):
    """Return a site model with the weights that the options give; they leave `scores`."""
    if min_intron is not None:
        model = model.with_shortest_intron(min_intron)
    weight, penalty = scores.pop("exon_weight"), scores.pop("intron_penalty")
    if weight is not None:
        model = replace(model, points_per_bit=weight)
    return model if penalty is None else model.with_penalty(penalty)


def _with_proteins(
    files: CaseFiles, site_model: str, sites: dict, scores: dict, proteins: dict
) -> _Work:
    """Return the work on proteins and all exons that a model admits."""
    from gpu_tools.sites.model import load_sites
    from gpu_tools.sites.proteins.api import protein_align, protein_sites
    from gpu_tools.sites.suitability import many_shortest_introns

    weighted = protein_sites(load_sites(site_model))
    model = _adjusted(weighted, sites["min_intron"], scores)
    scoring = protein_scoring(proteins, scores["ends"])
    strands, own = sites["strand"] or "+-", proteins["target_introns"]
    read = partial(read_evidence, sites)
    inputs = read_protein_cases(files, model, scoring, strands, sites["threads"], read, own)
    own_weights = model.fingerprint != weighted.fingerprint
    nulls = partial(_null_models, scoring, "any", model, own_weights)
    warning = partial(many_shortest_introns, model)
    return _Work(inputs, scoring, protein_align, nulls, warning, model=model)


def _tell_misfits(work: _Work, accepted: list[SplicedAlignment]) -> None:
    """Warn of a site model that does not fit accepted chains."""
    _warn(work.warning(accepted))
    if work.model is not None:
        from gpu_tools.sites.fit import bad_fit, sites_of_alignments

        _warn(bad_fit(work.model, sites_of_alignments(work.inputs.bases, accepted)))


def _warn(text: str | None) -> None:
    if text is not None:
        _log.warning("%s", text)


def _write_table(
    output: str, results: list[SplicedAlignment], verdicts: list[str], has: tuple[bool, bool],
    targets: Mapping[str, Sequence],
) -> None:  # fmt: skip
    """Write the table; `has` tells whether it has confidences, and whether it has ranks."""
    columns = (*COLUMNS, *compress(("confidence", "rank"), has), "description")
    rows = _rows(results, verdicts, has, targets)
    tables.write_table(output, columns, rows, optional=("description",))


def _rows(
    results: list[SplicedAlignment], verdicts: list[str], has: tuple[bool, bool],
    targets: Mapping[str, Sequence],
) -> Iterator[tuple]:  # fmt: skip
    for result, accepted in zip(results, verdicts, strict=True):
        chain = ",".join([f"{start + 1}-{end}" for start, end in result.chain])
        yield (
            result.base, result.target, result.strand, result.score, result.base_length,
            result.target_length, result.n_exons, result.n_chain, chain or None,
            _fraction(result.identity), result.cells, _fraction(result.coverage),
            None if result.evalue is None else f"{result.evalue:.1e}", accepted,
            *compress((result.min_confidence, result.rank), has),
            described(targets[result.target].description),
        )  # fmt: skip


def _fraction(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"
