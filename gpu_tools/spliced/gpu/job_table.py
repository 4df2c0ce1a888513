"""What kernels are told: a row of numbers for each job of a launch, and the scoring."""

from gpu_tools.model.scoring import N_SYMBOLS

# columns of the table of jobs: counts, where the job's parts lie in the buffers, its rivals, the
# jobs of the same case; and for halves of strands: whether it is the one behind the cut, whether
# its target is read from the end, the stored row above the last track, how many exits that takes
# in; and the elements from one copy of its words to the next, see `cuda_programs.place_sources`
(
    COLUMNS, STRIDE, PIECES, SEGMENTS, STOPS, N_SOURCES, N_EXITS,
    NUMBERS, PROGRAM_SOURCES, EXITS, SYMBOLS, TARGET,
    CELLS, SOURCES, WORDS, STRIPS, BORDERS, WAYS, FOUND,
    FIRST_RIVAL, PAST_RIVALS, BEHIND, MIRRORED, LAST_ENTRY, LAST_COMMITTED, WORD_ROOM, FIELDS,
) = range(27)  # fmt: skip

# elements of the scoring: the gap, whether ends are free, the intron penalty, the most that a pair
# adds to S', at least 0; of each target symbol what a pair with each of the four base symbols adds
# to S'', and to S', as bytes
GAP, FREE, PENALTY, MOST, RAISED = range(5)
LIFTED = RAISED + N_SYMBOLS
