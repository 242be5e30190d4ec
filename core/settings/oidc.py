"""Settings of single sign-on with OpenID Connect."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import NoDecode

from core.settings.json_values import read_json

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")


def is_secure_url(url: str) -> bool:
    """Whether secrets may be sent to a URL: HTTPS, or this machine itself."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or parts.username is not None or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)


class OidcSettings(BaseModel):
    """Settings of single sign-on."""

    oidc_issuer: str | None = Field(
        default=None,
        description="OpenID Connect issuer that people may log in with, as its discovery document "
        "spells it; without it there is no single sign-on.",
    )
    oidc_client_id: str | None = Field(
        default=None, validate_default=True, description="Client id that the issuer knows Agentex by."
    )
    oidc_client_secret: SecretStr | None = Field(
        default=None, description="Secret of that client; without it a public client."
    )
    oidc_scopes: str = Field(
        default="openid email profile", description="Scopes that are asked for, with spaces; openid is one of them."
    )
    oidc_public_url: str | None = Field(
        default=None,
        description="Address at which browsers reach Agentex, such as https://agentex.example.com; "
        "without it http:// with host and port of the settings. Servers of MCP connections, too, send people back there.",
    )
    oidc_registration_enabled: bool | None = Field(
        default=None,
        description="Whether people whom the issuer knows and Agentex does not get an account; "
        "without it as AGENTEX_REGISTRATION_ENABLED says.",
    )
    oidc_link_by_email: bool = Field(
        default=False,
        description="Whether an account that is there goes to whom the issuer has verified its "
        "e-mail address for; its password, logins and API keys end then.",
    )
    oidc_email_domains: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Domains, with commas, of verified e-mail addresses that may log in this way; "
        "without any, every address may.",
    )
    oidc_roles_claim: str | None = Field(
        default=None, description="Claim that names a person's groups, such as groups or realm_access.roles."
    )
    oidc_roles: Annotated[dict[str, str], NoDecode] = Field(
        default={},
        validate_default=True,
        description="Roles by group, a JSON object; the first group that a person is in counts, at each login.",
    )

    @field_validator("oidc_issuer", "oidc_public_url")
    @classmethod
    def _check_url(cls, value: str | None) -> str | None:
        if value is not None and (not is_secure_url(value) or urlsplit(value).query):
            raise ValueError("is no https address (http is for this machine only)")
        return value

    @field_validator("oidc_scopes")
    @classmethod
    def _check_scopes(cls, value: str) -> str:
        if "openid" not in value.split():
            raise ValueError("lacks the scope openid")
        return " ".join(value.split())

    @field_validator("oidc_email_domains", mode="before")
    @classmethod
    def _read_domains(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(domain.strip().lower() for domain in value.split(",") if domain.strip())

    @field_validator("oidc_email_domains")
    @classmethod
    def _check_domains(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(map(_DOMAIN.fullmatch, value)):
            raise ValueError("names what is no domain such as example.com")
        return value

    @field_validator("oidc_roles", mode="before")
    @classmethod
    def _read_roles(cls, value: object) -> object:
        return read_json(value, "object")

    @field_validator("oidc_client_id")
    @classmethod
    def _check_client(cls, value: str | None, info: ValidationInfo) -> str | None:
        if not value and info.data.get("oidc_issuer"):
            raise ValueError("is needed where AGENTEX_OIDC_ISSUER is set")
        return value

    @field_validator("oidc_roles")
    @classmethod
    def _check_roles(cls, value: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if bool(value) != bool(info.data.get("oidc_roles_claim")):
            raise ValueError("goes together with AGENTEX_OIDC_ROLES_CLAIM")
        return value
