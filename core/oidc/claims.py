"""A person's identity, read from a provider's claims."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from core.errors.oidc import OidcTokenInvalid

_LONGEST_SUBJECT = 255


@dataclass(frozen=True)
class Identity:
    """A person, according to the provider; ``subject`` is their permanent id there.

    Args:
        email: may be anybody's unless it is verified.
        groups: the values of the claim for roles.
    """

    issuer: str
    subject: str
    email: str | None = None
    email_verified: bool = False
    username: str | None = None
    groups: tuple[str, ...] = ()


def read_identity(issuer: str, claims: Mapping[str, object], groups_claim: str | None) -> Identity:
    """Read checked claims; values of a wrong type count as absent."""
    subject = str(claims["sub"])
    if not 1 <= len(subject) <= _LONGEST_SUBJECT:
        raise OidcTokenInvalid("sub")
    groups = get_claim(claims, groups_claim) if groups_claim else None
    listed = cast(list[object], groups) if isinstance(groups, list) else [groups]
    return Identity(
        issuer,
        subject,
        email=_text(claims.get("email")),
        # Some providers send the word.
        email_verified=claims.get("email_verified") in (True, "true"),
        username=_text(claims.get("preferred_username")) or _text(claims.get("nickname")),
        groups=tuple(name for name in listed if isinstance(name, str)),
    )


def get_claim(claims: Mapping[str, object], path: str) -> object:
    """The claim of this name, else the one at the end of this dotted path, else None."""
    if path in claims:
        return claims[path]
    value: object = dict(claims)
    for name in path.split("."):
        value = _member(value, name)
    return value


def _member(value: object, name: str) -> object:
    return cast(dict[str, object], value).get(name) if isinstance(value, dict) else None


def merge_userinfo(claims: Mapping[str, object], userinfo: Mapping[str, object]) -> Mapping[str, object]:
    """The claims of an ID token, completed with those of the userinfo endpoint.

    An address and whether it is verified come from one source, or one could vouch for the other's.
    """
    address = {"email", "email_verified"}
    rest = {name: value for name, value in userinfo.items() if name not in address}
    return {**(rest if "email" in claims else userinfo), **claims}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
