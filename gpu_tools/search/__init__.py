"""Windows of a genome in which targets may have genes, found by words that both share."""

from gpu_tools.search.api import SearchOptions, find_windows

__all__ = ["SearchOptions", "find_windows"]
