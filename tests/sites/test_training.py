"""Training of site models."""

import json

from gpu_tools.model.resources import resource_path
from gpu_tools.sites.training import train_sites


def test_shipped_model_is_what_training_gives():
    from benchmarks.accuracy.cases import annotated_records

    shipped = json.loads(resource_path("models", "sites", "vertebrate.json").read_text())
    assert train_sites(annotated_records(), shipped["name"], shipped["source"]) == shipped
