"""The genome to annotate: targets and parts of the search, or an annotation to carry over."""


def check_annotation():
    """There must be targets; only an exhaustive search takes the genome in parts."""
    own = config["annotation"]
    if not (own["proteins"] or own["cdnas"]):
        raise InputError(
            "configuration, annotation: no targets; expected files in proteins or in cdnas"
        )
    if own["intron_penalty"] is not None and own["proteins"] and own["cdnas"]:
        raise InputError(
            "configuration, annotation.intron_penalty: proteins and cdnas; expected one of them, in "
            "whose points it is"
        )
    if own["search"] == "seeded" and own["genome_parts"] > 1:
        raise InputError(
            "configuration, annotation.genome_parts: "
            f"{own['genome_parts']} with search seeded; expected 1"
        )


def annotation_inputs():
    """Return the genome and the targets as options of annotate."""
    own = config["annotation"]
    files = {name: list(map(file_of, own[name])) for name in ("proteins", "cdnas")}
    return {"genome": file_of(own["genome"])} | {k: v for k, v in files.items() if v}


def annotation_sources():
    """Return the files of the genome and the targets as they are configured."""
    own = config["annotation"]
    return [own["genome"], *own["proteins"], *own["cdnas"]] if own["genome"] else []


def annotation_options():
    """Return the options on which hits depend, but for a site model that is chosen."""
    others = ("genome", "proteins", "cdnas", "target_parts", "genome_parts", "isoforms", "batch")
    others += ("frameshifts", "conserved", "confidence", "min_confidence", *annotation_sites())
    others += EVIDENCE_FILES
    return {key: value for key, value in config["annotation"].items() if key not in others}


def annotation_sites():
    """Return the site model that is chosen, nothing if one is configured."""
    chosen = config["annotation"]["site_model"] == AUTO
    return {"site_model": "<results>/annotation/site_model.json"} if chosen else {}


def annotation_evidence():
    """Return the files of splice evidence as options of annotate."""
    own = config["annotation"]
    return {key: own[key] for key in EVIDENCE_FILES if own[key]}


def annotation_hits():
    """Return the files of hits of all parts."""
    return expand(
        "<results>/annotation/hits/{share}-{tiles}.json",
        share=range(1, TARGET_PARTS + 1),
        tiles=range(1, GENOME_PARTS + 1),
    )


def annotation_tables():
    """Return the files of the gene set."""
    names = ["genes.gff3", "genes.tsv", "targets.tsv", "proteins.fa", "cds.fa", "summary.json"]
    return expand("<results>/annotation/{name}", name=names)


def annotation_files():
    """Return the files of the gene set and its page, none without a genome."""
    page = expand("<results>/annotation/report.html")
    return annotation_tables() + page if config["annotation"]["genome"] else []


def check_lift():
    """There must be an annotation to carry over, and its genome."""
    for key in ("reference", "annotation"):
        if not config["lift"][key]:
            raise InputError(f"configuration, lift.{key}: nothing there; expected a path")


def lift_inputs():
    """Return the genomes and the annotation as options of lift."""
    own = config["lift"]
    genomes = {name: file_of(own[name]) for name in ("reference", "genome")}
    return genomes | {key: own[key] for key in ("annotation", "junctions")}


def lift_sources():
    """Return the two genomes as they are configured."""
    own = config["lift"]
    return [own["reference"], own["genome"]] if own["genome"] else []


def lift_options():
    """Return the options of lift beside its inputs."""
    inputs = ("genome", "reference", "annotation", "junctions")
    return {key: value for key, value in config["lift"].items() if key not in inputs}


def lift_tables():
    """Return the files of an annotation that was carried over."""
    names = "lifted.gff3", "lifted.tsv", "genes.tsv", "unmapped.tsv", "proteins.fa", "summary.json"
    return expand("<results>/lift/{name}", name=names)


def lift_files():
    """Return these files and their page, none without a genome."""
    page = expand("<results>/lift/report.html")
    return lift_tables() + page if config["lift"]["genome"] else []


EVIDENCE_FILES = ("junctions", "splice_scores", "target_introns")
TARGET_PARTS = config["annotation"]["target_parts"]
GENOME_PARTS = config["annotation"]["genome_parts"]
if config["annotation"]["genome"]:
    check_annotation()
if config["lift"]["genome"]:
    check_lift()
