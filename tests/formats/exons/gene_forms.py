"""One invented pair of genes as each common source of annotations writes it.

The coding gene has three exons, 101-200, 301-400 and 501-600 on ``+``, and is read from 151 to 560;
the non-coding one has two, 801-850 and 901-1000 on ``-``.
"""

EXONS = ((100, 200), (300, 400), (500, 600))
CODING = ((150, 200, 0), (300, 400, 1), (500, 560, 0))
NONCODING = ((800, 850), (900, 1000))


def _lines(record: str, source: str, rows: str) -> str:
    """Return lines of GFF from rows of type, start, end, strand, phase and attributes."""
    out = []
    for row in rows.strip().splitlines():
        type, start, end, strand, phase, attributes = row.split(None, 5)
        fields = record, source, type, start, end, ".", strand, phase, attributes
        out.append("\t".join(fields) + "\n")
    return "".join(out)


_HEAD = "##gff-version 3\n"
ENSEMBL = _HEAD + "##sequence-region 1 1 1500\n" + _lines("1", "ensembl", """
gene 101 600 + . ID=gene:ENSX1;Name=ABC1;biotype=protein_coding;description=made up%2C of no use [Source:none];gene_id=ENSX1;version=2
mRNA 101 600 + . ID=transcript:ENSXT1;Parent=gene:ENSX1;Name=ABC1-201;biotype=protein_coding;tag=basic,Ensembl_canonical;transcript_id=ENSXT1
five_prime_UTR 101 150 + . Parent=transcript:ENSXT1
exon 101 200 + . Parent=transcript:ENSXT1;Name=ENSXE1;constitutive=1;ensembl_end_phase=2;exon_id=ENSXE1;rank=1
CDS 151 200 + 0 ID=CDS:ENSXP1;Parent=transcript:ENSXT1;protein_id=ENSXP1
exon 301 400 + . Parent=transcript:ENSXT1;Name=ENSXE2;exon_id=ENSXE2;rank=2
CDS 301 400 + 1 ID=CDS:ENSXP1;Parent=transcript:ENSXT1;protein_id=ENSXP1
exon 501 600 + . Parent=transcript:ENSXT1;Name=ENSXE3;exon_id=ENSXE3;rank=3
CDS 501 560 + 0 ID=CDS:ENSXP1;Parent=transcript:ENSXT1;protein_id=ENSXP1
three_prime_UTR 561 600 + . Parent=transcript:ENSXT1
""") + "###\n" + _lines("1", "ensembl", """
ncRNA_gene 801 1000 - . ID=gene:ENSX2;Name=NC2;biotype=lncRNA;gene_id=ENSX2
lnc_RNA 801 1000 - . ID=transcript:ENSXT2;Parent=gene:ENSX2;biotype=lncRNA;transcript_id=ENSXT2
exon 801 850 - . Parent=transcript:ENSXT2;exon_id=ENSXE5;rank=2
exon 901 1000 - . Parent=transcript:ENSXT2;exon_id=ENSXE4;rank=1
""") + "###\n"  # fmt: skip  # noqa: E501

NCBI = _HEAD + "#!gff-spec-version 1.21\n##sequence-region 1 1 1500\n" + _lines("1", "RefSeq", """
region 1 1500 + . ID=1:1..1500;Dbxref=taxon:0;gbkey=Src;mol_type=genomic DNA
""") + _lines("1", "Gnomon", """
gene 101 600 + . ID=gene-ABC1;Dbxref=GeneID:1,HGNC:2;Name=ABC1;gbkey=Gene;gene=ABC1;gene_biotype=protein_coding
mRNA 101 600 + . ID=rna-XM_1.1;Parent=gene-ABC1;Dbxref=GeneID:1,GenBank:XM_1.1;Name=XM_1.1;gbkey=mRNA;product=made-up protein
exon 101 200 + . ID=exon-XM_1.1-1;Parent=rna-XM_1.1;gbkey=mRNA
exon 301 400 + . ID=exon-XM_1.1-2;Parent=rna-XM_1.1;gbkey=mRNA
exon 501 600 + . ID=exon-XM_1.1-3;Parent=rna-XM_1.1;gbkey=mRNA
CDS 151 200 + 0 ID=cds-XP_1.1;Parent=rna-XM_1.1;gbkey=CDS;protein_id=XP_1.1
CDS 301 400 + 1 ID=cds-XP_1.1;Parent=rna-XM_1.1;gbkey=CDS;protein_id=XP_1.1
CDS 501 560 + 0 ID=cds-XP_1.1;Parent=rna-XM_1.1;gbkey=CDS;protein_id=XP_1.1
pseudogene 801 1000 - . ID=gene-NC2;Name=NC2;gbkey=Gene;gene_biotype=transcribed_pseudogene;pseudo=true
transcript 801 1000 - . ID=rna-XR_2.1;Parent=gene-NC2;gbkey=misc_RNA;pseudo=true
exon 901 1000 - . ID=exon-XR_2.1-1;Parent=rna-XR_2.1;gbkey=misc_RNA;pseudo=true
exon 801 850 - . ID=exon-XR_2.1-2;Parent=rna-XR_2.1;gbkey=misc_RNA;pseudo=true
""")  # fmt: skip  # noqa: E501

FLYBASE = _HEAD + _lines("1", "FlyBase", """
gene 101 600 + . ID=FBgn1;Name=abc;fullname=made up;Alias=x,y
mRNA 101 600 + . ID=FBtr1;Name=abc-RA;Parent=FBgn1;score_text=Strongly Supported
mRNA 101 600 + . ID=FBtr2;Name=abc-RB;Parent=FBgn1;score_text=Weakly Supported
five_prime_UTR 101 150 + . ID=five_prime_UTR_FBgn1:1;Parent=FBtr1,FBtr2
exon 101 200 + . ID=FBgn1:1;Name=abc:1;Parent=FBtr1,FBtr2;parent_type=mRNA
CDS 151 200 + 0 ID=CDS_FBgn1:1;Name=abc-cds;Parent=FBtr1,FBtr2;parent_type=mRNA
intron 201 300 + . ID=intron_FBgn1:1;Name=abc-in;Parent=FBtr1,FBtr2
exon 301 400 + . ID=FBgn1:2;Name=abc:2;Parent=FBtr1,FBtr2;parent_type=mRNA
CDS 301 400 + 1 ID=CDS_FBgn1:2;Name=abc-cds;Parent=FBtr1,FBtr2;parent_type=mRNA
intron 401 500 + . ID=intron_FBgn1:2;Name=abc-in;Parent=FBtr1,FBtr2
exon 501 600 + . ID=FBgn1:3;Name=abc:3;Parent=FBtr1,FBtr2;parent_type=mRNA
CDS 501 560 + 0 ID=CDS_FBgn1:3;Name=abc-cds;Parent=FBtr1,FBtr2;parent_type=mRNA
three_prime_UTR 561 600 + . ID=three_prime_UTR_FBgn1:3;Parent=FBtr1,FBtr2
protein 151 560 + . ID=FBpp1;Name=abc-PA;Derives_from=FBtr1
gene 801 1000 - . ID=FBgn2;Name=CR2
ncRNA 801 1000 - . ID=FBtr3;Name=CR2-RA;Parent=FBgn2
exon 801 850 - . ID=FBgn2:2;Parent=FBtr3
exon 901 1000 - . ID=FBgn2:1;Parent=FBtr3
transposable_element_insertion_site 700 700 . . ID=FBti1
""")  # fmt: skip

WORMBASE = _HEAD + _lines("1", "WormBase", """
gene 101 600 + . ID=Gene:WBGene1;Name=WBGene1;locus=abc-1;biotype=protein_coding
mRNA 101 600 + . ID=Transcript:A1.1a.1;Parent=Gene:WBGene1;Name=A1.1a.1;locus=abc-1
exon 101 200 + . Parent=Transcript:A1.1a.1
mRNA 121 600 + . ID=Transcript:A1.1a.2;Parent=Gene:WBGene1;Name=A1.1a.2;locus=abc-1
exon 121 200 + . Parent=Transcript:A1.1a.2
CDS 151 200 + 0 ID=CDS:A1.1a;Parent=Transcript:A1.1a.1,Transcript:A1.1a.2;Name=A1.1a
exon 301 400 + . Parent=Transcript:A1.1a.1
exon 301 400 + . Parent=Transcript:A1.1a.2
CDS 301 400 + 1 ID=CDS:A1.1a;Parent=Transcript:A1.1a.1,Transcript:A1.1a.2;Name=A1.1a
exon 501 600 + . Parent=Transcript:A1.1a.1
exon 501 600 + . Parent=Transcript:A1.1a.2
CDS 501 560 + 0 ID=CDS:A1.1a;Parent=Transcript:A1.1a.1,Transcript:A1.1a.2;Name=A1.1a
gene 801 1000 - . ID=Gene:WBGene2;Name=WBGene2;biotype=pseudogene
pseudogenic_transcript 801 1000 - . ID=Pseudogene:A1.2;Parent=Gene:WBGene2;Name=A1.2
exon 801 850 - . Parent=Pseudogene:A1.2
exon 901 1000 - . Parent=Pseudogene:A1.2
""")  # fmt: skip

TAIR = _HEAD + _lines("1", "TAIR10", """
chromosome 1 1500 . . ID=1;Name=1
gene 101 600 + . ID=AT9G1;Note=protein_coding_gene;Name=AT9G1
mRNA 101 600 + . ID=AT9G1.1;Parent=AT9G1;Name=AT9G1.1;Index=1
protein 151 560 + . ID=AT9G1.1-Protein;Name=AT9G1.1;Derives_from=AT9G1.1
exon 101 200 + . Parent=AT9G1.1
five_prime_UTR 101 150 + . Parent=AT9G1.1
CDS 151 200 + 0 Parent=AT9G1.1,AT9G1.1-Protein;
exon 301 400 + . Parent=AT9G1.1
CDS 301 400 + 1 Parent=AT9G1.1,AT9G1.1-Protein;
exon 501 600 + . Parent=AT9G1.1
CDS 501 560 + 0 Parent=AT9G1.1,AT9G1.1-Protein;
three_prime_UTR 561 600 + . Parent=AT9G1.1
pseudogene 801 1000 - . ID=AT9G2;Note=pseudogene;Name=AT9G2
pseudogenic_transcript 801 1000 - . ID=AT9G2.1;Parent=AT9G2;Name=AT9G2.1
pseudogenic_exon 901 1000 - . Parent=AT9G2.1
pseudogenic_exon 801 850 - . Parent=AT9G2.1
""")  # fmt: skip

_ONE, _TWO = 'gene_id "G1"; transcript_id "T1";', 'gene_id "G2"; transcript_id "T2";'
ENSEMBL_GTF = "#!genome-build none\n" + _lines("1", "havana", f"""
gene 101 600 + . gene_id "G1"; gene_version "2"; gene_name "ABC1"; gene_biotype "protein_coding";
transcript 101 600 + . {_ONE} transcript_name "ABC1-201"; tag "basic"; tag "CCDS";
exon 101 200 + . {_ONE} exon_number "1"; exon_id "E1"; tag "basic"; tag "CCDS";
CDS 151 200 + 0 {_ONE} exon_number "1"; protein_id "P1";
start_codon 151 153 + 0 {_ONE} exon_number "1";
exon 301 400 + . {_ONE} exon_number "2"; exon_id "E2";
CDS 301 400 + 1 {_ONE} exon_number "2"; protein_id "P1";
exon 501 600 + . {_ONE} exon_number "3"; exon_id "E3";
CDS 501 557 + 0 {_ONE} exon_number "3"; protein_id "P1";
stop_codon 558 560 + 0 {_ONE} exon_number "3";
five_prime_utr 101 150 + . {_ONE}
three_prime_utr 561 600 + . {_ONE}
gene 801 1000 - . gene_id "G2"; gene_biotype "lncRNA";
transcript 801 1000 - . {_TWO} transcript_biotype "lncRNA";
exon 901 1000 - . {_TWO} exon_number "1";
exon 801 850 - . {_TWO} exon_number "2";
""")  # fmt: skip

AUGUSTUS = "# made by hand\n" + _lines("1", "AUGUSTUS", """
gene 101 600 + . g1
transcript 101 600 + . g1.t1
exon 101 200 + . transcript_id "g1.t1"; gene_id "g1";
CDS 151 200 + 0 transcript_id "g1.t1"; gene_id "g1";
exon 301 400 + . transcript_id "g1.t1"; gene_id "g1";
CDS 301 400 + 1 transcript_id "g1.t1"; gene_id "g1";
exon 501 600 + . transcript_id "g1.t1"; gene_id "g1";
CDS 501 560 + 0 transcript_id "g1.t1"; gene_id "g1";
stop_codon 558 560 + 0 transcript_id "g1.t1"; gene_id "g1";
""") + _lines("1", "AUGUSTUS", """
exon 801 850 - . transcript_id "g2.t1"; gene_id "g2";
exon 901 1000 - . transcript_id "g2.t1"; gene_id "g2";
""")  # fmt: skip

FORMS = {
    "ensembl.gff3": ENSEMBL, "ncbi.gff": NCBI, "flybase.gff": FLYBASE, "wormbase.gff3": WORMBASE,
    "tair.gff": TAIR, "ensembl.gtf": ENSEMBL_GTF, "augustus.gtf": AUGUSTUS,
}  # fmt: skip
"""Text by file name."""
