"""The index of a genome: where each word lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class GenomeIndex:
    """Positions of the words of a genome; see `gpu_tools.search.api.build_index`.

    Attributes
    ----------
    kind : {"protein", "cdna"}
    """

    kind: str

    def save(self, folder: str | Path) -> None:
        """Write the index to a folder, which is made or replaced when complete.

        Raises
        ------
        OutputError
            If the folder cannot be written, or holds something else.
        """
        raise NotImplementedError
