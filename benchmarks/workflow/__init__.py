"""The workflow as a whole."""
