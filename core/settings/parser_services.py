"""Settings of the parsing services that the operator runs beside Agentex."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field, SecretStr


def _check_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("is no address that begins with http:// or https://")
    if parts.username is not None:
        raise ValueError("holds credentials: name the key in its own setting")
    if parts.query or parts.fragment:
        raise ValueError("takes no query and no fragment")
    return url.rstrip("/")


def _check_key(key: SecretStr) -> SecretStr:
    text = key.get_secret_value()
    if not (text.isascii() and text.isprintable() and text == text.strip()):
        raise ValueError("is no key: it holds characters that no header can carry")
    return key


SERVICE_URLS = {"unstructured_api": "unstructured_api_url", "docling": "docling_url", "mineru": "mineru_url"}
"""The setting with the address of each parser that is a service."""
SERVICE_KEYS = {"unstructured_api": "unstructured_api_key", "docling": "docling_api_key", "mineru": "mineru_api_key"}
"""The setting with its key."""
ServiceUrl = Annotated[str, AfterValidator(_check_url)]
"""An address without credentials, query and slash at its end."""
ServiceKey = Annotated[SecretStr, AfterValidator(_check_key)]


class ParserServiceSettings(BaseModel):
    """Addresses and keys of the services that ``AGENTEX_PARSERS`` may name."""

    unstructured_api_url: ServiceUrl | None = Field(
        default=None, description="Address of Unstructured's API, such as http://unstructured:8000."
    )
    unstructured_api_key: ServiceKey | None = Field(default=None, description="Its key, if it asks for one.")
    docling_url: ServiceUrl | None = Field(
        default=None, description="Address of docling-serve, such as http://docling:5001."
    )
    docling_api_key: ServiceKey | None = Field(default=None, description="Its key, if it asks for one.")
    mineru_url: ServiceUrl | None = Field(
        default=None, description="Address of mineru-api, such as http://mineru:8000."
    )
    mineru_api_key: ServiceKey | None = Field(
        default=None, description="Bearer token for a proxy before mineru-api, which has no key of its own."
    )
    mineru_backend: str | None = Field(
        default=None,
        pattern=r"^[a-z][a-z-]*$",
        description="Backend that mineru-api works with, such as pipeline; without it its own default.",
    )
    parser_service_seconds: float = Field(
        default=3600, gt=0, description="Longest reading of one document by a parsing service."
    )
