"""Where sequences come from: local files, URLs, NCBI and Ensembl."""

from gpu_tools.formats.sources.fetch import Provenance, Settings, Source, fetch, parse_source

__all__ = ["Provenance", "Settings", "Source", "fetch", "parse_source"]
