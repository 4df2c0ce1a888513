"""Copies of a genome whose genes are known: what carrying an annotation over has right."""
