"""What kernels are told: a row of numbers for each job of a launch, and the scoring."""

# columns of the table of jobs: counts, where the job's parts lie in the buffers, and its rivals,
# the jobs of the same case
(
    COLUMNS, STRIDE, PIECES, SEGMENTS, STOPS, N_SOURCES, N_EXITS,
    NUMBERS, PROGRAM_SOURCES, EXITS, SYMBOLS, TARGET,
    CELLS, SOURCES, WORDS, STRIPS, BORDERS, WAYS, FOUND,
    FIRST_RIVAL, PAST_RIVALS, FIELDS,
) = range(22)  # fmt: skip

# elements of the scoring: the gap, whether ends are free, the intron penalty, the most that a pair
# adds, at least 0, and of each target symbol the lifted scores of the four base symbols, as bytes
GAP, FREE, PENALTY, MOST, LIFTED = range(5)
