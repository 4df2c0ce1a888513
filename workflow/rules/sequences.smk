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
    # where Snakemake runs: the nodes of a cluster often have no network, and a service's limit on
    # requests holds for one machine
    localrule: True
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
    """Cut the loci, with their flanks, and the targets of a batch; checked and compressed."""
    input:
        fasta=cut_files,
    output:
        expand(
            "<results>/batches/{{batch}}/{name}.fa.gz.{index}",
            name=["bases", "targets"],
            index=["fai", "gzi"],
        ),
        bases="<results>/batches/{batch}/bases.fa.gz",
        targets="<results>/batches/{batch}/targets.fa.gz",
        cases="<results>/batches/{batch}/pairs.tsv",
    log:
        "<logs>/sequences_cut/{batch}.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
        base=cut_bases,
        target=cut_targets,
        pair=cut_pairs,
        flank=config["flank"],
    script:
        "../scripts/sequences_cut.py"


rule sequences_join:
    """Cut all loci and targets of the sheet, each once, for the rules that search in them."""
    input:
        fasta=cut_files,
    output:
        expand(
            "<results>/sequences/{name}.fa.gz.{index}",
            name=["loci", "targets"],
            index=["fai", "gzi"],
        ),
        bases="<results>/sequences/loci.fa.gz",
        targets="<results>/sequences/targets.fa.gz",
    log:
        "<logs>/sequences_join.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
        base=cut_bases,
        target=cut_targets,
        flank=config["flank"],
    script:
        "../scripts/sequences_cut.py"


rule sequences_translate:
    """Translate the longest open reading frame of each target."""
    input:
        fasta="<results>/sequences/targets.fa.gz",
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
