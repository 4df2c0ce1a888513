"""What an annotation depends on besides genome, targets and their scores."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gpu_tools.hardware.device import resolve
from gpu_tools.model.acceptance import Acceptance
from gpu_tools.model.results import FRAMESHIFTS, KEEP, ProteinAlignment, SplicedAlignment

if TYPE_CHECKING:
    from gpu_tools.sites.model import GeneSites

SEARCHES = ("seeded", "exhaustive")
Alignment = SplicedAlignment | ProteinAlignment
MOST_INTRON = 100_000
"""Nucleotides of the longest intron of a gene, by default."""
USUAL_BATCH, LARGE_BATCH = 100, 1000
BATCHES_A_THREAD = 4
"""Batches that each thread of several gets, at least, so that all have work to the end."""
_PAID = 10
_OF_GENES = "isoforms", "frameshifts", "confidence", "min_confidence", "batch"
"""Options on which hits do not depend."""


def longest_intron_of(sites: GeneSites) -> int:
    """Return the longest intron of genes that a site model describes: `MOST_INTRON` at most.

    It is the longest one that costs 10 points more than a short one, as the model's penalties rise.
    """
    lines = [line for kind in sites.introns for line in kind.rising]
    lengths = (every * (_PAID - first) for first, every in lines)
    return min(max(lengths, default=MOST_INTRON), MOST_INTRON)


@dataclass(frozen=True)
class AnnotationOptions:
    """How genes are searched for, which hits are accepted, and which structures are isoforms.

    Parameters
    ----------
    search : {"seeded", "exhaustive"}
        Windows around shared words, or the whole genome in tiles.
    max_intron : int
        Longest intron of a gene, in nucleotides; see `longest_intron_of`.
    max_evalue : float
        Largest E-value of a hit, see `gpu_tools.with_evalues`; the search space is the genome.
    min_identity : float
        Smallest identity of a hit, 0 to 1.
    min_coverage : float
        Smallest aligned part of the target, 0 to 1, of a hit that makes or supports a gene; see
        `gpu_tools.model.acceptance.Acceptance`.
    longest_gene : int
        Exhaustive: tiles overlap by so many nucleotides. A longer gene may be found in parts.
    isoforms : bool
        Whether genes may have several structures.
    frameshifts : {"keep", "split", "drop"}
        ``split``: the nucleotides of frameshifts belong to no coding sequence, which then reads in
        one frame; ``drop``: hits with frameshifts or stop codons inside make and support no gene.
    confidence : bool
        Whether introns and exons of genes have confidences, see `gpu_tools.with_confidence`.
    min_confidence : int
        Least confidence of the introns of a structure; above 0 there are confidences, too.
    batch : int, optional
        Targets of a batch; the result does not depend on it. Without it, `LARGE_BATCH` on a GPU,
        else `USUAL_BATCH`, or fewer if that leaves threads without work.
    """

    search: str = "seeded"
    max_intron: int = MOST_INTRON
    max_evalue: float = Acceptance.max_evalue
    min_identity: float = Acceptance.min_identity
    min_coverage: float = Acceptance.min_coverage
    longest_gene: int = 200_000
    isoforms: bool = True
    frameshifts: str = KEEP
    confidence: bool = False
    min_confidence: int = 0
    batch: int | None = None

    def __post_init__(self):
        if self.search not in SEARCHES:
            raise ValueError(f"search {self.search!r}; expected one of {', '.join(SEARCHES)}")
        if self.frameshifts not in FRAMESHIFTS:
            expected = ", ".join(FRAMESHIFTS)
            raise ValueError(f"frameshifts {self.frameshifts!r}; expected one of {expected}")
        for name in ("max_intron", "longest_gene", "batch"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} {value}; expected at least 1")

    @property
    def acceptance(self) -> Acceptance:
        """Which alignments are hits, and which of these make genes."""
        return Acceptance(self.max_evalue, self.min_identity, self.min_coverage)

    def is_hit(self, alignment: Alignment) -> bool:
        """Return whether an alignment with an E-value is a hit."""
        return self.acceptance.is_credible(alignment)

    def batch_on(self, device: str, threads: int, targets: int) -> int:
        """Return the targets of a batch, of so many, on a device or a CPU's threads."""
        if self.batch or resolve(device).kind != "cpu":
            return self.batch or LARGE_BATCH
        every = -(-targets // (BATCHES_A_THREAD * threads)) if threads > 1 else targets
        return max(min(every, USUAL_BATCH), 1)

    def of_hits(self) -> dict:
        """Return by name what the hits of a batch depend on."""
        return {name: value for name, value in asdict(self).items()
                if name not in _OF_GENES}  # fmt: skip
