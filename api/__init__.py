"""The HTTP API: wiring, translation and nothing else."""
