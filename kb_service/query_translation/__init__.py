"""Words of a question in the other language, Chinese or English, for the lexical leg."""
