"""Naive definitions of what each tool computes, which import nothing of the package."""
