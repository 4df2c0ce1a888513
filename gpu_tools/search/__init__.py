"""Windows of a genome in which targets may have genes, found by words that both share."""

from gpu_tools.search.api import (
    GenomeIndex,
    SearchOptions,
    build_index,
    find_windows,
    load_index,
)

__all__ = ["GenomeIndex", "SearchOptions", "build_index", "find_windows", "load_index"]
