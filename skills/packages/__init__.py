"""Packages of skills: archives and folders of the open standard (docs/skills.md)."""
