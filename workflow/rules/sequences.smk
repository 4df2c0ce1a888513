rule sequences_cut:
    """Cut a locus with its flanks, or take a whole record, checked, compressed and indexed."""
    input:
        fasta=sequence_file,
    output:
        "<results>/sequences/{kind}/{name}.fa.gz.fai",
        "<results>/sequences/{kind}/{name}.fa.gz.gzi",
        output="<results>/sequences/{kind}/{name}.fa.gz",
    log:
        "<logs>/sequences_cut/{kind}/{name}.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
        name=lambda wildcards: wildcards.name,
        record=sequence_record,
        locus=sequence_locus,
        flank=config["flank"],
    script:
        "../scripts/sequences_cut.py"


rule cases_batch:
    """Gather the sequences, candidate exons and pairs of a batch of cases."""
    input:
        bases=lambda wildcards: loci_of(wildcards.batch),
        candidates=lambda wildcards: candidates(batch_cases(wildcards.batch)["base"].unique()),
        sequences=lambda wildcards: targets_of(wildcards.batch),
    output:
        base="<results>/batches/{batch}/bases.fa.gz",
        exons="<results>/batches/{batch}/exons.gff3",
        targets="<results>/batches/{batch}/targets.fa.gz",
        pairs="<results>/batches/{batch}/pairs.tsv",
    log:
        "<logs>/cases_batch/{batch}.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
        pair=lambda wildcards: pairs_of(wildcards.batch),
    script:
        "../scripts/cases_batch.py"
