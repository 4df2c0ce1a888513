"""What the text of a source means."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gpu_tools.errors import InputError

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
_LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")


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
                    f"{without_login(text)!r} ends before it starts", expected="START-END"
                )
            return source
    raise InputError(f"{without_login(text)!r} is no source", expected=FORMS)


def without_login(text: str) -> str:
    """Return a text with its addresses, but without the user and the password in them."""
    return _LOGIN.sub("", text)


def _without_checksum(text: str) -> tuple[str, tuple[str, str] | None]:
    match = _CHECKSUM.search(text)
    if not match:
        return text, None
    digits = _DIGITS[match["method"]]
    if len(match["sum"]) != digits:
        raise InputError(
            f"{without_login(text)!r} has a checksum of {len(match['sum'])} digits",
            expected=f"{digits} hexadecimal digits for {match['method']}",
        )
    return text[: match.start()], (match["method"], match["sum"].lower())
