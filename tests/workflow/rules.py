"""What files of rules define, read as Snakemake reads them but without planning a job."""

import re
from functools import cache
from types import SimpleNamespace

from snakemake.io import expand
from snakemake.sourcecache import LocalSourceFile

from tests.workflow.folders import ROOT

RULES = ROOT / "workflow" / "rules"
SHEET = ("configuration", "sheet", "genome")
BATCHES = (*SHEET, "times", "batches")
DIRECTIVE = re.compile(r"^(?:rule|use rule|localrules|wildcard_constraints)\b", re.M)


@cache
def python_of(name):
    """Return the code of a file of rules: what stands before Snakemake's first directive."""
    path = RULES / f"{name}.smk"
    return compile(DIRECTIVE.split(path.read_text(), maxsplit=1)[0], str(path), "exec")


def read_rules(config, names, **others):
    """Return by their names what files of rules define for a configuration."""
    workflow = SimpleNamespace(
        source_path=RULES.joinpath, is_main_process=True, current_basedir=LocalSourceFile(RULES),
        modifier=SimpleNamespace(skip_validation=False),
        sourcecache=SimpleNamespace(open=lambda file: file.get_path_or_uri(secret_free=True)),
    )  # fmt: skip
    found = {"__name__": "rules", "workflow": workflow, "config": config, "expand": expand} | others
    for name in names:
        exec(python_of(name), found)
    return found
