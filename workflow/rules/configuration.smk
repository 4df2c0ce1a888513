"""Configuration: read and checked."""

import json
import os
import re
import shlex
import sys
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import yaml

from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

# the methods of each mode, and how their files' names begin
METHODS = {
    "candidates": ["candidates"],
    "sites": ["sites"],
    "both": ["candidates", "sites"],
}
PREFIXES = {"candidates": "", "sites": "site_", "proteins": "protein_"}
FORMATS = ["gff3", "bed", "bam"]
# SAM and BAM hold no proteins; the text shows the alignments
PROTEIN_FORMATS = ["gff3", "bed", "txt"]
TRANSLATED = "translated"
# the site model that is chosen by a first pass
AUTO = "auto"
# keys of the configuration that go with a provider; those without take the sheet's files
PROVIDER_KEYS = {
    "builtin": ("model", "min_score", "min_probability"),
    "genscan": ("program", "min_probability", "matrix"),
    "augustus": ("program", "min_probability", "species", "samples"),
    "genscan-report": (),
    "file": (),
}
# keys that mean something only beside another one of their section, which has a value
NEEDS = {
    "sites.incomplete": "coding",
    "annotation.coding": "cdnas",
    "annotation.stranded": "cdnas",
    "annotation.end_cost": "cdnas",
    "annotation.junction_weight": "junctions",
    "annotation.splice_weight": "splice_scores",
    "annotation.splice_only": "splice_scores",
    "lift.min_copy_identity": "copies",
}
# what rules/segments.smk looks for
SEGMENTS = ("cpg_islands", "gc_rich_regions", "hydrophobic_segments")


class InputError(WorkflowError):
    """Something wrong in the configuration or the sheet."""

    # Snakemake would add the lines of the rules that found it, which say nothing to a user
    __traceback__ = None


# what YAML 1.1 takes for text: 1e-3, and the numbers within braces after --config
WRITTEN_NUMBER = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")


def read_numbers(data, schema):
    """Turn the texts of numbers into numbers, for the keys that hold numbers."""
    for key, part in schema.get("properties", {}).items():
        value, types = data.get(key), part.get("type", ())
        if isinstance(value, dict):
            read_numbers(value, part)
        elif isinstance(value, str) and WRITTEN_NUMBER.fullmatch(value):
            if "number" in types or "integer" in types:
                number = float(value)
                exact = int(value) if value.lstrip("+-").isdecimal() else number
                data[key] = int(exact) if number.is_integer() else exact


def check(data, schema, place):
    """Validate and fill in defaults; an error becomes one line that begins with place(path)."""
    with open(workflow.source_path(schema), encoding="utf-8") as stream:
        read_numbers(data, yaml.safe_load(stream))
    try:
        validate(data, schema)
    except WorkflowError as error:
        cause = error.__context__
        if not hasattr(cause, "absolute_path"):
            raise
        raise InputError(f"{place(list(cause.absolute_path))}: {problem(cause)}") from None


def problem(cause):
    """Say what a schema forbids and what it wants."""
    known = ", ".join(cause.schema.get("properties", {}))
    if cause.validator == "additionalProperties":
        unknown = [key for key in cause.instance if key not in cause.schema["properties"]]
        named = ", ".join(map(repr, unknown))
        return f"unknown key {named}{alike(unknown[0], known.split(', '))}; expected one of {known}"
    if cause.validator == "required":
        missing = [key for key in cause.validator_value if key not in cause.instance]
        return f"no value for {', '.join(missing)}; expected {', '.join(cause.validator_value)}"
    if cause.validator == "minItems":
        return f"nothing there; expected {expected(cause)}"
    return f"{cause.instance!r} is wrong; expected {expected(cause)}"


def alike(name, known):
    """Return a question that stands behind an unknown name, or nothing if no name is alike."""
    found = get_close_matches(str(name), known, n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""


def expected(cause):
    if cause.validator == "enum":
        values = ["no value" if one is None else str(one) for one in cause.validator_value]
        return f"one of {', '.join(values)}"
    return cause.schema.get("expected", f"{cause.validator} {cause.validator_value}")


def config_place(path):
    return f"configuration, {'.'.join(map(str, path))}" if path else "configuration"


def check_provider():
    """What is configured must be the provider's to take, and what it needs must be there."""
    values = {key: value for key, value in config["exons"].items() if value is not None}
    provider = values.pop("provider")
    for key in values:
        if key not in PROVIDER_KEYS[provider]:
            keys = ", ".join(PROVIDER_KEYS[provider]) or "no other key"
            raise InputError(
                f"configuration, exons.{key}: not for provider {provider}; expected {keys}"
            )
    if provider == "genscan" and "matrix" not in values:
        raise InputError(
            "configuration, exons.matrix: no value; expected GENSCAN's parameter matrix, "
            "a file such as HumanIso.smat"
        )


def is_given(value):
    """Tell whether a key has a value; a weight or cost of 0 is one."""
    return not (value is None or value is False)


def check_needs():
    """A key that goes with another one must not be given alone."""
    for key, needed in NEEDS.items():
        section, name = key.split(".")
        own = config[section]
        if is_given(own[name]) and not own[needed]:
            raise InputError(f"configuration, {key}: no value of {needed}, with which it goes")
    sites = config["sites"]
    if sites["target_introns"] and (sites["confidence"] or sites["min_confidence"]):
        raise InputError("configuration, sites.target_introns: it goes without confidences")


def check_models():
    """Models and matrices must be there, under their names or as files."""
    try:
        from gpu_tools import errors
        from gpu_tools.exons.model import load_model
        from gpu_tools.formats.scales import load_matrix
        from gpu_tools.sites.model import load_sites
    except ImportError:  # jobs have an environment of their own, and check the models themselves
        return
    wanted = {
        "exons.model": load_model if "candidates" in methods() else None,
        "sites.model": None if methods() == ["candidates"] else load_sites,
        "proteins.matrix": load_matrix if config["proteins"]["source"] else None,
        "annotation.site_model": load_sites if config["annotation"]["genome"] else None,
        "annotation.matrix": load_matrix if config["annotation"]["genome"] else None,
        "lift.site_model": load_sites if config["lift"]["genome"] else None,
    }
    for key, load in wanted.items():
        section, name = key.split(".")
        value = config[section][name]
        if load and value not in (None, AUTO):
            try:
                load(value)
            except errors.InputError as error:
                raise InputError(f"configuration, {key}: {error}") from None


def installed_version():
    """Return gpu-tools' version: a parameter of every rule, so that a new one reruns them."""
    try:
        return version("gpu-tools")
    except PackageNotFoundError:  # its environment may be another one than Snakemake's
        return "unknown"


def tell_source():
    """Name the checkout that this file lies in to the scripts that set up conda environments."""
    checkout = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
    if (checkout / "gpu_tools").is_dir():
        os.environ.setdefault("GPU_TOOLS_SOURCE", str(checkout))


def methods():
    """Return the configured methods."""
    proteins = ["proteins"] if config["proteins"]["source"] else []
    return METHODS[config["mode"]] + proteins


def prefixes():
    """Return how the names of the configured methods' files begin."""
    return [PREFIXES[method] for method in methods()]


def site_options():
    """Return the options of site mode: its own, and what both methods share."""
    others = ("junction_weight", "splice_weight", "splice_only", "target_introns")
    own = {key: value for key, value in config["sites"].items() if key not in others}
    shared = ("match", "mismatch", "gap", "ends")
    options = configured_model(own.pop("model")) | own
    return options | {name: config["scoring"][name] for name in shared}


def protein_options():
    """Return the options of proteins: their own, and the model of the sites."""
    files = ("source", "target_introns")
    own = {key: value for key, value in config["proteins"].items() if key not in files}
    shared = {key: config["sites"][key] for key in ("model", "min_intron")}
    return own | configured_model(shared.pop("model")) | shared


def configured_model(name):
    """Return a site model as an option, nothing if it is chosen."""
    return {} if name == AUTO else {"site_model": name}


def chosen_sites():
    """Return the site model of the sheet's cases that is chosen, nothing if one is configured."""
    chosen = config["sites"]["model"] == AUTO
    return {"site_model": "<results>/site_model.json"} if chosen else {}


def shown_site_model():
    """Return the site model that the report names, nothing if none is or it is chosen."""
    used = methods() != ["candidates"]
    return configured_model(config["sites"]["model"]) if used else {}


def limits_of_methods():
    """Return what is accepted by each method, as JSON."""
    sections = {"candidates": "scoring"}
    return json.dumps({
        method: {
            key: config[sections.get(method, method)].get(key)
            for key in ("max_evalue", "min_identity", "min_coverage", "min_confidence")
        }
        for method in methods()
    })  # fmt: skip


def configured():
    """Return the keys of the configuration that are not as by default, in a line."""
    default = {}
    check(default, "../schemas/config.schema.yaml", config_place)
    return ", ".join(differences(config, default))


def differences(values, default, prefix=""):
    """Yield the keys of a section that are not as by default, with their values."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from differences(value, default.get(key) or {}, f"{prefix}{key}.")
        elif value != default.get(key):
            yield f"{prefix}{key}: {value if isinstance(value, str) else json.dumps(value)}"


def protein_files():
    """Return the FASTA file of the targets' proteins, none if the targets are translated."""
    source = config["proteins"]["source"]
    return [] if source in (None, TRANSLATED) else [source]


def n_gpus():
    """Return how many GPUs an alignment job holds; under auto one, in case there is one."""
    return 0 if config["device"] == "cpu" else config["device"].count(",") + 1


def segment_limits(name):
    """Return what segments must have at least, as options of max-segments."""
    return {key: config["segments"][name][key] for key in ("min_score", "min_length")}


check(config, "../schemas/config.schema.yaml", config_place)
check_provider()
check_needs()
if workflow.is_main_process:  # jobs read the rules, too
    check_models()
    tell_source()
    os.environ.update(GPU_TOOLS_WORKFLOW=shlex.join(["snakemake", *sys.argv[1:]]))
VERSION = installed_version()
