"""Permissions that connectors know of their items, and the settings by which they become readers here."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ingestion.connectors.base import ConnectorSettings, Readers

NOBODY: Readers = ((),)
"""Permissions that could not be read: nobody but the owner of the knowledge base."""
EVERYONE = "everyone"
ROLE, GROUP = "role:", "group:"

_Name = Annotated[str, Field(min_length=1, max_length=254)]
_Reader = Annotated[str, Field(max_length=254, pattern=r"^(everyone|role:\S{1,50}|[^@\s]{1,64}@[^@\s]+)$")]
_Readers = Annotated[tuple[_Reader, ...], Field(max_length=500, strict=False)]
_Table = Annotated[dict[_Name, _Readers], Field(max_length=500)]


class PermissionSettings(ConnectorSettings):
    """Base of the settings of connectors that know who may read an item.

    With ``keep`` documents are restricted as the source restricts their items, with ``ignore`` all who read the knowledge
    base read them. People are matched by verified e-mail addresses. ``groups`` says who the members of groups of the source
    are, ``people`` who people are of whom the source tells only a name or an id: lists of addresses, ``role:NAME`` and, of
    a group, ``everyone`` (who reads the knowledge base). Those who are not there read nothing by it.
    """

    permissions: Literal["keep", "ignore"] = "keep"
    groups: _Table = Field(default_factory=dict)
    people: _Table = Field(default_factory=dict)

    @property
    def keeps_permissions(self) -> bool:
        """Whether documents are restricted as their items are."""
        return self.permissions == "keep"


class SourcePerson(BaseModel):
    """A person as a source names one."""

    model_config = ConfigDict(frozen=True)

    email: str = ""
    names: tuple[str, ...] = ()

    @property
    def identities(self) -> tuple[str, ...]:
        """For a list of ``Readers``."""
        email = [f"email:{self.email}"] if "@" in self.email else []
        return (*email, *(f"person:{name}" for name in self.names if name))


def group_identity(name: str) -> str:
    """A group, for a list of ``Readers``."""
    return f"{GROUP}{name}"
