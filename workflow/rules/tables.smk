rule results_merge:
    """Join the batches' scores and alignments, in the order of the sheet."""
    input:
        scores=expand("<results>/batches/{batch}/scores.tsv", batch=BATCHES),
        gff3=expand("<results>/batches/{batch}/alignments.gff3", batch=BATCHES),
        bed=expand("<results>/batches/{batch}/alignments.bed", batch=BATCHES),
        bam=expand("<results>/batches/{batch}/alignments.bam", batch=BATCHES),
    output:
        "<results>/alignments.bam.bai",
        output="<results>/scores.tsv",
        alignments=expand("<results>/alignments.{format}", format=["gff3", "bed", "bam"]),
    log:
        "<logs>/results_merge.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
    script:
        "../scripts/results_merge.py"


rule results_best:
    """Keep the best target of each locus."""
    input:
        scores="<results>/scores.tsv",
    output:
        output="<results>/best.tsv",
    log:
        "<logs>/results_best.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
    script:
        "../scripts/results_best.py"


rule exons_compare:
    """Measure candidates and best chains against the annotations that the sheet names."""
    input:
        best="<results>/best.tsv",
        candidates=candidates(annotated_bases()),
        truth=annotations(annotated_bases()),
    output:
        output="<results>/accuracy.tsv",
    log:
        "<logs>/exons_compare.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
        base=annotated_bases(),
    script:
        "../scripts/exons_compare.py"


rule results_provenance:
    """List what was fetched: source, address, time, size and checksum."""
    input:
        fetched=expand("<results>/sequences/fetched/{fetched}.tsv", fetched=FETCHED_SOURCES),
    output:
        output="<results>/provenance.tsv",
    log:
        "<logs>/results_provenance.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
    script:
        "../scripts/results_provenance.py"
