"""OAuth 2.1 for MCP connections: authorizations begun, completed, renewed and ended."""
