"""Skills and tools for MCP clients (docs/skills.md and docs/mcp.md, "Over MCP")."""
