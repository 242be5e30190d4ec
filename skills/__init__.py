"""Skills: grammar, diagnostics, versions and export of SKILL.md files."""
