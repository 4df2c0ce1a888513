"""The report: a page of figures and tables of what spliced alignment found.

`findings` reads results, `loci` groups chains, `models` and `charts` draw, `tables` lists, `page`
puts all into one HTML file, `figures` writes SVG and PNG, `igv` a session of IGV.
"""
