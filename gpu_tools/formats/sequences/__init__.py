"""Sequences: FASTA and FASTQ files, and loci cut out of them."""
