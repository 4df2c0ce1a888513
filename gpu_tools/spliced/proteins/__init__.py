"""List mode for proteins: chains of candidate exons, aligned codon by codon to a protein."""
