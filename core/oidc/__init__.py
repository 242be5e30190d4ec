"""Asking an OpenID Connect provider who somebody is."""

from typing import TYPE_CHECKING

from core.oidc.identity import Identity
from core.oidc.opening import open_provider
from core.oidc.sign_in import CALLBACK_PATH, Answer, Questions

if TYPE_CHECKING:
    from core.oidc.provider import Provider

__all__ = ["CALLBACK_PATH", "Answer", "Identity", "Provider", "Questions", "open_provider"]
