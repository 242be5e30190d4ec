"""MCP client: people's connections to MCP servers, and their tools in runs."""
