"""An annotation that is carried from one genome to another."""


rule lift:
    """The annotation on the new genome, its tables and its page."""
    input:
        lift_files(),


rule annotation_lift:
    """Carry the genes of an annotated genome to another one."""
    input:
        **lift_inputs(),
    output:
        output="<results>/lift/lifted.gff3",
        table="<results>/lift/lifted.tsv",
        gene_table="<results>/lift/genes.tsv",
        unmapped="<results>/lift/unmapped.tsv",
        protein_sequences="<results>/lift/proteins.fa",
        summary="<results>/lift/summary.json",
    log:
        "<logs>/annotation_lift.log",
    benchmark:
        "<benchmarks>/annotation_lift.tsv"
    conda:
        "../envs/gpu_tools.yaml"
    threads: 8
    params:
        **lift_options(),
        version=VERSION,
        threads=lambda wildcards, threads: threads,
    script:
        "../scripts/annotation_lift.py"


rule lift_report:
    """Make the page of the annotation on the new genome."""
    input:
        "<results>/lift/lifted.tsv",
        needs=lift_tables(),
    output:
        output=report(
            "<results>/lift/report.html",
            caption="../report/lift.rst",
            category="Lifted annotation",
        ),
    log:
        "<logs>/lift_report.log",
    conda:
        "../envs/gpu_tools.yaml"
    params:
        version=VERSION,
    script:
        "../scripts/results_report.py"
