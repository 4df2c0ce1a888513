"""What kernels are told: a row of numbers for each job of a launch, and the scoring."""

from gpu_tools.scoring import N_SYMBOLS

# columns of the table of jobs: counts, where the job's parts lie in the buffers, and its rivals,
# the jobs of the same case
(
    COLUMNS, STRIDE, PIECES, SEGMENTS, STOPS, N_SOURCES, N_EXITS,
    NUMBERS, PROGRAM_SOURCES, EXITS, SYMBOLS, TARGET,
    CELLS, SOURCES, WORDS, STRIPS, BORDERS, WAYS, FOUND,
    FIRST_RIVAL, PAST_RIVALS, FIELDS,
) = range(22)  # fmt: skip

# elements of the scoring: the gap, whether ends are free, the intron penalty, the most that a pair
# adds to S', at least 0; of each target symbol what a pair with each of the four base symbols adds
# to S'', and to S', as bytes
GAP, FREE, PENALTY, MOST, RAISED = range(5)
LIFTED = RAISED + N_SYMBOLS
