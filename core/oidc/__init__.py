"""Asking an OpenID Connect provider who somebody is."""

from core.oidc.identity import Identity
from core.oidc.provider import CALLBACK_PATH, Answer, Provider, Questions, open_provider

__all__ = ["CALLBACK_PATH", "Answer", "Identity", "Provider", "Questions", "open_provider"]
