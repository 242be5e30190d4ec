"""The accepted names of time zones."""

from zoneinfo import ZoneInfo

import pytest

from core.time_zones import LONGEST_NAME, find_zone, zone_names


@pytest.mark.parametrize("name", ["UTC", "Asia/Shanghai", "America/Argentina/Ushuaia", "Etc/GMT+8"])
def test_iana_name_is_found(name: str):
    assert find_zone(name) == ZoneInfo(name)


@pytest.mark.parametrize(
    "name",
    ["", "local", "localtime", "Factory", "posixrules", "right/UTC", "asia/shanghai", "UTC ", "+08:00",
     "../../etc/passwd", "/etc/localtime", "Etc", "Mars/Phobos", "\0", "é", "Asia/Shanghai\n"],
)  # fmt: skip
def test_what_is_no_iana_name_is_not_found(name: str):
    assert find_zone(name) is None


def test_every_name_on_the_list_is_a_zone_that_can_be_stored():
    assert len(zone_names()) > 400
    assert all(find_zone(name) is not None for name in zone_names())
    assert max(map(len, zone_names())) <= LONGEST_NAME
