"""Exact spliced alignment over all exons that splice sites allow, without listing them."""
