"""Tables of registered models and of token usage."""

from datetime import date, datetime

from pydantic import JsonValue
from sqlalchemy import JSON, Index, Text, text
from sqlmodel import Field

from core.db.base import Table
from core.db.types import ID_LENGTH, UtcDateTime, new_id, utc_now

LONGEST_NAME = 100
LONGEST_MODEL_ID = 200


class RegisteredModel(Table, table=True):
    """A registered language model (docs/reference/agentex-api.md, section 6).

    An empty ``base_url`` means the provider's preset. ``model_id`` is the name at the endpoint. Prices are per million
    tokens, in the operator's own currency. ``role_access`` and ``user_access`` hold ids; if both are null everybody may
    use the model. ``revision`` grows with each change.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    name: str = Field(max_length=LONGEST_NAME, unique=True)
    provider: str = Field(max_length=50)
    base_url: str = Field(default="", max_length=2048)
    sealed_api_key: str | None = Field(default=None, sa_type=Text)
    model_id: str = Field(max_length=LONGEST_MODEL_ID)
    max_tokens: int | None = None
    temperature: float | None = None
    options: dict[str, JsonValue] = Field(default_factory=dict, sa_type=JSON)
    input_price: float | None = None
    output_price: float | None = None
    is_default: bool = False
    enabled: bool = True
    role_access: list[str] | None = Field(default=None, sa_type=JSON(none_as_null=True))
    user_access: list[str] | None = Field(default=None, sa_type=JSON(none_as_null=True))
    revision: int = 0
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    __table_args__ = (
        Index(
            "uq_registered_model_default",
            "is_default",
            unique=True,
            sqlite_where=text("is_default"),
            postgresql_where=text("is_default"),
        ),
    )


class ModelUsage(Table, table=True):
    """Tokens of a person on a model (name at the endpoint) and day (UTC), kept without sessions; cost needs a price."""

    day: date = Field(primary_key=True)
    user_id: str = Field(primary_key=True, max_length=ID_LENGTH)
    model_id: str = Field(primary_key=True, max_length=ID_LENGTH)
    model: str = Field(primary_key=True, max_length=LONGEST_MODEL_ID)
    runs: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
