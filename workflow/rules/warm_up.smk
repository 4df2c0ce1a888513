"""Code that is compiled before the jobs need it."""


rule warm_up:
    """Compile all code for the machine on which the job runs, on request."""
    output:
        touch("<results>/warm_up.done"),
    log:
        "<logs>/warm_up.log",
    conda:
        "../envs/gpu_tools.yaml"
    threads: 8
    resources:
        gpu=n_gpus(),
    params:
        version=VERSION,
        device=config["device"],
    script:
        "../scripts/warm_up.py"
