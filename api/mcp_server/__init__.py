"""Skills for MCP clients (docs/skills.md, "Over MCP")."""
