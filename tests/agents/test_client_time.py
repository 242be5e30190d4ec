"""The client's time of a request, and its fixed order of time zones."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.agui.decoder import read_run_request
from agents.client_time import ClientTime, UserClock, read_client_time
from core.errors.requests import InvalidRequest, InvalidRunInput
from core.time_zones import zone_names

EXAMPLE = {
    "device_timezone": "America/Los_Angeles",
    "client_now_iso": "2026-03-16T09:12:33-07:00",
    "client_epoch_ms": 1773658353000,
}


def fault_of(**changes: Any) -> str:
    with pytest.raises(InvalidRunInput) as caught:
        read_client_time({**EXAMPLE, **changes})
    return caught.value.details["error"]


def test_example_of_the_document_is_read():
    found = read_client_time(EXAMPLE)

    assert found is not None
    assert found.device_timezone == "America/Los_Angeles"
    assert found.now == datetime.fromisoformat("2026-03-16T09:12:33-07:00")
    assert found.now.utcoffset() == timedelta(hours=-7)
    assert found.epoch_ms == 1773658353000


def test_camel_case_keys_are_read_too():
    camel = {
        "deviceTimezone": EXAMPLE["device_timezone"],
        "clientNowIso": EXAMPLE["client_now_iso"],
        "clientEpochMs": EXAMPLE["client_epoch_ms"],
    }
    assert read_client_time(camel) == read_client_time(EXAMPLE)


def test_null_is_no_client_time():
    assert read_client_time(None) is None


@pytest.mark.parametrize("value", [None, 8, "", "PST", "UTC+8", "Asia/Peking", ["UTC"], "UTC\0"])
def test_device_timezone_that_is_no_iana_name_is_refused(value: Any):
    assert fault_of(device_timezone=value) == "invalid client_time.device_timezone"


@pytest.mark.parametrize(
    "value",
    [None, 5, "", "now", "2026-03-16", "2026-03-16T09:12:33", "2026-03-16T09:12-07:00",
     "2026-03-16T09:12:33-0700", "2026-03-16T09:12:33 -07:00", "2026-02-30T09:12:33Z",
     "2026-03-16T24:12:33Z", "2026-03-16T09:12:33+24:00", "2026-03-16T09:12:33+08:60",
     "２０２６-03-16T09:12:33Z", "2026-03-16T09:12:33Z\n", "20260316T091233Z"],
)  # fmt: skip
def test_client_now_that_is_no_rfc_3339_moment_with_offset_is_refused(value: Any):
    assert fault_of(client_now_iso=value) == "invalid client_time.client_now_iso"


@pytest.mark.parametrize(
    "value", ["2026-03-16T09:12:33Z", "2026-03-16t09:12:33z", "2026-03-16T09:12:33.123456789+05:45"]
)
def test_every_form_of_rfc_3339_is_read(value: str):
    assert read_client_time({**EXAMPLE, "client_now_iso": value}) is not None


@pytest.mark.parametrize("value", [None, "1773658353000", 1773658353000.0, 1.5, True, 10**16])
def test_client_epoch_that_is_no_whole_number_of_milliseconds_is_refused(value: Any):
    assert fault_of(client_epoch_ms=value) == "invalid client_time.client_epoch_ms"


@pytest.mark.parametrize("value", ["text", 3, [], True, {}])
def test_what_is_no_client_time_at_all_is_refused(value: Any):
    with pytest.raises(InvalidRunInput):
        read_client_time(value)


def test_run_input_carries_it_and_names_its_fault():
    ask = {"id": "m", "role": "user", "content": "hi"}
    body: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": [ask]}
    props = {"agent_type": "react", "client_time": EXAMPLE}
    request = read_run_request({**body, "forwardedProps": props})
    assert request.options.client_time == read_client_time(EXAMPLE)

    wrong = {"client_time": {**EXAMPLE, "device_timezone": "Nowhere"}}
    with pytest.raises(InvalidRunInput) as caught:
        read_run_request({**body, "forwardedProps": wrong})
    assert caught.value.details == {
        "field": "forwardedProps.client_time.device_timezone",
        "error": "invalid client_time.device_timezone",
        "error_zh": "client_time.device_timezone 无效",
    }


NAMES = st.sampled_from(sorted(zone_names()))
MAYBE = st.one_of(st.none(), NAMES)


@given(explicit=MAYBE, device=MAYBE, profile=MAYBE)
def test_the_first_source_that_names_a_zone_counts(explicit: str | None, device: str | None, profile: str | None):
    now = datetime.fromisoformat("2026-03-16T09:12:33Z")
    client_time = None if device is None else ClientTime(device, now, 0)
    chosen = UserClock(client_time, profile).zone(explicit)

    order = [
        (explicit, "event_timezone"),
        (device, "client_time"),
        (profile, "profile"),
        ("UTC", "utc"),
    ]
    assert (chosen.name, chosen.source) == next(pair for pair in order if pair[0] is not None)


def test_zone_named_for_an_event_must_exist():
    with pytest.raises(InvalidRequest) as caught:
        UserClock(None, "Asia/Shanghai").zone("Asia/Peking")
    assert caught.value.details["field"] == "event_timezone"


def test_profile_whose_zone_is_no_more_counts_as_none():
    assert UserClock(None, "Asia/Gone").zone().source == "utc"
