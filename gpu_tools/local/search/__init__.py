"""The search for the best alignments, once a score pass has bounded all tiles; on the CPU."""
