# Downloads run where Snakemake runs: the nodes of a cluster often have no network, and a service's
# limit on requests holds for one machine.
localrules:
    sequences_fetch,


rule sequences_fetch:
    """Fetch a source of the sheet's from a service or an address, and check it."""
    output:
        ensure(
            multiext(
                "<results>/sequences/fetched/{fetched}",
                fai=".fa.gz.fai",
                gzi=".fa.gz.gzi",
                output=".fa.gz",
                provenance=".tsv",
            ),
            non_empty=True,
        ),
    log:
        "<logs>/sequences_fetch/{fetched}.log",
    # between workflows, where --cache and SNAKEMAKE_OUTPUT_CACHE are given
    cache: True
    retries: 1
    conda:
        "../envs/gpu_tools.yaml"
    params:
        **config["fetch"],
        version=VERSION,
        source=lambda wildcards: FETCHED_SOURCES[wildcards.fetched],
        flank=config["flank"],
    script:
        "../scripts/sequences_fetch.py"


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
        # results on a base sequence name its record
        origin=lambda wildcards: wildcards.kind == "loci",
    script:
        "../scripts/sequences_cut.py"


rule cases_batch:
    """Gather sequences, candidate exons and pairs into batches of much the same work."""
    input:
        **listed(candidates=candidates(CASES["base"].unique())),
        bases=sequences("loci"),
        sequences=sequences("targets"),
    output:
        **listed(exons=batch_files("exons.gff3")),
        base=batch_files("bases.fa.gz"),
        targets=batch_files("targets.fa.gz"),
        pairs=batch_files("pairs.tsv"),
    log:
        "<logs>/cases_batch.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
        pair=pairs(),
    script:
        "../scripts/cases_batch.py"


rule sequences_translate:
    """Translate the longest open reading frame of each target."""
    input:
        fasta=sequences("targets"),
    output:
        output="<results>/sequences/proteins.fa",
    log:
        "<logs>/sequences_translate.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
    script:
        "../scripts/sequences_translate.py"
