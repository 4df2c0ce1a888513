"""A gene set of a genome: hits in parts, each a job, then the genes of all of them."""


rule annotation:
    """The gene set, its tables and its page."""
    input:
        annotation_files(),


rule annotation_sites:
    """Choose the shipped site model that fits the introns of a first pass best."""
    input:
        **annotation_inputs(),
        **annotation_evidence(),
    output:
        output="<results>/annotation/site_model.json",
    log:
        "<logs>/annotation_sites.log",
    conda:
        "../envs/gpu_tools.yaml"
    threads: 8
    resources:
        gpu=n_gpus(),
    params:
        **(annotation_options() | {"site_model": AUTO}),
        version=VERSION,
        device=config["device"],
    script:
        "../scripts/sites_choose.py"


rule annotation_hits:
    """Find the hits of a share of the targets in a share of the genome, on a GPU or on the CPU."""
    input:
        **annotation_inputs(),
        **annotation_evidence(),
        **annotation_sites(),
    output:
        output="<results>/annotation/hits/{share}-{tiles}.json",
    log:
        "<logs>/annotation_hits/{share}-{tiles}.log",
    benchmark:
        "<benchmarks>/annotation_hits/{share}-{tiles}.tsv"
    conda:
        "../envs/gpu_tools.yaml"
    threads: 8
    resources:
        gpu=n_gpus(),
    params:
        **annotation_options(),
        version=VERSION,
        batch=config["annotation"]["batch"],
        device=config["device"],
        targets=lambda wildcards: [(wildcards.share, TARGET_PARTS)],
        tiles=lambda wildcards: [(wildcards.tiles, GENOME_PARTS)],
    script:
        "../scripts/annotation_hits.py"


rule annotation_genes:
    """Make one gene set of the hits of all parts."""
    input:
        **annotation_inputs(),
        **annotation_evidence(),
        **annotation_sites(),
        hits=annotation_hits(),
    output:
        output="<results>/annotation/genes.gff3",
        table="<results>/annotation/genes.tsv",
        targets_table="<results>/annotation/targets.tsv",
        protein_sequences="<results>/annotation/proteins.fa",
        cds_sequences="<results>/annotation/cds.fa",
        summary="<results>/annotation/summary.json",
    log:
        "<logs>/annotation_genes.log",
    conda:
        "../envs/gpu_tools.yaml"
    threads: 8
    params:
        **annotation_options(),
        version=VERSION,
        parts=[(TARGET_PARTS, GENOME_PARTS)],
        no_isoforms=not config["annotation"]["isoforms"],
        confidence=config["annotation"]["confidence"],
        min_confidence=config["annotation"]["min_confidence"],
        frameshifts=config["annotation"]["frameshifts"],
        threads=lambda wildcards, threads: threads,
    script:
        "../scripts/annotation_genes.py"


rule annotation_report:
    """Make the page of the gene set, and its figures."""
    input:
        "<results>/annotation/genes.gff3",
        needs=annotation_tables(),
        junctions=config["annotation"]["junctions"] or [],
        conserved=config["annotation"]["conserved"] or [],
    output:
        output=report(
            "<results>/annotation/report.html",
            caption="../report/annotation.rst",
            category="Gene set",
        ),
    log:
        "<logs>/annotation_report.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
    script:
        "../scripts/results_report.py"


wildcard_constraints:
    share="[0-9]+",
    tiles="[0-9]+",
