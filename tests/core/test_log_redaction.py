"""The redaction of secrets in log lines."""

import pytest

from core.logging import redact_secrets


@pytest.mark.parametrize(
    "text",
    [
        "redis://:hunter2@redis:6379/0",
        "rediss://default:hunter2@redis:6379/0",
        "postgresql+asyncpg://agentex:hunter2@db/agentex",
        "Authorization: Bearer hunter2",
        "key sk-hunter2hunter2",
        "token eyJhbGciOi.eyJodW50ZXIy.hunter2",
    ],
)
def test_text_that_holds_a_secret_is_cleared_of_it(text):
    event = redact_secrets(None, "info", {"event": text, "details": {"urls": [text]}})
    assert "hunter2" not in str(event)
    assert "[redacted]" in str(event["event"])


@pytest.mark.parametrize("key", ["password", "api_key", "refresh_token", "X-Api-Key".lower()])
def test_field_of_a_telling_name_is_cleared_whatever_it_holds(key):
    assert "hunter2" not in str(redact_secrets(None, "info", {"event": "e", "more": {key: "hunter2"}}))


def test_address_without_a_password_stays_readable():
    event = {"event": "redis://redis:6379/0 and http://host/a:b@c"}
    assert redact_secrets(None, "info", dict(event)) == event
