"""The workflow in other people's pipelines, and the files that others read."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests.workflow.folders import BASES, LOCI, MRNAS, ROOT, TARGETS, Folder, write_sheet

PAGE = (ROOT / "docs" / "interface.md").read_text()
EXAMPLES = re.findall(r"^```snakemake\n(.*?)^```$", PAGE, re.M | re.S)
ENVIRONMENTS = ROOT / "workflow" / "envs"


@pytest.fixture
def consumer(tmp_path):
    """Return a function that makes another project's folder with an example of the page."""

    def make(example):
        (tmp_path / "gpu-tools").symlink_to(ROOT)
        for name, base, target in zip(("a", "b"), BASES, TARGETS, strict=True):
            write_sheet(tmp_path / "config" / f"{name}.tsv", [(base, LOCI, target, MRNAS)])
        (tmp_path / "Snakefile").write_text(example)
        return Folder(tmp_path, tmp_path / "Snakefile")

    return make


def test_two_imports_and_a_changed_rule(consumer):
    folder = consumer(EXAMPLES[1])
    wanted = ("--", "results/a/best.tsv", "results/b/best.tsv")
    assert "localrules" not in folder.run(*wanted)
    for name, base, target in zip(("a", "b"), BASES, TARGETS, strict=True):
        best = folder.table(f"results/{name}/best.tsv")
        assert {(row["base"], row["target"]) for row in best} == {(base, target)}
    # the changed rule keeps fewer candidates than the other import's does
    changed, other = (
        scores(*(folder.path / "results" / name / "batches").glob("*/predicted.gff3"))
        for name in ("a", "b")
    )
    assert min(changed) >= 5 > min(other)
    assert "Nothing to be done" in folder.run(*wanted)


def scores(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return [float(line.split("\t")[5]) for line in lines]


def test_page_lists_every_rule():
    text = "".join(path.read_text() for path in (ROOT / "workflow").glob("rules/*.smk"))
    rules = re.findall(r"^ *(?:rule|use rule \w+ as) (\w+)", text, re.M)
    assert sorted(re.findall(r"^\| `(\w+)` \|", PAGE, re.M)) == sorted(["all", *rules])


@pytest.mark.parametrize(
    ("name", "more"), [("gpu_tools", {"matplotlib"}), ("augustus", {"augustus"})]
)
def test_environments_pin_the_packages_within_the_bounds_of_the_package(name, more):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packages = project["dependencies"]
    if name == "gpu_tools":  # rules of this environment draw
        packages += project["optional-dependencies"]["report"]
    needed = {r.name: r.specifier for r in map(Requirement, packages)}
    environment = yaml.safe_load((ENVIRONMENTS / f"{name}.yaml").read_text())
    entries = [re.fullmatch(r"(\S+) =([0-9.]+)", pin) for pin in environment["dependencies"]]
    pins = dict(entry.groups() for entry in entries)
    assert set(pins) == {*needed, "python", "pip"} | more
    for package, specifier in needed.items():
        assert specifier.contains(pins[package]), package
    assert SpecifierSet(project["requires-python"]).contains(pins["python"])
    assert environment["channels"] == ["conda-forge", "bioconda", "nodefaults"]
    scripts = [ENVIRONMENTS / f"{n}.post-deploy.sh" for n in (name, "gpu_tools")]
    assert len({script.read_text() for script in scripts}) == 1


def test_every_environment_is_a_rules():
    text = "".join(path.read_text() for path in (ROOT / "workflow").glob("rules/*.smk"))
    named = set(re.findall(r'"\.\./envs/(\w+)\.yaml"', text))
    assert {path.stem for path in ENVIRONMENTS.glob("*.yaml")} == named
    rules = re.split(r"^rule ", text, flags=re.M)[1:]
    assert [rule for rule in rules if "    script:\n" in rule and "    conda:\n" not in rule] == []
    assert len([rule for rule in rules if "    script:\n" in rule]) > 10


CONDA = """#!/usr/bin/env bash
case "$*" in
  "info --json") echo '{{"conda_prefix": "{folder}", "platform": "linux-64"}}' ;;
  --version) echo "conda 25.1.0" ;;
  config*) echo '{{"get": {{"channel_priority": "strict"}}}}' ;;
  "env create"*) mkdir --parents "${{@: -1}}/bin" && cp "{folder}/python" "${{@: -1}}/bin" ;;
esac
"""
"""Stands in for conda, which is not there: an environment whose Python writes its words down."""


def test_conda_environments_get_the_checkout_of_a_module_elsewhere(consumer, monkeypatch):
    folder = consumer(EXAMPLES[0])
    (conda := folder.path / "conda").mkdir()
    programs = {
        "conda": CONDA.format(folder=conda),
        "activate": 'PATH="$1/bin:$PATH"\n',
        "python": f'#!/bin/sh\necho "$@" >> "{conda}/words"\n',
    }
    (conda / "bin").mkdir()
    for name, text in programs.items():
        path = conda / ("python" if name == "python" else f"bin/{name}")
        path.write_text(text)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{conda / 'bin'}:{os.environ['PATH']}")
    monkeypatch.delenv("GPU_TOOLS_SOURCE", raising=False)
    folder.run("--sdm", "conda", "--conda-create-envs-only")
    (words,) = (conda / "words").read_text().splitlines()
    program, option, source = words.rsplit(" ", 2)
    assert (program, option) == ("-m pip", "install")
    assert Path(source).resolve() == ROOT


def test_an_environment_without_a_source_says_what_to_set(monkeypatch):
    monkeypatch.delenv("GPU_TOOLS_SOURCE", raising=False)
    script = ENVIRONMENTS / "gpu_tools.post-deploy.sh"
    done = subprocess.run(["bash", script], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "GPU_TOOLS_SOURCE: no folder or address of gpu-tools" in done.stderr


def test_apptainer_definition_installs_what_the_package_needs():
    text = (ROOT / "workflow" / "envs" / "gpu_tools.def").read_text()
    header, *sections = re.split(r"^%(\w+)\n", text, flags=re.M)
    fields = dict(
        line.split(": ", 1) for line in header.splitlines() if line and not line.startswith("#")
    )
    assert fields == {"Bootstrap": "docker", "From": fields["From"]}
    parts = dict(zip(sections[::2], sections[1::2], strict=True))
    assert set(parts) == {"files", "post", "environment", "test", "runscript", "labels"}
    for path in parts["files"].split()[::2]:
        assert (ROOT / path).exists()
    for name in ("post", "environment", "test", "runscript"):
        assert subprocess.run(["sh", "-n", "-c", parts[name]]).returncode == 0


def test_catalog_file_asks_for_what_is_there():
    """The catalog wants its file, workflow/Snakefile, config/README.md, and known keys."""
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert set(usage["mandatory-flags"]) == {"desc", "flags"}
    assert usage["software-stack-deployment"] == {
        "conda": True, "apptainer": False, "apptainer+conda": False
    }  # fmt: skip
    assert (ROOT / "workflow" / "Snakefile").exists()
    assert (ROOT / "config" / "README.md").exists()


PROFILES = sorted((ROOT / "workflow" / "profiles").glob("*/config.yaml"))


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.parent.name)
def test_every_entry_of_a_profile_has_a_comment(path):
    lines = path.read_text().splitlines()
    entries = [i for i, line in enumerate(lines) if re.match(r"[a-z]", line)]
    assert len(entries) >= 4
    assert [lines[i] for i in entries if not lines[i - 1].strip().startswith("#")] == []


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.parent.name)
def test_profiles_are_found_by_their_path(path, tmp_path):
    write_sheet(tmp_path / "config" / "cases.tsv", [(BASES[0], LOCI, TARGETS[0], MRNAS)])
    folder = Folder(tmp_path, ROOT / "workflow" / "Snakefile")
    gpus = yaml.safe_load(path.read_text())["resources"]["gpu"]
    plan = folder.run("--dry-run", "--workflow-profile", path.parent)
    assert f"gpu={min(gpus, 1)}" in plan
