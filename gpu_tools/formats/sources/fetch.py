"""Fetching: what the text of a source means, and its sequences, checked, as indexed FASTA.

A source is a file, a URL, or a request to NCBI's E-utilities or to Ensembl's REST service.
"""

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
from gpu_tools.formats.sources import http
from gpu_tools.model.sequences import Sequence

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
_MANY = ("url", "file")
"""Kinds of sources that may hold several records."""
_HEAD = 1 << 10
_PAGE = re.compile(rb"\s*(<!doctype html|<html|<head|<body)", re.IGNORECASE)
FORMS = (
    "a file, an http or https address, ncbi:ACCESSION[:START-END], "
    "ensembl:region:SPECIES:NAME:START-END[:STRAND], ensembl:gene:ID, ensembl:cdna:ID or "
    "ensembl:homologue:ID:SPECIES, each with #sha256=SUM or #md5=SUM behind it if it is known"
)
_ID = r"(?P<id>[A-Za-z0-9][A-Za-z0-9_.-]*)"
_SPECIES = r"(?P<species>[a-z][a-z0-9_]*)"
_INTERVAL = r"(?P<start>[1-9][0-9]{0,17})-(?P<end>[1-9][0-9]{0,17})"
_KINDS = {
    "ncbi": re.compile(rf"ncbi:{_ID}(:{_INTERVAL})?"),
    "region": re.compile(
        rf"ensembl:region:{_SPECIES}:(?P<name>[^:/\s]+):{_INTERVAL}(:(?P<strand>[+-]))?"
    ),
    "gene": re.compile(rf"ensembl:gene:{_ID}"),
    "cdna": re.compile(rf"ensembl:cdna:{_ID}"),
    "homologue": re.compile(rf"ensembl:homologue:{_ID}:{_SPECIES}"),
    "url": re.compile(r"(?P<url>https?://\S+)"),
    "file": re.compile(r"(?P<path>(?!(ncbi|ensembl|\w+:/)[:/]).+)"),
}
_CHECKSUM = re.compile(r"#(?P<method>sha256|md5)=(?P<sum>[0-9A-Fa-f]*)$")
_DIGITS = {"sha256": 64, "md5": 32}


@dataclass(frozen=True)
class Source:
    """A source of one or more sequences.

    `kind` is ncbi, region, gene, cdna, homologue, url or file; `fields` holds the parts of the
    text by name, positions 1-based and inclusive; `checksum` is (method, hexadecimal sum) of the
    bytes that the source gives, or None.
    """

    text: str
    kind: str
    fields: dict[str, str] = field(hash=False)
    checksum: tuple[str, str] | None = None

    @property
    def length(self) -> int | None:
        """Symbols that the text itself promises, None if it does not say."""
        if "start" not in self.fields:
            return None
        return int(self.fields["end"]) - int(self.fields["start"]) + 1


def parse_source(text: str) -> Source:
    """Read the text of a source: one of `FORMS`, with 1-based inclusive positions."""
    address, checksum = _without_checksum(text)
    for kind, pattern in _KINDS.items():
        match = pattern.fullmatch(address)
        if match:
            fields = {name: value for name, value in match.groupdict().items() if value}
            source = Source(address, kind, fields, checksum)
            if source.length is not None and source.length < 1:
                raise InputError(
                    f"{http.without_login(text)!r} ends before it starts", expected="START-END"
                )
            return source
    raise InputError(f"{http.without_login(text)!r} is no source", expected=FORMS)


def _without_checksum(text: str) -> tuple[str, tuple[str, str] | None]:
    match = _CHECKSUM.search(text)
    if not match:
        return text, None
    digits = _DIGITS[match["method"]]
    if len(match["sum"]) != digits:
        raise InputError(
            f"{http.without_login(text)!r} has a checksum of {len(match['sum'])} digits",
            expected=f"{digits} hexadecimal digits for {match['method']}",
        )
    return text[: match.start()], (match["method"], match["sum"].lower())


@dataclass(frozen=True)
class Settings:
    """Where the services are, how patient to be, and the nucleotides to add around a gene."""

    ncbi_url: str = NCBI_URL
    ensembl_url: str = ENSEMBL_URL
    flank: int = 0
    patience: http.Patience = field(default_factory=http.Patience)


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
    identity the one whose identifier comes first. Wait times are in `http.Patience`; NCBI gets
    three requests a second at most, ten with a key in ``NCBI_API_KEY``.
    """
    source, settings = parse_source(text), settings or Settings()
    check_writable(output)
    if source.kind == "file":
        return _written(source, text, source.fields["path"], Path(source.fields["path"]), output)
    client = client_of(source, settings)
    request = _REQUESTS[source.kind](source, settings, client)
    with http.partial_file(output) as part:
        client.download(request, part, lambda path: _check(path, source, request))
        return _written(source, http.without_login(text), request.address, part.path, output)


def _check(path: Path, source: Source, request: http.Request) -> None:
    """Raise an error unless the file is the source's complete answer to a request."""
    problem = _no_fasta(path, request)
    if problem:
        permanent = source.kind in _MANY or bool(_NO_SUCH_ID.search("".join(problem.split())))
        raise FetchError(problem) if permanent else http.TemporaryError(problem)
    if source.kind not in _MANY:
        _check_record(path, source)


def _no_fasta(path: Path, request: http.Request) -> str | None:
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
    return f"{what} instead of FASTA: {http.shown(head)}"


def _check_record(path: Path, source: Source) -> None:
    """Check a service's one record; it may stop in the middle and write an error there."""
    try:
        lengths = [len(record) for record in iterate_fasta(path)]
    except InputError as error:
        raise http.TemporaryError(f"broken FASTA (line {error.line}: {error.problem})") from None
    if len(lengths) != 1:
        raise http.TemporaryError(f"{len(lengths)} records; expected one")
    if source.length is not None and lengths[0] != source.length:
        raise http.TemporaryError(f"{lengths[0]} symbols; expected {source.length}")


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


# Requests to the services: what each kind of source asks for.


def client_of(source: Source, settings: Settings) -> http.Client:
    """Return a client that observes the limits of the source's service."""
    if source.kind == "url":
        return http.Client(settings.patience)
    if source.kind != "ncbi":
        return http.Client(settings.patience, http.Pace("ensembl", 1 / _ENSEMBL_RATE))
    rate = _NCBI_RATE_WITH_KEY if os.environ.get(NCBI_KEY) else _NCBI_RATE
    return http.Client(settings.patience, http.Pace("ncbi", 1 / rate))


def _ncbi(source: Source, settings: Settings, client: http.Client) -> http.Request:
    parameters = {
        "db": "nuccore", "id": source.fields["id"], "rettype": "fasta", "retmode": "text",
        "tool": "gpu-tools",
    }  # fmt: skip
    if source.length is not None:
        parameters |= {"seq_start": source.fields["start"], "seq_stop": source.fields["end"]}
    key = os.environ.get(NCBI_KEY)
    return http.Request(
        f"{settings.ncbi_url.rstrip('/')}/efetch.fcgi", parameters,
        secrets={"api_key": key} if key else {},
    )  # fmt: skip


def _region(source: Source, settings: Settings, client: http.Client) -> http.Request:
    fields = source.fields
    strand = -1 if fields.get("strand") == "-" else 1
    region = f"{fields['name']}:{fields['start']}..{fields['end']}:{strand}"
    return _ensembl(settings, f"sequence/region/{fields['species']}/{region}", accept=_FASTA)


def _gene(source: Source, settings: Settings, client: http.Client) -> http.Request:
    flanks = {"expand_5prime": str(settings.flank), "expand_3prime": str(settings.flank)}
    return _ensembl(
        settings, f"sequence/id/{source.fields['id']}",
        {"type": "genomic", **(flanks if settings.flank else {})}, accept=_FASTA,
    )  # fmt: skip


def _cdna(source: Source, settings: Settings, client: http.Client) -> http.Request:
    return _cdna_of(source.fields["id"], settings, client)


def _homologue(source: Source, settings: Settings, client: http.Client) -> http.Request:
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


def _cdna_of(name: str, settings: Settings, client: http.Client) -> http.Request:
    found = _lookup(name, settings, client)
    if found["object_type"] == "Gene":
        name = _unversioned(str(found.get("canonical_transcript")))
    return _ensembl(settings, f"sequence/id/{name}", {"type": "cdna"}, accept=_FASTA)


def _lookup(name: str, settings: Settings, client: http.Client) -> dict:
    found = client.json(_ensembl(settings, f"lookup/id/{_unversioned(name)}"))
    if not isinstance(found, dict) or not {"object_type", "species"} <= found.keys():
        raise FetchError(f"Ensembl has no usable entry of {name}")
    return found


def _unversioned(name: str) -> str:
    return re.sub(r"(?<=\d)\.\d+$", "", name)


def _ensembl(
    settings: Settings, path: str, parameters=None, accept: str = "application/json"
) -> http.Request:
    url = f"{settings.ensembl_url.rstrip('/')}/{quote(path, safe='/:')}"
    return http.Request(url, parameters or {}, accept)


_REQUESTS = {
    "url": lambda source, *_: http.Request(source.fields["url"]), "ncbi": _ncbi, "region": _region,
    "gene": _gene, "cdna": _cdna, "homologue": _homologue,
}  # fmt: skip
