"""Candidate exons and annotations: GFF3, GTF, BED, GENSCAN and AUGUSTUS."""
