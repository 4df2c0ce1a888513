"""What a release says about itself in several files: one version, one list of dependencies."""

import re
import tomllib

import jinja2
import yaml
from packaging.requirements import Requirement

from tests.docs.test_docs import ROOT, text_of

PROJECT = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]


def recipe():
    """Return the conda recipe, rendered as conda-build does."""
    names = {"PYTHON": "python", "pin_subpackage": lambda name, max_pin: f"{name} {max_pin}"}
    return yaml.safe_load(jinja2.Template(text_of(ROOT / "recipe" / "meta.yaml")).render(names))


def test_there_is_one_version():
    version = PROJECT["version"]
    assert yaml.safe_load(text_of(ROOT / "CITATION.cff"))["version"] == version
    assert recipe()["package"]["version"] == version
    first = re.search(r"^## (\S+)", text_of(ROOT / "CHANGELOG.md"), re.M)[1]
    assert first == version, "release notes of this version come first"


def requirements(lines):
    """Return the bounds of versions by name; conda separates names and bounds by a space."""
    read = (Requirement(line.replace(" ", "", 1)) for line in lines)
    return {requirement.name.lower(): requirement.specifier for requirement in read}


def test_recipe_asks_for_what_the_package_needs():
    parts = recipe()["requirements"]
    needed = requirements(PROJECT["dependencies"])
    python = Requirement(f"python{PROJECT['requires-python']}").specifier
    assert requirements(parts["run"]) == needed | {"python": python}
    extras = PROJECT["optional-dependencies"]
    wanted = requirements(extras["report"] + extras["tracks"] + extras["cuda13"])
    build = tomllib.loads(text_of(ROOT / "pyproject.toml"))["build-system"]["requires"]
    host = requirements(parts["host"])
    assert {name: host[name] for name in requirements(build)} == requirements(build)
    constrained = requirements(parts["run_constrained"])
    assert {name: constrained[name] for name in wanted} == wanted


def test_recipe_makes_the_command_for_every_platform():
    build = recipe()["build"]
    (command,) = PROJECT["scripts"].items()
    assert build["noarch"] == "python"
    assert build["entry_points"] == [" = ".join(command)]
