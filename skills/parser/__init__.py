"""The grammar: from bytes to a draft of the skill, with what was noticed on the way."""
