"""Text from outside that every database, hash and log can take."""

from typing import Annotated

from pydantic import AfterValidator


def refuse_half_characters(value: str) -> str:
    """The text itself, unless it has lone surrogates: JSON can spell them, UTF-8 can't."""
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("must not contain half a character")
    return value


def refuse_nul(value: str) -> str:
    """The text itself, unless it has NUL: PostgreSQL can't store it, and no text needs it."""
    if "\x00" in value:
        raise ValueError("must not contain the character NUL")
    return value


Storable = Annotated[str, AfterValidator(refuse_half_characters), AfterValidator(refuse_nul)]
"""Text from a caller that may be stored or compared with what is stored."""
