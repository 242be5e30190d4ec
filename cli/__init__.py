"""The command line: commands that run Agentex, and client commands that use it over HTTP."""
