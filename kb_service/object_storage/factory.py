"""Factory of the object store."""

from pydantic import SecretStr

from core.settings import Settings
from kb_service.object_storage.local import LocalObjectStore
from kb_service.object_storage.protocol import ObjectStore


def open_object_store(settings: Settings) -> ObjectStore:
    """The data folder, or the S3-compatible store of ``AGENTEX_OBJECT_STORE_URL``."""
    if settings.object_store_url is None:
        return LocalObjectStore(settings.data_dir / "files")
    # Loaded only where configured: 4 MB per process.
    from obstore.store import S3Store  # noqa: PLC0415

    from kb_service.object_storage.s3 import S3ObjectStore  # noqa: PLC0415

    store = S3Store.from_url(
        settings.object_store_url,
        client_options={"allow_http": True, "timeout": "60s", "connect_timeout": "5s"},
        **_credentials(settings),  # pyright: ignore[reportArgumentType] # text options all
    )
    return S3ObjectStore(store)


def _credentials(settings: Settings) -> dict[str, str]:
    """The configured credentials; the store finds others itself (environment, instance role)."""
    options = {
        "endpoint": settings.object_store_endpoint,
        "access_key_id": _plain(settings.object_store_access_key),
        "secret_access_key": _plain(settings.object_store_secret_key),
    }
    return {name: value for name, value in options.items() if value is not None}


def _plain(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()
