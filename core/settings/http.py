"""Settings of access: origins, proxies, registration, rate limits."""

import re
from ipaddress import ip_network
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from core.settings.oidc import OidcSettings

# What browsers send as Origin; a wildcard would open the API to every page.
_ORIGIN = re.compile(r"https?://[a-z0-9.\[\]:_-]+")


class AccessSettings(OidcSettings):
    """Settings of access."""

    registration_enabled: bool = Field(default=True, description="Whether anyone may register.")
    access_token_seconds: int = Field(default=1800, ge=60, description="Life of an access token.")
    refresh_token_seconds: int = Field(default=14 * 86400, ge=300, description="Life of a refresh token.")
    requests_per_minute: int = Field(
        default=3000,
        ge=0,
        description="Requests per minute of one user, and of one address without a credential; 0: no limit.",
    )
    key_requests_per_minute: int = Field(
        default=2400, ge=0, description="Requests per minute with one API key; 0: no limit."
    )
    source_events_per_minute: int = Field(
        default=600, ge=0, description="Signed events per minute of one event source of rules; 0: no limit."
    )
    wrong_logins: int = Field(
        default=10, ge=0, description="Wrong passwords for one account from one address in five minutes; 0: no limit."
    )
    address_wrong_logins: int = Field(
        default=100,
        ge=0,
        description="Wrong passwords from one address in five minutes, whatever the accounts; 0: no limit.",
    )
    address_registrations: int = Field(
        default=600, ge=0, description="Registrations that one address may try in an hour; 0: no limit."
    )
    trusted_proxies: str = Field(
        default="127.0.0.1",
        description="Addresses or networks of reverse proxies, with commas, whose "
        "X-Forwarded-For is believed; none: nobody's. To name one also says that other machines reach the API.",
    )
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Origins, with commas, whose pages may call the API from a browser (CORS)."
    )

    @property
    def names_proxies(self) -> bool:
        """Whether the operator named proxies; the default is no sign of one."""
        entries = {entry.strip() for entry in self.trusted_proxies.split(",")}
        return "trusted_proxies" in self.model_fields_set and entries != {"none"}

    @field_validator("trusted_proxies")
    @classmethod
    def _check_proxies(cls, value: str) -> str:
        for entry in map(str.strip, value.split(",")):
            if entry == "none":
                continue
            try:
                ip_network(entry)
            except ValueError:
                raise ValueError("is not a list of addresses or networks") from None
        return value

    @field_validator("allowed_origins", mode="before")
    @classmethod
    def _read_origins(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(origin.strip() for origin in value.split(",") if origin.strip())

    @field_validator("allowed_origins")
    @classmethod
    def _check_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for origin in value:
            if not _ORIGIN.fullmatch(origin):
                raise ValueError("names what is no origin such as https://wiki.example.com")
        return value
