"""NCBI's E-utilities and Ensembl's REST service: the requests that fetch a source."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from urllib.parse import quote

from gpu_tools.errors import FetchError
from gpu_tools.formats.sources.http import Client, Patience, Request
from gpu_tools.formats.sources.pace import Pace
from gpu_tools.formats.sources.source import Source

NCBI_URL = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
ENSEMBL_URL = "https://rest.ensembl.org"
NCBI_KEY = "NCBI_API_KEY"
# requests a second: NCBI's limits with and without a key; Ensembl allows 15
_NCBI_RATE, _NCBI_RATE_WITH_KEY, _ENSEMBL_RATE = 3, 10, 10
# without blanks: NCBI spells some of its messages with blanks between the letters
_NO_SUCH_ID = re.compile(
    "understandid|cannotprocessid|idparameterisempty|nothinghasbeenfound|invaliduid", re.IGNORECASE
)
_FASTA = "text/x-fasta"


@dataclass(frozen=True)
class Settings:
    """Where the services are, how patient to be, and the nucleotides to add around a gene."""

    ncbi_url: str = NCBI_URL
    ensembl_url: str = ENSEMBL_URL
    flank: int = 0
    patience: Patience = field(default_factory=Patience)


def client_of(source: Source, settings: Settings) -> Client:
    """Return a client that observes the limits of the source's service."""
    if source.kind == "url":
        return Client(settings.patience)
    if source.kind != "ncbi":
        return Client(settings.patience, Pace("ensembl", 1 / _ENSEMBL_RATE))
    rate = _NCBI_RATE_WITH_KEY if os.environ.get(NCBI_KEY) else _NCBI_RATE
    return Client(settings.patience, Pace("ncbi", 1 / rate))


def request_of(source: Source, settings: Settings, client: Client) -> Request:
    """Return the request whose answer is the source's FASTA; this may need requests to Ensembl."""
    return _REQUESTS[source.kind](source, settings, client)


def is_permanent(text: str) -> bool:
    """Tell whether a service's text says that there is no such sequence, now or later."""
    return bool(_NO_SUCH_ID.search("".join(text.split())))


def _ncbi(source: Source, settings: Settings, client: Client) -> Request:
    parameters = {
        "db": "nuccore", "id": source.fields["id"], "rettype": "fasta", "retmode": "text",
        "tool": "gpu-tools",
    }  # fmt: skip
    if source.length is not None:
        parameters |= {"seq_start": source.fields["start"], "seq_stop": source.fields["end"]}
    key = os.environ.get(NCBI_KEY)
    return Request(
        f"{settings.ncbi_url.rstrip('/')}/efetch.fcgi", parameters,
        secrets={"api_key": key} if key else {},
    )  # fmt: skip


def _region(source: Source, settings: Settings, client: Client) -> Request:
    fields = source.fields
    strand = -1 if fields.get("strand") == "-" else 1
    region = f"{fields['name']}:{fields['start']}..{fields['end']}:{strand}"
    return _ensembl(settings, f"sequence/region/{fields['species']}/{region}", accept=_FASTA)


def _gene(source: Source, settings: Settings, client: Client) -> Request:
    flanks = {"expand_5prime": str(settings.flank), "expand_3prime": str(settings.flank)}
    return _ensembl(
        settings, f"sequence/id/{source.fields['id']}",
        {"type": "genomic", **(flanks if settings.flank else {})}, accept=_FASTA,
    )  # fmt: skip


def _cdna(source: Source, settings: Settings, client: Client) -> Request:
    return _cdna_of(source.fields["id"], settings, client)


def _homologue(source: Source, settings: Settings, client: Client) -> Request:
    """Ask for the orthologue's canonical cDNA: of several, of the one most like the gene."""
    gene, species = source.fields["id"], source.fields["species"]
    gene_species = _lookup(gene, settings, client)["species"]
    found = client.json(_ensembl(
        settings, f"homology/id/{gene_species}/{_unversioned(gene)}",
        {"target_species": species, "type": "orthologues", "sequence": "none"},
    ))  # fmt: skip
    try:
        targets = [h["target"] for entry in found["data"] for h in entry["homologies"]]
        names = [(-float(target["perc_id"]), str(target["id"])) for target in targets]
    except (LookupError, TypeError, ValueError):
        raise FetchError(f"Ensembl has no usable list of orthologues of {gene}") from None
    if not names:
        raise FetchError(f"Ensembl knows no orthologue of {gene} in {species}")
    return _cdna_of(min(names)[1], settings, client)


def _cdna_of(name: str, settings: Settings, client: Client) -> Request:
    found = _lookup(name, settings, client)
    if found["object_type"] == "Gene":
        name = _unversioned(str(found.get("canonical_transcript")))
    return _ensembl(settings, f"sequence/id/{name}", {"type": "cdna"}, accept=_FASTA)


def _lookup(name: str, settings: Settings, client: Client) -> dict:
    found = client.json(_ensembl(settings, f"lookup/id/{_unversioned(name)}"))
    if not isinstance(found, dict) or not {"object_type", "species"} <= found.keys():
        raise FetchError(f"Ensembl has no usable entry of {name}")
    return found


def _unversioned(name: str) -> str:
    return re.sub(r"(?<=\d)\.\d+$", "", name)


def _ensembl(
    settings: Settings, path: str, parameters=None, accept: str = "application/json"
) -> Request:
    url = f"{settings.ensembl_url.rstrip('/')}/{quote(path, safe='/:')}"
    return Request(url, parameters or {}, accept)


_REQUESTS = {
    "url": lambda source, *_: Request(source.fields["url"]), "ncbi": _ncbi, "region": _region,
    "gene": _gene, "cdna": _cdna, "homologue": _homologue,
}  # fmt: skip
