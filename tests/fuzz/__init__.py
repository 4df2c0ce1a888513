"""Fuzzing: random damage to files and options, over every reader and every command."""
