"""Instructions of a GPU as functions for kernels: the only folder with assembly.

Each function has a twin in plain Python for numba's CUDA simulator. `words` has kernels, warps and
packed pairs of 16-bit values, and `rows` rows and columns of packed cells that stay in registers.
"""
