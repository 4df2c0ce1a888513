"""The published designs of spliced alignment, as baselines to be run beside this project's own.

All three find the best score of Gelfand's pure objective (match, mismatch and a linear gap; no
exon scores, no intron penalties, global ends) by the published recurrence, every exon on its own:

- `sequential`: one thread on the CPU, exons in order of their starts, an exon's rows one after
  another.
- `accelerator1` (intra-exon): a launch an exon, exons one after another; the exon's one block
  computes an anti-diagonal at a time.
- `accelerator2` (intra- and inter-exon): a launch a group of exons of which none can precede
  another, a block an exon; the host finds the next group while the GPU works; transfers go
  through pinned memory.

In all of them the row from which an exon starts is the maximum over the last rows of all exons
that may precede it, taken anew for every exon, and nothing is shared between exons that start at
the same place. That is the published work; this project's sweep avoids both.

Each module has ``score(case)`` (the better strand's, None without candidates), ``last_rows(case)``
and timings: ``milliseconds(case)`` for `sequential`; for the accelerators ``kernel_milliseconds``
(CUDA events around the launches, data resident) and ``wall_milliseconds`` (transfers, launches and
the way back; host buffers are there before). Times are of one run, warm-up is the caller's, and
both strands count.

What the descriptions leave open: a thread owns a row of the exon, so that an anti-diagonal has at
most as many cells as the exon has symbols, and a sweep takes about |exon| + |target| - 1 steps as
the published time model says; exons longer than a block's 1,024 threads are cut into tiles of rows
that follow each other.

Source: A. Nolasco, "Soluções em GPU para o problema do alinhamento spliced", UFMS, 2014.
"""
