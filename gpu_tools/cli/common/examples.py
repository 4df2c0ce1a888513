"""One example for each command, shown at the end of its help."""

from __future__ import annotations

EXAMPLES = {
    "annotate": "gpu-tools annotate --genome genome.fa --proteins relatives.fa --site-model "
    "vertebrate --output genes.gff3",
    "check": "gpu-tools check",
    "devices": "gpu-tools devices",
    "exons compare": "gpu-tools exons compare --candidates exons.gff3 --truth annotation.gtf",
    "exons convert": "gpu-tools exons convert genscan.txt --to gff3 --output exons.gff3",
    "exons cut": "gpu-tools exons cut exons.gff3 --base locus.fa --output locus_exons.gff3",
    "exons predict": "gpu-tools exons predict --base loci.fa --output exons.gff3",
    "exons train": "gpu-tools exons train --base records.fa --annotation genes.gff3 --name mine "
    "--output mine.json",
    "global-align": "gpu-tools global-align --query a.fa --subject b.fa --output pairs.tsv",
    "local-align": "gpu-tools local-align --query mrna.fa --subject locus.fa --k 10 "
    "--alignments local.paf --output local.tsv",
    "match-approximate": "gpu-tools match-approximate --patterns probes.fa --text genome.fa "
    "--max-distance 2 --both-strands --output matches.tsv",
    "match-exact": "gpu-tools match-exact --patterns probes.fa --text genome.fa --both-strands "
    "--output matches.tsv",
    "max-segments": "gpu-tools max-segments --sequence genome.fa --scale cpg --all --min-score 30 "
    "--output islands.tsv",
    "max-submatrix": "gpu-tools max-submatrix --matrix matrix.tsv",
    "report": "gpu-tools report results --output results/report.html",
    "sequences cut": "gpu-tools sequences cut --fasta genome.fa --record chr1 --locus 1000-9000 "
    "--output locus.fa",
    "sequences fetch": "gpu-tools sequences fetch --source ncbi:NM_000572.2 --output mrna.fa",
    "sequences translate": "gpu-tools sequences translate --fasta mrnas.fa --output proteins.fa",
    "sites list": "gpu-tools sites list",
    "sites train": "gpu-tools sites train --genome genome.fa --annotation genes.gff3 --name mine "
    "--output mine.json",
    "spliced-align": "gpu-tools spliced-align --base locus.fa --targets mrna.fa --site-model "
    "vertebrate --alignments gene.gff3 --output scores.tsv",
    "spliced-estimate": "gpu-tools spliced-estimate --base loci.fa --targets mrnas.fa --exons "
    "exons.gff3 --histograms histograms.tsv --output estimate.tsv",
    "warm-up": "gpu-tools warm-up spliced-align",
}
"""By the command's words."""
