rule exons_predict:
    """Predict the candidate exons of a locus: the built-in model, or the configured program."""
    input:
        base="<results>/sequences/loci/{base}.fa.gz",
    output:
        output="<results>/exons/predicted/{base}.gff3",
    log:
        "<logs>/exons_predict/{base}.log",
    conda:
        "../envs/augustus.yaml"
        if config["exons"]["provider"] == "augustus"
        else "../envs/gpu_tools.yaml"
    params:
        **config["exons"],
        version=VERSION,
    script:
        "../scripts/exons_predict.py"


rule exons_cut:
    """Move the exons of a file of the sheet's, candidates or annotation, onto the locus."""
    input:
        lambda wildcards: base_row(wildcards)[EXON_COLUMNS[wildcards.source]],
        base="<results>/sequences/loci/{base}.fa.gz",
    output:
        output="<results>/exons/{source}/{base}.gff3",
    log:
        "<logs>/exons_cut/{source}/{base}.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
        kind=exon_kind,
        record=lambda wildcards: base_row(wildcards)["record"],
        locus=lambda wildcards: base_row(wildcards)["locus"] or None,
        flank=config["flank"],
    script:
        "../scripts/exons_cut.py"
