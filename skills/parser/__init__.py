"""The parser of SKILL files."""
