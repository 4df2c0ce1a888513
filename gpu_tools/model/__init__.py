"""What every family speaks of: sequences, scoring, results, sets of exons, shipped resources."""
