rule spliced_align:
    """Align a batch of cases exactly, on a GPU or on the CPU."""
    input:
        base="<results>/batches/{batch}/bases.fa.gz",
        exons=lambda wildcards: candidates([wildcards.batch]),
        targets="<results>/batches/{batch}/targets.fa.gz",
        pairs="<results>/batches/{batch}/pairs.tsv",
    output:
        "<results>/batches/{batch}/alignments.bam.bai",
        output="<results>/batches/{batch}/scores.tsv",
        alignments=expand(
            "<results>/batches/{{batch}}/alignments.{format}",
            format=FORMATS,
        ),
    log:
        "<logs>/spliced_align/{batch}.log",
    benchmark:
        "<benchmarks>/spliced_align/{batch}.tsv"
    conda:
        "../envs/gpu_tools.yaml"
    threads: 8
    resources:
        # counted against the profile's limit, so that jobs do not crowd on one device
        gpu=n_gpus(),
        mem_mb=megabytes_of("base"),
        runtime=minutes_of("targets"),
    params:
        **config["scoring"],
        version=VERSION,
        device=config["device"],
    script:
        "../scripts/spliced_align.py"


rule sites_choose:
    """Choose the shipped site model that fits the introns of the first batch's targets best."""
    input:
        genome=lambda wildcards: f"<results>/batches/{next(iter(BATCHES))}/bases.fa.gz",
        cdnas=lambda wildcards: f"<results>/batches/{next(iter(BATCHES))}/targets.fa.gz",
    output:
        output="<results>/site_model.json",
    log:
        "<logs>/sites_choose.log",
    conda:
        "../envs/gpu_tools.yaml"
    threads: 8
    resources:
        gpu=n_gpus(),
        mem_mb=megabytes_of("genome"),
    params:
        site_model=AUTO,
        version=VERSION,
        device=config["device"],
    script:
        "../scripts/sites_choose.py"


rule site_align:
    """Align a batch of cases exactly to all exons that sites allow."""
    input:
        **evidence_inputs(),
        **chosen_sites(),
        base="<results>/batches/{batch}/bases.fa.gz",
        targets="<results>/batches/{batch}/targets.fa.gz",
        target_introns=config["sites"]["target_introns"] or [],
        pairs="<results>/batches/{batch}/pairs.tsv",
    output:
        "<results>/batches/{batch}/site_alignments.bam.bai",
        output="<results>/batches/{batch}/site_scores.tsv",
        alignments=expand(
            "<results>/batches/{{batch}}/site_alignments.{format}",
            format=FORMATS,
        ),
    log:
        "<logs>/site_align/{batch}.log",
    benchmark:
        "<benchmarks>/site_align/{batch}.tsv"
    conda:
        "../envs/gpu_tools.yaml"
    threads: 8
    resources:
        gpu=n_gpus(),
        mem_mb=megabytes_of("base"),
        runtime=minutes_of("targets"),
    params:
        **site_options(),
        **evidence_weights(),
        version=VERSION,
        device=config["device"],
    script:
        "../scripts/site_align.py"


rule spliced_estimate:
    """Estimate the parallelism of a batch's cases, and how long their alignment takes."""
    input:
        **estimated_exons(),
        base="<results>/batches/{batch}/bases.fa.gz",
        targets="<results>/batches/{batch}/targets.fa.gz",
        pairs="<results>/batches/{batch}/pairs.tsv",
    output:
        output="<results>/batches/{batch}/estimate.tsv",
        histograms="<results>/batches/{batch}/estimate_histograms.tsv",
        calls="<results>/batches/{batch}/estimate_calls.tsv",
    log:
        "<logs>/spliced_estimate/{batch}.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
        # a job does not time a machine that does other jobs
        no_calibrate=True,
        mode="list" if "candidates" in methods() else "site",
    script:
        "../scripts/spliced_estimate.py"


rule proteins_cut:
    """Translate the longest open reading frame of a batch's targets, or take their proteins."""
    input:
        proteins=protein_files(),
        targets="<results>/batches/{batch}/targets.fa.gz",
    output:
        output="<results>/batches/{batch}/proteins.fa",
    log:
        "<logs>/proteins_cut/{batch}.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
    script:
        "../scripts/proteins_cut.py"


rule protein_align:
    """Align the proteins of a batch's targets exactly to all exons that sites allow."""
    input:
        **evidence_inputs(),
        **chosen_sites(),
        base="<results>/batches/{batch}/bases.fa.gz",
        proteins="<results>/batches/{batch}/proteins.fa",
        target_introns=config["proteins"]["target_introns"] or [],
        pairs="<results>/batches/{batch}/pairs.tsv",
    output:
        output="<results>/batches/{batch}/protein_scores.tsv",
        alignments=expand(
            "<results>/batches/{{batch}}/protein_alignments.{format}",
            format=PROTEIN_FORMATS[:2],
        ),
        show="<results>/batches/{batch}/protein_alignments.txt",
    log:
        "<logs>/protein_align/{batch}.log",
    benchmark:
        "<benchmarks>/protein_align/{batch}.tsv"
    conda:
        "../envs/gpu_tools.yaml"
    threads: 8
    resources:
        gpu=n_gpus(),
        mem_mb=megabytes_of("base"),
        runtime=minutes_of("proteins"),
    params:
        **protein_options(),
        **evidence_weights(),
        version=VERSION,
        device=config["device"],
    script:
        "../scripts/site_align.py"
