"""Skills for programs that speak the Model Context Protocol (docs/skills.md, "Over MCP")."""
