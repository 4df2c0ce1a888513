"""Site mode for proteins: all exons that sites allow, aligned codon by codon to a protein."""
