"""Asking an OpenID Connect provider who somebody is."""

from typing import TYPE_CHECKING

from core.oidc.auth_request import CALLBACK_PATH, Answer, Questions
from core.oidc.claims import Identity
from core.oidc.factory import open_provider

if TYPE_CHECKING:
    from core.oidc.provider import Provider

__all__ = ["CALLBACK_PATH", "Answer", "Identity", "Provider", "Questions", "open_provider"]
