"""Snakemake's command line, with states of SLURM's jobs asked for every two seconds.

Its plugin for SLURM waits ten seconds longer after each time that no job has ended, whatever
``--seconds-between-status-checks`` says: most of the time of a small run.
"""

from snakemake.cli import main
from snakemake_executor_plugin_slurm import Executor

SECONDS = 2

if __name__ == "__main__":
    Executor.next_seconds_between_status_checks = property(
        lambda self: SECONDS, lambda self, seconds: None
    )
    main()
