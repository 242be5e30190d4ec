"""``docs/ingestion.md`` says what is so: reasons, states, limits, the tests it names."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from core.settings import Settings
from ingestion.parsers.errors import FailureReason
from kb_service.models import DocumentStage, DocumentStatus
from scripts import failure_table
from tests.fixtures.paths import ROOT
from tests.test_docs import PIPELINE_REASONS

PAGE = (ROOT / "docs" / "ingestion.md").read_text(encoding="utf-8")


def test_table_of_reasons_is_that_of_the_product():
    assert failure_table.render() in PAGE, "run python -m scripts.failure_table"


@pytest.mark.parametrize("name", [*DocumentStatus, *sorted(PIPELINE_REASONS)])
def test_every_status_and_reason_has_a_row(name: str):
    assert f"\n| `{name}` |" in PAGE


@pytest.mark.parametrize("stage", set(DocumentStage) - {DocumentStage.QUEUED, DocumentStage.DONE})
def test_every_stage_of_the_work_is_explained(stage: str):
    assert f"`{stage}`" in PAGE


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("max_upload_bytes", lambda value: f"{value // 2**20} MiB"),
        ("parse_timeout_seconds", lambda value: f"{value} s"),
        ("parse_memory_bytes", lambda value: f"{value // 2**30} GiB"),
        ("parse_output_characters", lambda value: f"{value // 10**6} million characters"),
        ("ingest_concurrency", str),
        ("lease_seconds", lambda value: f"{value} s"),
        ("reconcile_seconds", lambda value: f"{value} s"),
    ],
)
def test_limits_are_the_defaults(name: str, shown: Callable[[Any], str]):
    default = Settings.model_fields[name].default
    assert f"| {shown(default)} | `AGENTEX_{name.upper()}` |" in PAGE


def test_every_test_that_is_named_exists():
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def test_a_reason_that_is_missing_would_be_noticed():
    row = f"| `{FailureReason.EMPTY_TEXT.value}` |"
    assert failure_table.render() not in PAGE.replace(row, "| `other` |")
