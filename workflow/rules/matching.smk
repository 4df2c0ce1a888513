rule find_exact:
    """Find every occurrence of the patterns in all loci and targets."""
    input:
        patterns=config["matching"]["patterns"],
        text=expand("<results>/sequences/{name}.fa.gz", name=["loci", "targets"]),
    output:
        output="<results>/matches/exact.tsv",
        bed="<results>/matches/exact.bed",
    log:
        "<logs>/find_exact.log",
    benchmark:
        "<benchmarks>/find_exact.tsv"
    conda:
        "../envs/gpu_tools.yaml"
    threads: 8
    resources:
        gpu=n_gpus(),
    params:
        both_strands=config["matching"]["both_strands"],
        version=VERSION,
        device=config["device"],
    script:
        "../scripts/match_exact.py"


rule find_approximate:
    """Find where the patterns occur with errors in all loci and targets."""
    input:
        patterns=config["matching"]["patterns"],
        text=expand("<results>/sequences/{name}.fa.gz", name=["loci", "targets"]),
    output:
        output="<results>/matches/approximate.tsv",
        bed="<results>/matches/approximate.bed",
    log:
        "<logs>/find_approximate.log",
    benchmark:
        "<benchmarks>/find_approximate.tsv"
    conda:
        "../envs/gpu_tools.yaml"
    threads: 8
    resources:
        gpu=n_gpus(),
    params:
        max_distance=config["matching"]["max_distance"],
        both_strands=config["matching"]["both_strands"],
        version=VERSION,
        device=config["device"],
    script:
        "../scripts/match_approximate.py"
