"""Small input files of every kind, and random damage to them."""

import bz2
import gzip
import io
import lzma
import random
import re

import numpy as np

from gpu_tools.model.resources import resource_path

_rng = np.random.default_rng(3)


def _dna(n: int) -> str:
    return "".join("ACGT"[k] for k in _rng.integers(0, 4, n))


def _npy(array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


_EXONS = ((201, 260), (501, 590), (901, 960))
_GENE = "ATG" + "GCT" * 19, "GAA" * 29 + "TAA"
_BASE = _dna(200) + f"{_GENE[0]}GTAAGT{_dna(228)}TTGCAG{_GENE[1]}" + _dna(910)
_REPORT = """GENSCAN 1.0\tDate run: 1-Jan-2000\tTime: 10:00:00

Sequence chr1 : 1500 bp : 50.00% C+G : Isochore 2 (43 - 51 C+G%)

Parameter matrix: HumanIso.smat

Predicted genes/exons:

Gn.Ex Type S .Begin ...End .Len Fr Ph I/Ac Do/T CodRg P.... Tscr..
----- ---- - ------ ------ ---- -- -- ---- ---- ----- ----- ------

 1.01 Init +    201    260   60  0  0   50   60   100 0.900  10.00
 1.02 Term +    501    590   90  0  0   50   60   100 0.900  10.00

Predicted peptide sequence(s):

>chr1|GENSCAN_predicted_peptide_1|50_aa
MAAA
"""
_GTF = 'chr1\tx\texon\t{}\t{}\t.\t+\t.\tgene_id "g"; transcript_id "t";\n'
_CODONS = [a + b + c for a in "ACGT" for b in "ACGT" for c in "ACGT"]
_TEXTS = {
    "base.fa": f">chr1 a locus\n{_BASE}\n",
    "target.fa": f">t1\n{''.join(_GENE)}\n>t2\n{_GENE[1]}\n",
    "one.fa": ">o\nACGTTGCAACGT\n",
    "exons.tsv": "base\tstart\tend\tstrand\tscore\tprobability\ttype\n"
    + "".join(f"chr1\t{s}\t{e}\t+\t1.5\t0.5\tIntr\n" for s, e in _EXONS),
    "exons.bed": "".join(f"chr1\t{s - 1}\t{e}\tx\t5\t+\n" for s, e in _EXONS),
    "exons.gff3": "##gff-version 3\n"
    + "".join(f"chr1\tx\texon\t{s}\t{e}\t.\t+\t.\tID=e{s}\n" for s, e in _EXONS),
    "exons.gtf": "".join(_GTF.format(s, e) for s, e in _EXONS),
    "report.txt": _REPORT,
    "genes.gff3": "##gff-version 3\n"
    + "".join(f"chr1\tx\tCDS\t{s}\t{e}\t.\t+\t0\tID=c;Parent=m\n" for s, e in _EXONS[:2]),
    "genes.gtf": "".join(_GTF.replace("exon", "CDS").format(s, e) for s, e in _EXONS[:2]),
    "usage.tsv": "codon\tfrequency\n" + "".join(f"{c}\t{k}\n" for k, c in enumerate(_CODONS, 1)),
    "part.fa": f">chr1:101-700 record_length={len(_BASE)}\n{_BASE[100:700]}\n",
    "regions.bed": "chr1\t20\t500\nchr1\t100\t600\tx\n",
    "pairs.tsv": "base\ttarget\nchr1\tt1\nchr1\tt2\n",
    "patterns.fa": ">p1\nACGTN\n>p2\nRYACGGT\n",
    "words.txt": "abc\nde\n",
    "costs.tsv": "symbol\tcost\nA\t2\nT\t3\n",
    "costs.txt": "   A  C  G  T\nA  0  2  1  2\nC  2  0  2  1\nG  1  2  0  2\nT  2  1  2  0\n",
    "protein.fa": ">p\nMKVLAAGIVGLLLAQWERTYHPSDFGHKLCVNM\n>q\nMKVLAWGIVGLQWERTYHHPSDFGCVNM\n",
    "scale.tsv": "symbol\tscore\nA\t1\nC\t-1\nG\t-2\nT\t1.5\nN\t0\n",
    "values.txt": "1\n-2\n3.5\n4\n-1\n",
    "values.bedgraph": "track type=bedGraph\nchr1\t0\t5\t1.5\nchr1\t5\t9\t-2\n",
    "matrix.tsv": "1\t-2\t3\n4\t5\t-6\n",
}
FILES = {name: text.encode() for name, text in _TEXTS.items()} | {
    "base.fa.gz": gzip.compress(_TEXTS["base.fa"].encode(), mtime=0),
    "base.fa.xz": lzma.compress(_TEXTS["base.fa"].encode()),
    "exons.bed.bz2": bz2.compress(_TEXTS["exons.bed"].encode()),
    "odd.fa": b"\xef\xbb\xbf>t1 M\xfcller\r\n 1 acgtacgtac gtac\r\n>e\r\n>t1\r\nACGTACGTACGTAC\r\n",
    "bytes.bin": bytes(range(256)) * 4,
    "values.npy": _npy(_rng.integers(-9, 9, 50).astype(np.int32)),
    "matrix.npy": _npy(_rng.integers(-9, 9, (6, 7))),
    "sites.json": resource_path("models", "sites", "vertebrate.json").read_bytes(),
    "model.json": resource_path("models", "vertebrate.json").read_bytes(),
    "blosum.txt": resource_path("matrices", "BLOSUM62.txt").read_bytes(),
}
COMMANDS = [
    line.split()
    for line in """
spliced-align --base base.fa --exons exons.tsv --targets target.fa --alignments a.gff3
spliced-align --base base.fa.gz --exons exons.bed --targets target.fa --alignments a.bam
spliced-align --base base.fa --exons exons.gff3 --targets target.fa --pairs pairs.tsv --ends free
spliced-align --base base.fa --exons exons.gtf --targets target.fa --alignments a.paf
spliced-align --base base.fa --exons report.txt --targets target.fa --coding --alignments a.gtf
spliced-align --base base.fa --site-model sites.json --targets target.fa --alignments a.sam
spliced-align --base base.fa --exons exons.tsv --targets target.fa --region regions.bed
spliced-align --base part.fa --exons exons.bed --targets target.fa --alignments a.bam
spliced-align --base base.fa.xz --exons exons.bed.bz2 --targets odd.fa --region chr1:1-
exons predict --base base.fa --model model.json
exons predict --base base.fa --model model.json --region chr1:100- --region chr1:-700 --strict
exons compare --candidates genes.gff3 --truth exons.gtf --transcripts
exons convert report.txt --to tsv
exons convert exons.tsv --to gff3
exons convert exons.bed --to genscan
exons cut exons.tsv --base base.fa --record chr1
exons cut report.txt --base base.fa --record chr1 --kind report
exons cut genes.gff3 --base base.fa --record chr1 --kind annotation
exons compare --candidates exons.tsv --truth exons.gff3
exons compare --candidates exons.bed --truth genes.gff3
exons train --base base.fa --annotation genes.gff3 --codon-usage usage.tsv
sites train --genome base.fa --annotation genes.gff3 --report a.tsv
sites train --genome base.fa.gz --annotation genes.gtf --name small
sequences cut --fasta base.fa --locus 100-200 --flank 10
sequences translate --fasta target.fa
max-segments --sequence base.fa --scale scale.tsv --all --significance --bed a.bed
max-segments --values values.txt --all --gff3 a.gff3
max-segments --values values.npy
max-segments --values values.bedgraph --all
max-submatrix --matrix matrix.npy
max-submatrix --matrix matrix.tsv --all
max-submatrix --dot-plot base.fa one.fa
match-exact --patterns patterns.fa --text part.fa
match-exact --patterns patterns.fa --text base.fa --both-strands --bed a.bed
match-exact --patterns words.txt --text bytes.bin --alphabet bytes
match-approximate --patterns patterns.fa --text base.fa.gz --best --substitution-table costs.txt
match-approximate --patterns patterns.fa --text one.fa --best --insertion-costs costs.tsv
local-align --query target.fa --subject base.fa --k 3 --alignments a.sam --dot-plot a.svg
local-align --query protein.fa --subject protein.fa --matrix blosum.txt --alignments a.txt
global-align --query target.fa --subject target.fa --alignments a.paf
""".strip().splitlines()
]
_WORDS = (
    b"", b"0", b"-1", b"nan", b"inf", b"1e400", b"99999999999999999999", b"9223372036854775807",
    b"\xff\xfe", b"\x00", b"\t", b"\n", b"\r\n", b" ", b">", b"#", b"\xc3\xa9", b"null", b"{}",
    b"[]", b"true", b"1.5", b".", b"+", b"-", b'"', b"%",
)  # fmt: skip


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return a file's content with one or a few changes."""
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        change = rng.choice([_byte, _cut, _short, _double, _word, _word, _word, _lines, _ends])
        content = change(content or b"\n", rng)
    return content


def _byte(content: bytes, rng) -> bytes:
    k = rng.randrange(len(content))
    return content[:k] + bytes([rng.randrange(256)]) + content[k + 1 :]


def _span(content: bytes, rng) -> tuple[int, int]:
    first = rng.randrange(len(content))
    return first, first + rng.choice([1, 2, 5, 20, 200])


def _cut(content: bytes, rng) -> bytes:
    first, behind = _span(content, rng)
    return content[:first] + content[behind:]


def _short(content: bytes, rng) -> bytes:
    return content[: rng.randrange(len(content))]


def _double(content: bytes, rng) -> bytes:
    first, behind = _span(content, rng)
    return content[:behind] + content[first:]


def _word(content: bytes, rng) -> bytes:
    words = list(re.finditer(rb'[^\s,:;=\[\]{}"]+', content))
    if not words:
        return content
    first, behind = rng.choice(words).span()
    return content[:first] + rng.choice(_WORDS) + content[behind:]


def _lines(content: bytes, rng) -> bytes:
    lines = content.split(b"\n")
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return b"\n".join(lines)


def _ends(content: bytes, rng) -> bytes:
    return content.replace(*rng.choice([(b"\n", b"\r\n"), (b"\t", b" "), (b"\n", b"\r")]))
