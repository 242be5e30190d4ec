"""Creation of the provider of the settings."""

from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from core.oidc.auth_request import CALLBACK_PATH
from core.outbound.guard import OutboundGuard, ReachNow
from core.settings import Settings
from core.types.network import HostPort

if TYPE_CHECKING:
    from core.oidc.provider import OidcProvider


def open_provider(settings: Settings, reach: ReachNow | None = None) -> "OidcProvider | None":
    """The provider of the settings, None if there is none.

    The issuer may be at a private address without being listed: the operator set it, and users
    can't. The endpoints that it names must be public, listed, or on the issuer's own host. What is
    listed is asked for at ``reach``; without one it is the environment's list.
    """
    if settings.oidc_issuer is None:
        return None
    issuer = urlsplit(settings.oidc_issuer)
    port = issuer.port or (443 if issuer.scheme == "https" else 80)
    there = HostPort(issuer.hostname or "", port).key
    guard = OutboundGuard([there], reach) if reach else OutboundGuard([*settings.allowed_private_targets, there])
    # Imported by name: without sign-ons the protocol's libraries are not loaded.
    transport = import_module("core.outbound.transports").GuardedHttpx2Transport(guard)
    provider = import_module("core.oidc.provider").OidcProvider
    return provider(settings, settings.browser_url + CALLBACK_PATH, transport)
