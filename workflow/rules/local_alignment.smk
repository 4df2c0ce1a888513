rule local_alignments:
    """Align each target locally with its locus, on both strands, and draw where."""
    input:
        batches=lambda wildcards: batch_files("local", base_batches()),
    output:
        results=report(
            directory("<results>/local"),
            patterns=["{locus}.svg"],
            category="local alignments",
            labels={"locus": "{locus}"},
        ),
    log:
        "<logs>/local_alignments.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
    script:
        "../scripts/local_alignments.py"


rule local_align:
    """Find the best local alignments of a batch's loci with each of their targets."""
    input:
        bases="<results>/batches/{batch}/bases.fa.gz",
        targets="<results>/batches/{batch}/targets.fa.gz",
        cases="<results>/batches/{batch}/pairs.tsv",
    output:
        results=directory("<results>/batches/{batch}/local"),
    log:
        "<logs>/local_align/{batch}.log",
    benchmark:
        "<benchmarks>/local_align/{batch}.tsv"
    conda:
        "../envs/gpu_tools.yaml"
    threads: 8
    resources:
        gpu=n_gpus(),
    params:
        **config["local"],
        both_strands=True,
        version=VERSION,
        device=config["device"],
    script:
        "../scripts/local_align.py"
