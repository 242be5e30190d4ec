"""The setting ``AGENTEX_EMBEDDING_MODELS``: encoders beside the built-in one."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

# The longest that a collection's and a folder's name stay legal everywhere.
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"


class EmbeddingModelSetting(BaseModel):
    """A model that the operator offers; capabilities of well-known names may be left out.

    Args:
        name: the name in requests for knowledge bases, and of folder and collection.
        kind: ``endpoint`` speaks OpenAI's ``/embeddings``; ``sentence_transformers`` runs in the engine.
        model: the name at the endpoint or on the hub; by default ``name``.
        base_url: the endpoint's address without ``/embeddings``.
        api_key: its key, or ``$NAME`` of the variable that holds it.
        languages: ISO 639-1 codes it was trained for.
        window_tokens: longest text it reads at once.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str = Field(pattern=_NAME)
    kind: Literal["endpoint", "sentence_transformers"]
    model: str | None = Field(default=None, min_length=1)
    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s/]+")
    api_key: SecretStr | None = None
    path: Path | None = None
    dimension: int | None = Field(default=None, ge=1, le=65_536)
    languages: frozenset[str] | None = Field(default=None, min_length=1)
    window_tokens: int | None = Field(default=None, ge=16, le=1_000_000)
    query_prefix: str | None = None
    passage_prefix: str | None = None
    batch: int = Field(default=64, ge=1, le=2048)

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "EmbeddingModelSetting":
        if self.kind == "endpoint" and self.base_url is None:
            raise ValueError("an endpoint needs base_url")
        if self.kind == "endpoint" and self.path is not None:
            raise ValueError("an endpoint has no path")
        if self.kind == "sentence_transformers" and self.base_url is not None:
            raise ValueError("only an endpoint has base_url")
        if self.path is not None and not self.path.expanduser().is_dir():
            raise ValueError(f"there is no folder {self.path}")
        return self

    def with_key(self, find: Callable[[str], str | None]) -> "EmbeddingModelSetting":
        """This model with the key itself if ``api_key`` names a variable; raises ``ValueError`` if that is not set."""
        reference = self.api_key.get_secret_value() if self.api_key else ""
        if not reference.startswith("$"):
            return self
        key = find(reference[1:])
        if not key:
            raise ValueError(f"the variable {reference[1:]} is not set")
        return self.model_copy(update={"api_key": SecretStr(key)})
