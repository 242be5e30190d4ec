"""Starts Agentex's processes, watches them, restarts the dead and drains them on a signal."""
