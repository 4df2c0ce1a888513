"""Instructions of a GPU as functions for kernels: the only folder with assembly.

Each function has a twin in plain Python for numba's CUDA simulator. `words` has kernels, warps and
packed pairs of 16-bit values, `rows` rows of packed cells, `columns` columns of them that stay in
registers, and `sums` running sums.
"""
