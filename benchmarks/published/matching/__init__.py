"""The published designs of approximate and exact matching, as baselines for this project's own.

`approximate` holds O-ASM, w-SCAN and w-Shuffle: ASM(X, Y), the least cost of a pattern of at most
1,024 symbols against any part of a text, with weighted costs; a thread owns a row. `exact` holds
the parallel Rabin-Karp search and the one by prefix sums, with the hash table of patterns.

Source: L. S. N. Nunes, "Técnicas e instruções especiais para acelerar o casamento de padrões exato
e aproximado em GPU", UnB, 2018.
"""
