rule local_alignments:
    """Align each target locally with its locus, on both strands, and draw where."""
    input:
        expand(
            "<results>/local/{base}.{suffix}",
            base=CASES["base"].unique(),
            suffix=["tsv", "svg"],
        ),


rule local_align:
    """Find the best local alignments of a locus with each of its targets."""
    input:
        query=targets_of_base,
        subject="<results>/sequences/loci/{base}.fa.gz",
    output:
        output="<results>/local/{base}.tsv",
        alignments="<results>/local/{base}.paf",
        dot_plot=report(
            "<results>/local/{base}.svg",
            category="local alignments",
            labels={"locus": "{base}"},
        ),
    log:
        "<logs>/local_align/{base}.log",
    benchmark:
        "<benchmarks>/local_align/{base}.tsv"
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
