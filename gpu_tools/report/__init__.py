"""The report: a page of figures and tables of what spliced alignment, or annotation, found.

`findings` reads results, `loci` groups chains, `models` and `charts` draw, `tables` lists, `page`
puts all into one HTML file, `files` writes figures and sessions of IGV; `gene_set` is the report
of a gene set.
"""
