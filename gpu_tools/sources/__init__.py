"""Where sequences come from: local files, URLs, NCBI and Ensembl."""

from gpu_tools.sources.fetch import Provenance, Settings, fetch
from gpu_tools.sources.source import Source, parse_source

__all__ = ["Provenance", "Settings", "Source", "fetch", "parse_source"]
