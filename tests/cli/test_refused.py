"""What commands refuse: the last line names what is wrong, and where; nothing is written."""

import gzip

import pytest

from gpu_tools.cli.main import main

DNA, PROTEIN = "ACGTTGCAAC", "MKVLAAGIVGLLLAQWERTYHPSDFGHKLCVNM"
COSTS = "# costs\n   A C G T\nA  0 2 1 2\nC  2 0 2 1\nG  1 2 0 2\nT  2 1 2 0\n"
FILES = {
    "base.fa": f">c\n{DNA * 20}\n",
    "loci.fa": ">z:5-8 record_length=20\nACGT\n>z:7-10 record_length=20\nACGT\n",
    "c.gff3": "c\tx\texon\t1\t9\t.\t+\t.\tParent=a\n",
    "d.gff3": "d\tx\texon\t1\t9\t.\t+\t.\tParent=a\n",
    "p.fa": f">p\n{PROTEIN}\n",
    "more.fa": ">q\nMKVLA\n>p\nMKVLA\n",
    "two.fa": ">a\nA\n>b\nA\n",
    "dna.fa": f">n\n{DNA * 3}\n",
    "matrix.txt": "  A C\nA 1 0\nC 0 1\n",
    "patterns.fa": ">x\nACG\n",
    "q.fa": ">q\nTTacguac\n",
    "quoted.fa": '>a"b\nACGTTGCAAC\n',
    "at.fa": ">a@b\nACGTTGCAAC\n",
    "bad.fa": ">x\nACGTACGT\nAC!\n",
    "odd.fa": ">chr1.2\nACGTACGTTT\n>b\nACGT\n",
    "exons.bed": "c\t10\t20\tx\t5\t+\n",
    "far.bed": "c\t10\t2000\n",
    "pairs.tsv": "base\ttarget\nc\tx\n",
}
LIST = "spliced-align --base base.fa --exons exons.bed --targets dna.fa"
SITES = "spliced-align --base base.fa --site-model vertebrate"
GENES = "annotate --genome base.fa --site-model vertebrate -o x.gff3 --proteins p.fa"
LIFT = "lift --reference base.fa --annotation c.gff3 --genome base.fa --site-model fly -o x.gff3"
LOCAL = "local-align --query q.fa --subject base.fa"
PROTEINS = "local-align --query p.fa --subject p.fa"
EXACT = "match-exact --patterns patterns.fa --text base.fa"
NEAR = "match-approximate --patterns patterns.fa --text base.fa"
SEGMENTS = "max-segments --sequence q.fa --scale"
MODEL = "exons predict --base base.fa"
TRAIN = "exons train --base base.fa --annotation x.gff3"
CUT = "sequences cut --fasta base.fa --record c"
ESTIMATE = "spliced-estimate --base base.fa --exons exons.bed --targets dna.fa"
# (command, message, and files where others are needed than those above)
BAD_INPUT = [
    ("exons compare --candidates c.gff3 --truth d.gff3",
     "c.gff3: candidates and truth have no sequence in common, 'c' and 'd' being the first of "
     "each; expected names of d.gff3"),
    ("exons compare --candidates c.gff3 --truth d.gff3 --transcripts",
     "c.gff3: candidates and truth have no sequence in common"),
    (f"{GENES} --proteins more.fa",
     "more.fa, record p: a target of that name has been read from another file"),
    (f"{GENES} --cdnas dna.fa --cdnas dna.fa",
     "dna.fa, record n: a target of that name has been read from another"),
    (f"{GENES} --genome loci.fa", "loci.fa, record z: z:5-8 and z:7-10 overlap; expected loci"),
    (f"{GENES} --table x.gff3", "named for two outputs"),
    (f"{GENES} --summary none/x", "there is no folder"),
    (f"{GENES} --cdnas p.fa", "nucleotide letters; proteins go to --proteins"),
    (f"{GENES} --table base.fa", "named as input and as output"),
    (f"{GENES} --work base.fa", "cannot be made"),
    (f"{GENES} --proteins base.fa", "amino acids; nucleotides go to --cdnas"),
    (f"{GENES} --proteins q.fa -o x.gtf", 'q.fa, record a"b: the name cannot stand in GTF',
     {"q.fa": f'>a"b\n{PROTEIN}\n'}),
    (LIFT, "c.gff3, line 1: no gene can be carried over; of the first one: "),
    (f"{LIFT} --table x.gff3", "named for two outputs"),
    (f"{LIFT} --annotation exons.bed", "exons.bed, line 1: "),
    (f"{LIFT} --genome p.fa", "p.fa, line 2, record p, position 4: illegal symbol"),
    (f"{LIFT} --unmapped base.fa", "named as input and as output"),
    (f"{PROTEINS} --matrix matrix.txt",
     "p.fa, record p, position 1: the matrix matrix.txt has no scores for 'M'"),
    ("global-align --query dna.fa --subject p.fa --matrix matrix.txt",
     "dna.fa, record n, position 3: the matrix matrix.txt has no scores for 'G'"),
    *((f"{PROTEINS} --matrix m.txt", f"m.txt{says}", {"m.txt": text}) for text, says in (
        ("", ": the first line does not name"),
        ("  A A\n", ", line 1: the first line does not name"),
        ("  A C\nA 1 2\nC 1\n", ", line 3: row C with 1 scores; expected one row"),
        ("  A C\nA 1 2\nA 1 2\n", ", line 3: row A"),
        ("  A C\nA 1 2\n", ": no row for letter C"),
        ("  A C\nA 1 x\n", ", line 2: score 'x' is not an integer"),
    )),
    (f"{PROTEINS} --matrix BLOSUM99", "BLOSUM99: no such matrix"),
    (f"{PROTEINS} --matrix BLOSUM62 --alignments a.sam", "SAM holds no proteins"),
    (PROTEINS, "expected IUPAC nucleotide letters; proteins need --matrix, such as BLOSUM62"),
    (f"{LOCAL} --matrix BLOSUM62", "record c: ACGTTGCAAC... looks like nucleotides",
     {"q.fa": f">c\n{DNA * 8}\n"}),
    (f"{LOCAL} --query r.fa",
     "record q: a query of that name has been read from another file", {"r.fa": ">q\nCC\n"}),
    (f"{LOCAL} --query bad.fa", "bad.fa, line 3, record x, position 11: illegal symbol '!'"),
    (LOCAL, "q.fa: no record; expected FASTA", {"q.fa": ""}),
    (f"{LOCAL} --query none.fa", "none.fa: cannot be read"),
    (f"{LOCAL} --dot-plot a.svg",
     "a.svg: a dot plot of 65 pairs of sequences; expected no more than 64",
     {"q.fa": "".join(f">q{k}\nACGT\n" for k in range(65))}),
    (f"{EXACT} --text bad.fa", "bad.fa, line 3, record x, position 11: illegal"),
    (f"{EXACT} --patterns bad.fa", "bad.fa, line 3, record x, position 11: illegal"),
    (f"{EXACT} --text none", "none: cannot be read"),
    ("match-exact --patterns words.txt --text base.fa --alphabet bytes",
     "words.txt, line 2: empty pattern", {"words.txt": "a\n\nb\n"}),
    (f"{NEAR} --max-distance 3", "patterns.fa, record x: the maximum distance 3 is not below 3"),
    *((f"{NEAR} --best --substitution-table costs.txt", f"costs.txt{says}", {"costs.txt": text})
      for text, says in (
        (COSTS.replace("0 2 1 2", "0 2 -1 2"), ": cost -1 is negative"),
        (" A N\nA 0 1\nN 1 0\n", ": letter N stands for no single symbol of dna"),
        (" A Q\nA 0 1\nQ 1 0\n", ": letter Q stands for no single symbol of dna"),
        (" A C\nA 0 1\n", ": no row for letter C"),
        (" A\nA x\n", ", line 2: score 'x' is not an integer"),
        (" T U\nT 0 1\nU 1 0\n", ": T and U are the same symbol of dna"),
    )),
    *((f"{NEAR} --best --alphabet bytes --substitution-table costs.txt", f"costs.txt{says}",
       {"costs.txt": text}) for text, says in (
        (" a a\na 0 1\n", ", line 1: the first line does not name"),
        (" ab\nab 0\n", ": letter ab stands for no single symbol of bytes"),
        (" a 0x61\na 0 1\n0x61 1 0\n", ": a and 0x61 are the same symbol of bytes"),
    )),
    *((f"{NEAR} --best --{kind}-costs costs.tsv", f"costs.tsv{says}",
       {"costs.tsv": f"symbol\tcost\n{text}"})
      for kind in ("insertion", "deletion")
      for text, says in (
        ("", ": no symbol; expected at least one row of symbol and cost"),
        ("A\t0\n", ", line 2: cost 0 is out of range; expected 1 to 2^30 - 1"),
        ("A\tx\n", ", line 2: cost 'x' is not an integer"),
        ("A\t1\nA\t1\n", ", line 3: symbol 'A' occurs twice"),
        ("A\t1\na\t2\n", ": A and a are the same symbol of dna"),
        ("R\t1\n", ": letter R stands for no single symbol of dna"),
        ("AC\t1\n", ": letter AC stands for no single symbol of dna"),
    )),
    (f"{LIST} --targets quoted.fa --alignments x.gtf",
     'quoted.fa, record a"b: the name cannot stand in GTF'),
    *((f"{LIST} --targets at.fa --alignments x.gff3 --alignments x.{suffix}",
       "at.fa, record a@b: the name cannot stand in SAM") for suffix in ("sam", "bam")),
    *((f"{mode} --matrix m.txt", f"m.txt{says}", {"m.txt": text})
      for mode in (LIST, f"{SITES} --targets dna.fa")
      for text, says in (
        ("A C G\nA 1 0 0\nC 0 1 0\nG 0 0 1\n",
         ": a matrix of the letters ACG; expected scores of nucleotides: A, C, G and T or U"),
        ("A C G T E\n" + "".join(f"{a} 1 0 0 0 0\n" for a in "ACGTE"), ": a matrix of the letters"),
        ("A C G T U\n" + "".join(f"{a} 1 0 0 0 0\n" for a in "ACGTU"), ": a matrix of the letters"),
        (" A\nA 1.5\n", ", line 2: score '1.5' is not an integer"),
    )),
    (f"{LIST} --matrix BLOSUM62", "BLOSUM62: a matrix of the letters ARNDC"),
    *((f"{LIST} --base x.fa", f"x.fa{says}", {"x.fa": text}) for text, says in (
        ("", ": no record; expected FASTA"),
        (">c\nAC!GT\n", ", line 2, record c, position 3: illegal symbol '!'"),
        (">c\nA\n>c\nC\n", ", line 3, record c: duplicate name, with"),
        (">c\n", ", line 1, record c: no symbols"),
    )),
    (f"{LIST} --base none.fa", "none.fa: cannot be read (No such file or directory)"),
    (f"{LIST} --base x.fa.gz", "x.fa.gz: broken compression",
     {"x.fa.gz": gzip.compress(b">c\n" + bytes(range(65, 90)) * 99)[:60]}),
    (f"{LIST} --exons far.bed", "far.bed, record c: exon 11-2000 does not lie within the sequence"),
    (LIST, "exons.bed: exons on an unknown sequence 'x'; expected names of the",
     {"exons.bed": "x\t5\t6\n"}),
    (LIST, "exons.bed, line 1", {"exons.bed": "c\tfive\t6\n"}),
    (f"{LIST} --pairs pairs.tsv", "pairs.tsv, line 2: unknown target 'x'"),
    (f"{LIST} --pairs pairs.tsv", "pairs.tsv: no pair", {"pairs.tsv": "base\ttarget\n"}),
    (f"{LIST} --match {2**30}", "too large"),
    (f"{LIST} --match {2**30 - 1}", "could arise"),
    *((f"{LIST} {option}{'9' * 20}", "too large") for option in (
        "--match ", "--mismatch -", "--gap -", "--intron-penalty ", "--exon-weight ")),
    (f"{LIST} --region CHR1:1-4 --base odd.fa", "(did you mean 'chr1.2'"),
    (f"{SITES} --targets dna.fa --site-model vertebate", "(did you mean 'vertebrate'"),
    (f"{SITES} --targets dna.fa --site-model martian", "one of aphid, arabidopsis, aspergillus"),
    (f"{SITES} --targets dna.fa --max-intron 93",
     "a longest intron of 93; expected 94 to 10000000"),
    (f"{SITES} --targets p.fa", "expected IUPAC nucleotide letters; proteins go to --proteins"),
    (f"{SITES} --proteins base.fa", "expected amino acids; nucleotides go to --cdnas"),
    (f"{SITES} --proteins x.fa", "x.fa, record e: no residue; expected amino acids",
     {"x.fa": ">e\n*\n"}),
    (f"{SITES} --proteins x.fa", "x.fa", {"x.fa": ">e\nMKV.LAAG\n"}),
    ("exons convert far.bed --to gff3 --base base.fa",
     "far.bed, record c: exon 11-2000 does not lie within the sequence"),
    ("exons convert c.bed --base odd.fa --to gff3", "(did you mean 'chr1.2'",
     {"c.bed": "chr1\t1\t3\n"}),
    ("exons convert c.bed --to tsv", "c.bed, line 1: start 20 does not lie before end 10",
     {"c.bed": "c\t20\t10\n"}),
    ("exons cut c.gff3 --base base.fa --record chr7", "exons of 'c' but not of 'chr7'"),
    ("exons cut c.gff3 --base base.fa --record c --kind report",
     "c.gff3, line 1: no GENSCAN report"),
    (f"{MODEL} --base bad.fa", "bad.fa, line 3, record x, position 11: illegal symbol '!'"),
    (f"{MODEL} --base none.fa", "none.fa: cannot be read"),
    (f"{MODEL} --base x.fa", "x.fa, record c: locus c:1-4 ends behind its record",
     {"x.fa": ">c:1-4 record_length=3\nACGT\n"}),
    (f"{MODEL} --model fungus", "fungus: no such exon model"),
    (f"{MODEL} --model vertebrates", "(did you mean 'vertebrate'"),
    (f"{MODEL} --model bad.fa", "bad.fa, line 1: not JSON"),
    *((TRAIN, says, {"x.gff3": text}) for text, says in (
        ("##gff-version 3\n", "x.gff3: no CDS; expected an annotation with features CDS"),
        ("a\t.\tCDS\t1\t3\t.\t+\t0\tID=c\n", "record a: annotated, but not among the sequences"),
        ("c\t.\tCDS\t1\t9\t.\t+\t0\tID=c\n", "none of 1 coding sequences reads from ATG"),
        ("c\t.\tCDS\t1\t9\t.\t+\n", "x.gff3, line 1: 7 columns; expected 9"),
    )),
    (f"{TRAIN} --codon-usage none.tsv", "none.tsv: cannot be read",
     {"x.gff3": "c\t.\tCDS\t1\t9\t.\t+\t0\tID=c\n", "base.fa": ">c\nATGAAATAAG\n"}),
    ("sites train --genome base.fa --annotation c.gff3 --report no/folder.tsv",
     "no/folder.tsv: cannot be written"),
    (f"{CUT} --locus 20-201", "record c: locus 20-201 does not lie within the sequence"),
    (f"{CUT} --record chr9", "no record named 'chr9'"),
    (f"{CUT} --record chr9 --locus 2-3", "no record named 'chr9'"),
    ("sequences cut --fasta odd.fa --record chr1", "(did you mean 'chr1.2'"),
    ("sequences translate --fasta patterns.fa", "no record with an open reading frame"),
    (f"{ESTIMATE} --exons far.bed", "exon 11-2000 does not lie within the sequence"),
    (f"{ESTIMATE} --histograms h.tsv", "score is too large",
     {"exons.bed": "c\t0\t5\te\t1e308\t+\n"}),
    (f"{SEGMENTS} gc", "q.fa, line 2, record a, position 4: '*' has no score in the scale gc",
     {"q.fa": ">a\nACG*T\n"}),
    (f"{SEGMENTS} gc", "q.fa: no record", {"q.fa": ""}),
    (f"{SEGMENTS} nothing",
     "unknown scale 'nothing'; expected cpg, eisenberg, gc, hopp-woods, kyte-doolittle or"),
    (f"{SEGMENTS} kyte", "(did you mean 'kyte-doolittle'"),
    *((f"{SEGMENTS} x.tsv", f"x.tsv{says}", {"x.tsv": f"symbol\tscore\n{text}"})
      for text, says in (
        ("A\tone\n", ", line 2: score 'one' is not a number"),
        ("A\tnan\n", ", line 2: score 'nan' is not a number"),
        ("A\t1\nAC\t2\n", ", line 3: symbol 'AC'; expected"),
        ("A\t1\na\t2\n", ", line 3: symbol 'A' occurs twice"),
        ("A\t0.1234567\n", ", line 2: score 0.1234567 is out of range"),
        ("", ": no symbol"),
    )),
    *((f"max-segments --values v.tsv {more}", says, {"v.tsv": text}) for text, more, says in (
        ("1\n\nx\n", "", "v.tsv, line 3: row 2, column 1: 'x' is not a number"),
        ("1\t2\n", "", "v.tsv, line 1: 2 columns; expected one"),
        ("", "", "v.tsv: no numbers"),
        (f"1\n{2**63}\n", "", f"v.tsv, line 2: row 2, column 1: '{2**63}' is out of range; expec"),
        (f"-1{'0' * 5000}\n", "", "' is out of range"),
        ("1e308\n1e308\n", "", "v.tsv: a sum exceeds 64-bit fl"),
        ("1e308\n1e308\n", "--all", "v.tsv: a sum exceeds"),
    )),
    *((f"{CUT} --record x --fasta {name}", f"{name}: {says}") for name, says in (
        ("/dev/zero", "it is a device; expected a file"),
        ("/dev/null", "no record; expected FASTA with at least one record"),
        ("x" * 300, "cannot be read (File name too long)"),
    )),
    (f"{CUT} --record \x1b[1m", r"base.fa: no record named '\x1b[1m'"),
    ("max-segments --values v.npy", "v.npy: not an array of numbers", {"v.npy": "text"}),
    ("max-segments --values v.npy", "v.npy: cannot be read (No such file or directory)"),
    ("max-submatrix --dot-plot q.fa two.fa", "two.fa: 2 records; expected one"),
    ("max-submatrix --dot-plot q.fa none.fa", "none.fa: cannot be read"),
    *(("max-submatrix --matrix m.tsv", f"m.tsv{says}", {"m.tsv": text}) for text, says in (
        ("1\t2\n3\n", ", line 2: row 2 has 1 column; expected 2 as in row 1"),
        ("1\t2\n3\tx\n", ", line 2: row 2, column 2: 'x' is not a number"),
        ("1\t\t2\n", ", line 1: row 1, column 2: '' is not a number"),
        ("1\tnan\n", ", line 1: row 1, column 2: 'nan' is not a number"),
        ("", ": no numbers"),
    )),
    *((f"{command} --region {region}", says, {"bad.bed": "c\t9\t5\n", "empty.bed": "# nothing\n"})
      for command in (LIST, MODEL, LOCAL) for region, says in (
        ("c:201-209", "record c: locus 201-209 does not lie within the sequence; expected "
                      "positions 1 to 200"),
        ("c:201-", "record c: locus 201- does not lie within the sequence"),
        ("chr9:1-5", "base.fa: no record named 'chr9'"),
        ("C", "base.fa: no record named 'C' (did you mean 'c"),
        ("c:100", "base.fa: no record named 'c:100'"),
        ("bad.bed", "bad.bed, line 1: start 9 does not lie before end 5"),
        ("empty.bed", "empty.bed: no interval; expected BED"),
    )),
    # the name of a variable of the shell that is not set: no file is left out in silence
    ("max-segments --values pairs.tsv --bed=", "rror: "),
    ("max-segments --values pairs.tsv --gff3=", "rror: "),
    (f"{EXACT} --bed=", "rror: "),
    (f"{NEAR} --best --bed=", "rror: "),
    ("max-submatrix --matrix=", "rror: "),
]  # fmt: skip
WRONG_USAGE = [
    (f"{LOCAL} --dot-plot=", "rror: "),
    (f"{LOCAL} --dot-plot a.gif", "does not end in one of .svg, .png"),
    (f"{LOCAL} --dot-plot a.svg.gz", "end in one of .svg, .png"),
    *((f"{command} --query q.fa --subject base.fa {more}", says)
      for command in ("local-align", "global-align") for more, says in (
        ("--gap-open -1", "-1"),
        ("--gap-open 1 --gap-extend 2", "expected 0 <= extend <= open"),
        ("--match 1.5", "1.5"),
        ("--match 2 --matrix BLOSUM62", "one or the other"),
        ("--alignments a.bam", "does not end in one of"),
        ("--alignments - --alignments-format bam", "'bam' is not one of"),
        ("--device gpu", "'gpu' is not one of"),
        ("--nonsense", "--nonsense"),
    )),
    (f"{LOCAL} --k 0", "--k"),
    (f"{LOCAL} --min-score 0", "--min-score"),
    (f"{LOCAL} --both-strands --matrix PAM30", "--both-strands"),
    (f"{LOCAL} --statistics --gap-extend 4",
     "those of --gap-open 16 --gap-extend 6, --gap-open 14 --gap-extend 6 are"),
    (NEAR, ""),
    (f"{NEAR} --best --max-distance 1", ""),
    (f"{NEAR} --max-distance -1", ""),
    (f"{NEAR} --best --insertion 0", ""),
    (f"{NEAR} --best --substitution -1", ""),
    (f"{EXACT} --alphabet protein --both-strands", ""),
    (f"{EXACT} --ignore-case", "--ignore-case has no meaning with --alphabet dna"),
    (f"{NEAR} --best --alphabet protein --ignore-case", "--ignore-case has no meaning with"),
    *((f"{LIST} {more}", says) for more, says in (
        ("--ends loose", "loose"),
        ("--match 2 --matrix m.txt", "--match does not go with --matrix"),
        ("--match 1.5", "1.5"),
        ("--exon-weight nan", "not a finite number"),
        ("--alignments a.txt", "does not end in one of"),
        ("--alignments x.bam.gz", "does not end in one of .gff3, .gtf, .bed"),
        ("--alignments -", "'-' does not end in one of .gff3, .gtf, .bed, .paf, .sam, .bam; give "
                           "--alignments-format"),
        ("--alignments x.bed --alignments-format paf", "--alignments-format is for a file"),
        ("--alignments-format paf", "--alignments-format is for a file"),
        ("--device gpu", "'gpu' is not one of"),
        ("--threads 0", "0"),
        ("--gap 1", "1 is not in the range x<=0"),
        ("--match 0", "0 is not in the range x>=1"),
        ("--mismatch 2", "--mismatch 2 is above --match 1"),
        ("--shuffles 19", "19 is not in the range x>=20"),
        ("--max-evalue -1", "-1.0 is not in the range x>=0"),
        ("--min-identity 1.1", "1.1 is not in the range 0<=x<=1"),
        ("--nonsense", "--nonsense"),
        ("--site-model vertebrate", "either --exons or --site-model"),
        ("--strand +", "--strand needs --site-model"),
        ("--max-intron 9", "--max-intron needs --site-model"),
        ("--end-cost 0", "--end-cost needs --site-model"),
        ("--coding --ends free", "needs whole candidates"),
    )),
    *((f"{command} --region {region}", f"'{region}' is neither NAME:START-END, 1-based, START not")
      for command in (LIST, MODEL, LOCAL) for region in ("c:5-2", "c:0-2", "c:-", "c:10,00-20,00")),
    ("spliced-align --base base.fa --targets dna.fa", "either --exons or --site-model"),
    (f"{SITES} --targets dna.fa --incomplete", "--incomplete needs --coding"),
    (f"{SITES} --targets dna.fa --stop 3", "--stop needs --proteins"),
    (f"{SITES} --targets dna.fa --proteins p.fa", "give either --cdnas or --proteins"),
    (SITES, "give either --cdnas or --proteins"),
    (f"{SITES} --proteins p.fa --gap -3", "--gap does not go with --proteins"),
    (f"{SITES} --proteins p.fa --alignments x.sam", "SAM and BAM hold no proteins"),
    (f"{SITES} --proteins p.fa --genetic-code 7", "genetic code 7; expected one of"),
    ("spliced-align --base base.fa --proteins p.fa --exons exons.bed --ends free",
     "needs whole candidates, not --ends free"),
    ("annotate --genome base.fa --site-model fly -o x.gff3", "give --proteins or --cdnas"),
    (f"{GENES} --coding", "--coding needs --cdnas"),
    (f"{GENES} --stranded", "--stranded needs --cdnas"),
    (f"{GENES} --end-cost 0", "--end-cost needs --cdnas"),
    (f"{GENES} --gap-open 3", "no E-values are known"),
    (f"{GENES} -o x.BED.gz", "the gene set is GFF3 or GTF; gffread --bed"),
    (f"{LIFT} --min-copy-identity 2", "2.0 is not in the range 0<=x<=1"),
    (f"{LIFT} --min-copy-identity 0.9", "--min-copy-identity needs --copies"),
    (f"{LIFT} -o x.bed", "GFF3 or GTF"),
    ("lift --reference base.fa --genome base.fa", "Missing option '--annotation'"),
    ("exons convert c.gff3", ""),
    ("exons convert c.gff3 --to gtf", ""),
    ("exons convert c.gff3 --to bed --from sam", ""),
    *((f"{MODEL} --min-score {value}", "--min-score") for value in ("much", "nan", "inf")),
    (f"{MODEL} --min-probability 1.5", "1.5"),
    (f"{TRAIN} --name=", "a model needs a name"),
    ("exons train --base base.fa", ""),
    ("sites train --genome base.fa --annotation c.gff3 --name=", "an empty text"),
    ("sites train --genome base.fa --annotation c.gff3 --source=", "an empty text"),
    *((f"{CUT} --locus {locus}", "is not START-END")
      for locus in ("0-5", "5-4", "5", "a-b", "1-2-3")),
    *((f"spliced-estimate {more}", "missing; expected cases, or --calibrate alone")
      for more in ("", "--base base.fa --calibrate", "--base base.fa --exons exons.bed")),
    ("max-segments", "give either --sequence with --scale or --values"),
    ("max-segments --sequence q.fa", "--sequence and --scale go together"),
    ("max-segments --values v.npy --significance", "--significance needs"),
    ("max-segments --values v.npy --min-score nan", "nan is not a finite number"),
    *((f"max-segments --values v.npy --subtract {value}",
       "is not a number from -1000 to 1000 with at most 6 places")
      for value in ("x", "nan", "1001", "0.0000001", "1e9")),
    ("max-submatrix", "give either --matrix or --dot-plot"),
    ("max-submatrix --matrix m.npy --count 2 --all", "give either --count or --all"),
    ("max-submatrix --matrix m.npy --count 0", "--count"),
    ("max-submatrix --matrix m.npy --dot-plot q.fa q.fa", "give either --matrix or"),
    ("max-submatrix --dot-plot q.fa q.fa --match 40000", "40000 is not in the range"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "code"),
    [*((row, 1) for row in BAD_INPUT), *((row, 2) for row in WRONG_USAGE)],
    ids=lambda value: value[0][:80] if isinstance(value, tuple) else "",
)
def test_the_last_line_says_what_is_wrong(tmp_path, capsys, monkeypatch, row, code):
    monkeypatch.chdir(tmp_path)
    command, message, *changed = row
    files = FILES | dict(*changed)
    for name, text in files.items():
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    output = [] if " -o " in command else ["--output", "out"]
    assert main([*command.split(), *output]) == code
    shown = capsys.readouterr()
    last = shown.err.splitlines()[-1]
    assert message in last
    assert last.startswith("gpu-tools: error: ") if code == 1 else "Error: " in shown.err
    assert shown.out == ""
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ".fai"} == set(files)


def test_a_table_that_is_read_is_not_told_as_written(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (FILES | {"costs.txt": COSTS}).items():
        (tmp_path / name).write_text(text)
    assert main(f"{NEAR} --best --device cpu --substitution-table costs.txt".split()) == 0
    assert "written" not in capsys.readouterr().err
