rule results_merge:
    """Join the scores of all batches and methods, in the order of the sheet."""
    input:
        scores=method_files("scores.tsv"),
        cases=batch_files("pairs.tsv"),
    output:
        output="<results>/scores.tsv",
    log:
        "<logs>/results_merge.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
        method=methods(),
    script:
        "../scripts/results_merge.py"


rule alignments_merge:
    """Join the alignments of all batches, in the order of the sheet."""
    input:
        gff3=batch_files("{prefix}alignments.gff3"),
        bed=batch_files("{prefix}alignments.bed"),
        bam=batch_files("{prefix}alignments.bam"),
    output:
        "<results>/{prefix}alignments.bam.bai",
        alignments=expand("<results>/{{prefix}}alignments.{format}", format=FORMATS),
    log:
        "<logs>/alignments_merge/{prefix}alignments.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
    script:
        "../scripts/alignments_merge.py"


rule protein_alignments_merge:
    """Join the alignments of the proteins of all batches, in the order of the sheet."""
    input:
        gff3=batch_files("protein_alignments.gff3"),
        bed=batch_files("protein_alignments.bed"),
        txt=batch_files("protein_alignments.txt"),
    output:
        alignments=expand("<results>/protein_alignments.{format}", format=PROTEIN_FORMATS),
    log:
        "<logs>/alignments_merge/protein_alignments.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
    script:
        "../scripts/alignments_merge.py"


rule results_best:
    """Keep the best target of each locus, for each method."""
    input:
        scores="<results>/scores.tsv",
    output:
        output=report(
            "<results>/best.tsv",
            caption="../report/best.rst",
            category="Gene structures",
        ),
    log:
        "<logs>/results_best.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
    script:
        "../scripts/results_best.py"


rule results_loci:
    """Rank the loci of each target and choose the best target of each locus, accepted ones alone."""
    input:
        scores="<results>/scores.tsv",
        alignments=expand("<results>/{prefix}alignments.gff3", prefix=prefixes()),
    output:
        loci="<results>/best_loci.tsv",
        targets="<results>/best_targets.tsv",
        models=expand("<results>/{prefix}best.gff3", prefix=prefixes()),
    log:
        "<logs>/results_loci.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
        method=methods(),
    script:
        "../scripts/results_loci.py"


rule results_summary:
    """Tell what the results were made of: configuration, limits, digests of files."""
    input:
        "<results>/scores.tsv",
        **chosen_sites(),
        # steps of one job on a cluster add up their CPUs where none waits for another
        needs="<results>/structures.svg",
        inputs=ancient(sheet_files()),
    output:
        output="<results>/summary.json",
    log:
        "<logs>/results_summary.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        **shown_site_model(),
        version=VERSION,
        configuration=configured(),
        limits=limits_of_methods(),
    script:
        "../scripts/results_summary.py"


rule results_report:
    """Make the page of all results, the figures as files, and a session for IGV."""
    input:
        "<results>/scores.tsv",
        needs=["<results>/summary.json"]
        + tables()
        + drawn_exons()
        + drawn_junctions()
        + estimates(),
        genome=only_genome(),
        track=list(dict.fromkeys(CASES.bases[base].annotation for base in ANNOTATED)),
    output:
        output=report(
            "<results>/report.html",
            caption="../report/results.rst",
            category="Results",
        ),
        igv="<results>/igv_session.xml",
        figures=report(
            directory("<results>/figures"),
            patterns=["{figure}.svg"],
            caption="../report/figures.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
    log:
        "<logs>/results_report.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
        loci=MOST_DRAWN,
    script:
        "../scripts/results_report.py"


rule structures_plot:
    """Draw the best chain of each locus by method."""
    input:
        **listed(
            candidates=candidates(first_batches(DRAWN)),
            cases=batch_files("pairs.tsv", first_batches(DRAWN)),
        ),
        best="<results>/best.tsv",
        truth=batch_files("annotation.gff3", first_batches(annotated(DRAWN))),
        annotated=batch_files("pairs.tsv", first_batches(annotated(DRAWN))),
    output:
        output=report(
            "<results>/structures.svg",
            caption="../report/structures.rst",
            category="Gene structures",
        ),
    log:
        "<logs>/structures_plot.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
        base=DRAWN,
    script:
        "../scripts/structures_plot.py"


rule exons_compare:
    """Measure candidates and best chains against the annotations that the sheet names."""
    input:
        **listed(candidates=candidates(first_batches(ANNOTATED))),
        best="<results>/best.tsv",
        cases=batch_files("pairs.tsv", first_batches(ANNOTATED)),
        truth=batch_files("annotation.gff3", first_batches(ANNOTATED)),
    output:
        output="<results>/accuracy.tsv",
    log:
        "<logs>/exons_compare.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
        base=ANNOTATED,
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
