"""Fetching: gets the sequences of a source, checks them, and writes them as indexed FASTA."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from gpu_tools.errors import FetchError, InputError
from gpu_tools.formats.files import check_writable, open_binary, open_raw
from gpu_tools.formats.sequences.fasta import iterate_fasta, write_fasta
from gpu_tools.formats.sources.http import (
    Client,
    Pace,
    Patience,
    Request,
    TemporaryError,
    partial_file,
    shown,
)
from gpu_tools.formats.sources.source import Source, parse_source, without_login
from gpu_tools.model.sequences import Sequence

# NCBI's E-utilities and Ensembl's REST service: the requests that fetch a source.


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


_MANY = ("url", "file")  # kinds that may hold several records
_HEAD = 1 << 10
_PAGE = re.compile(rb"\s*(<!doctype html|<html|<head|<body)", re.IGNORECASE)


@dataclass(frozen=True)
class Provenance:
    """What was fetched.

    `source` is the text of the source and `address` the file or URL, both without keys and
    passwords; `retrieved` the time in UTC; `size` the bytes received and `sha256` their sum;
    `records` and `symbols` what they hold.
    """

    source: str
    address: str
    retrieved: str
    size: int
    sha256: str
    records: int
    symbols: int


def fetch(text: str, output: str | os.PathLike, settings: Settings | None = None) -> Provenance:
    """Get the sequences of a source and write them as FASTA.

    Of several orthologues in the species the one with the highest identity is fetched; on equal
    identity the one whose identifier comes first. Wait times are in `Patience`; NCBI gets
    three requests a second at most, ten with a key in ``NCBI_API_KEY``.
    """
    source, settings = parse_source(text), settings or Settings()
    check_writable(output)
    if source.kind == "file":
        return _written(source, text, source.fields["path"], Path(source.fields["path"]), output)
    client = client_of(source, settings)
    request = request_of(source, settings, client)
    with partial_file(output) as part:
        client.download(request, part, lambda path: check(path, source, request))
        return _written(source, without_login(text), request.address, part.path, output)


def check(path: Path, source: Source, request: Request) -> None:
    """Raise an error unless the file is the source's complete answer to a request."""
    problem = _no_fasta(path, request)
    if problem:
        permanent = source.kind in _MANY or is_permanent(problem)
        raise FetchError(problem) if permanent else TemporaryError(problem)
    if source.kind not in _MANY:
        _check_record(path, source)


def _no_fasta(path: Path, request: Request) -> str | None:
    try:
        with open_binary(path) as stream:
            head = request.hide(stream.read(_HEAD))
    except InputError as error:
        return error.problem
    if head.lstrip()[:1] in (b">", b"@"):  # FASTA or FASTQ
        return None
    if not head.strip():
        return "an empty answer instead of FASTA"
    what = "an HTML page" if _PAGE.match(head) else "a text"
    return f"{what} instead of FASTA: {shown(head)}"


def _check_record(path: Path, source: Source) -> None:
    """Check a service's one record; it may stop in the middle and write an error there."""
    try:
        lengths = [len(record) for record in iterate_fasta(path)]
    except InputError as error:
        raise TemporaryError(f"broken FASTA (line {error.line}: {error.problem})") from None
    if len(lengths) != 1:
        raise TemporaryError(f"{len(lengths)} records; expected one")
    if source.length is not None and lengths[0] != source.length:
        raise TemporaryError(f"{lengths[0]} symbols; expected {source.length}")


def _written(source: Source, text: str, address: str, path: Path, output) -> Provenance:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    sha256 = _digest(path, "sha256")
    _check_sum(source, address, path)
    lengths: list[int] = []

    def counted() -> Iterator[Sequence]:
        for sequence in iterate_fasta(path):
            lengths.append(len(sequence))
            yield sequence

    try:
        write_fasta(output, counted())
    except InputError as error:
        error.path = None
        raise error.located(path=address) from None
    size = path.stat().st_size
    return Provenance(text, address, now, size, sha256, len(lengths), sum(lengths))


def _check_sum(source: Source, address: str, path: Path) -> None:
    method, expected = source.checksum or (None, None)
    if method and (found := _digest(path, method)) != expected:
        raise FetchError(f"{address}: {method} is {found}; expected {expected}")


def _digest(path: Path, method: str) -> str:
    try:
        with open_raw(path) as stream:
            return hashlib.file_digest(stream, method).hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path) from None
