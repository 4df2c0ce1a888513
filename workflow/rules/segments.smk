rule segments:
    """All segments and their plots."""
    input:
        expand("<results>/segments/{segments}.{format}", segments=SEGMENTS, format=["tsv", "svg"]),


rule cpg_islands:
    """Find the CpG islands of all loci: all segments that score high by islands' log-odds."""
    input:
        sequence="<results>/sequences/loci.fa.gz",
    output:
        output="<results>/segments/cpg_islands.tsv",
        bed="<results>/segments/cpg_islands.bed",
        gff3="<results>/segments/cpg_islands.gff3",
    log:
        "<logs>/cpg_islands.log",
    benchmark:
        "<benchmarks>/cpg_islands.tsv"
    conda:
        "../envs/gpu_tools.yaml"
    threads: 8
    resources:
        gpu=n_gpus(),
    params:
        **config["segments"]["cpg_islands"],
        all=True,
        scale="cpg",
        feature="CpG_island",
        significance=True,
        version=VERSION,
        device=config["device"],
    script:
        "../scripts/max_segments.py"


use rule cpg_islands as gc_rich_regions with:
    output:
        output="<results>/segments/gc_rich_regions.tsv",
        bed="<results>/segments/gc_rich_regions.bed",
        gff3="<results>/segments/gc_rich_regions.gff3",
    log:
        "<logs>/gc_rich_regions.log",
    benchmark:
        "<benchmarks>/gc_rich_regions.tsv"
    params:
        **segment_limits("gc_rich_regions"),
        scale="gc",
        # G and C score 1, A and T -1: at this mean the percentage is just reached
        subtract=(2 * config["segments"]["gc_rich_regions"]["percent"] - 100) / 100,
        feature="region",


use rule cpg_islands as hydrophobic_segments with:
    input:
        sequence=config["segments"]["proteins"] or "<results>/sequences/proteins.fa",
    output:
        output="<results>/segments/hydrophobic_segments.tsv",
        bed="<results>/segments/hydrophobic_segments.bed",
        gff3="<results>/segments/hydrophobic_segments.gff3",
    log:
        "<logs>/hydrophobic_segments.log",
    benchmark:
        "<benchmarks>/hydrophobic_segments.tsv"
    params:
        **segment_limits("hydrophobic_segments"),
        scale="kyte-doolittle",
        subtract=config["segments"]["hydrophobic_segments"]["hydropathy"],
        feature="hydrophobic_region_of_peptide",


rule segments_plot:
    """Draw where the segments of each sequence lie."""
    input:
        gff3="<results>/segments/{segments}.gff3",
        sequence=segment_sequences,
    output:
        output=report(
            "<results>/segments/{segments}.svg",
            caption="../report/segments.rst",
            category="Segments",
            labels={"segments": "{segments}"},
        ),
    log:
        "<logs>/segments_plot/{segments}.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
    script:
        "../scripts/segments_plot.py"
