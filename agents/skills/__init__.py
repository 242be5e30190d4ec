"""Skills in runs: selection, loading, tool restrictions and strict steps."""
