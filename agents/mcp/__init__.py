"""MCP: connections to servers of the Model Context Protocol, and the tools that they offer."""
