"""The sweep and the traceback of proteins on a CPU."""
