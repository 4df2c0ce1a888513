"""Gene sets from genomes and proteins, beside spaln and miniprot."""
