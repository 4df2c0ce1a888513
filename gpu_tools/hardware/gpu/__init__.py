"""Instructions of a GPU, its buffers, and the dispatch of work to several GPUs."""

from numba.cuda.core import config

# a launch for one small case leaves multiprocessors idle; users cannot do anything about it
config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
