"""How much parallelism cases of spliced alignment have, and how long they take: a time model."""
