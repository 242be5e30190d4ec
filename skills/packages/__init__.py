"""Packages: skills as files that other programs read, out of here and into here (docs/skills.md)."""
