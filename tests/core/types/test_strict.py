"""Strict numbers and booleans of request bodies."""

from datetime import datetime
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from core.types.strict import StrictJsonModel

Share = Annotated[float | None, Field(ge=0, le=1, allow_inf_nan=False)]


class Choice(StrictJsonModel):
    share: Share = None
    count: Annotated[int | None, Field(ge=1)] = None
    is_on: bool | None = None


class Wish(Choice):
    since: datetime | None = None
    numbers: tuple[int, ...] = ()
    by_name: dict[str, float] | None = None
    type: Literal["a"] = "a"
    inner: Choice = Choice()
    several: tuple[Choice, ...] = ()


@pytest.mark.parametrize(
    "given",
    [
        {"share": "1"}, {"share": True}, {"count": "1"}, {"count": True}, {"count": 1.5},
        {"is_on": 1}, {"is_on": "true"}, {"numbers": ["1"]}, {"by_name": {"a": "1"}},
        {"inner": {"share": False}}, {"several": [{"count": "7"}]}, {"share": 2},
    ],
)  # fmt: skip
def test_word_or_truth_value_is_no_number_and_number_no_truth_value(given: dict[str, Any]):
    with pytest.raises(ValidationError):
        Wish.model_validate(given)


def test_numbers_and_moments_are_taken_as_json_writes_them():
    given = {"share": 1, "count": 2.0, "is_on": False, "since": "2026-01-01T00:00:00Z"}
    wish = Wish.model_validate({**given, "numbers": [1], "inner": {"share": 0.5}})
    assert (wish.share, wish.count, wish.is_on, wish.inner.share) == (1.0, 2, False, 0.5)
    assert wish.since is not None


def test_description_of_a_number_stays_the_same():
    class Plain(BaseModel):
        share: Share = None

    class Strict(StrictJsonModel):
        share: Share = None

    assert Strict.model_json_schema()["properties"] == Plain.model_json_schema()["properties"]
