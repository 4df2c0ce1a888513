# The workflow lives in workflow/Snakefile. A root Snakefile hides that file from Snakemake, and a
# bare include would leave the rule "all" without targets, so it is imported as a module: the same
# way that another project imports it.
configfile: "config/config.yaml"


module gpu_tools:
    snakefile:
        "workflow/Snakefile"
    config:
        config


use rule * from gpu_tools
