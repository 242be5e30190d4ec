"""Who may read a resource, by what a reader of LlamaIndex says of its permissions.

``ResourcesReaderMixin.get_permission_info`` gives a dictionary without a schema. These keys are understood, which are those
of the reader of SharePoint (``allowed_user_ids``, ``allowed_group_display_names`` …) and plain ones.
"""

import re
from collections.abc import Mapping, Sequence

from ingestion.connectors.base import Readers
from ingestion.connectors.permissions import NOBODY, SourcePerson, group_identity

_PEOPLE = re.compile(r"(allowed_)?(site)?(users?|people|emails?)(_(ids?|emails?|names?))?", re.IGNORECASE)
_GROUPS = re.compile(r"(allowed_)?(site)?groups?(_(ids?|names?|display_names?))?", re.IGNORECASE)
_EVERYONE = re.compile(r"everyone|public|is_public", re.IGNORECASE)


def readers_of(info: Mapping[str, Sequence[str]] | None) -> Readers | None:
    """One list of all whom the reader names, by addresses, ids and names of groups.

    Returns:
        None for a reader that knows no permissions; ``NOBODY`` where nothing that it says is understood.
    """
    if info is None:
        return None
    identities: set[str] = set()
    for key, names in info.items():
        if _EVERYONE.fullmatch(key) and [*names] == ["True"]:
            return ()
        if _PEOPLE.fullmatch(key):
            identities.update(identity for name in names for identity in _person(name).identities)
        elif _GROUPS.fullmatch(key):
            identities.update(group_identity(name) for name in names if name)
    return (tuple(sorted(identities)),) if identities else NOBODY


def _person(name: str) -> SourcePerson:
    return SourcePerson(email=name) if "@" in name else SourcePerson(names=(name,))
