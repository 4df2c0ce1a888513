"""Instructions of a GPU, its buffers, and the dispatch of work to several GPUs."""
