"""Where events come from: the platform, schedules and MCP servers; signed ones arrive over HTTP."""
