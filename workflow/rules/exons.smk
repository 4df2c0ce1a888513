rule exons_predict:
    """Predict the candidate exons of a batch's loci: the built-in model, or the configured program."""
    input:
        base="<results>/batches/{batch}/bases.fa.gz",
    output:
        output="<results>/batches/{batch}/predicted.gff3",
    log:
        "<logs>/exons_predict/{batch}.log",
    conda:
        "../envs/augustus.yaml"
        if config["exons"]["provider"] == "augustus"
        else "../envs/gpu_tools.yaml"
    # programs run on several loci at one time
    threads: 1 if config["exons"]["provider"] == "builtin" else 8
    params:
        **config["exons"],
        by_sequence=True,
        version=VERSION,
    script:
        "../scripts/exons_predict.py"


rule exons_cut:
    """Move exons of the sheet's files, candidates or annotation, onto a batch's loci."""
    input:
        exons=exon_files,
        sequences="<results>/batches/{batch}/bases.fa.gz",
    output:
        output="<results>/batches/{batch}/{source}.gff3",
    log:
        "<logs>/exons_cut/{source}/{batch}.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
        kind=exon_kind,
        base=exon_words,
    script:
        "../scripts/exons_cut.py"


rule evidence_cut:
    """Take the splice evidence of the sheet's files that lies in a batch's loci."""
    input:
        junctions=lambda wildcards: evidence_files(wildcards.batch, "junctions"),
        splice_scores=lambda wildcards: evidence_files(wildcards.batch, "splice_scores"),
        sequences="<results>/batches/{batch}/bases.fa.gz",
    output:
        junctions_output="<results>/batches/{batch}/junctions.bed",
        scores_output="<results>/batches/{batch}/splice_scores.tsv",
    log:
        "<logs>/evidence_cut/{batch}.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
        base=evidence_words,
    script:
        "../scripts/evidence_cut.py"
