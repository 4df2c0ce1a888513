"""A gene set from a genome and the proteins or cDNAs of related genes."""
