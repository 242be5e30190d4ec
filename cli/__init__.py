"""The terminal: the commands that run Agentex and the client commands that use it over HTTP."""
