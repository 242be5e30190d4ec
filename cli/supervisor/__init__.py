"""The supervisor: start, restart and drain of Agentex's processes."""
