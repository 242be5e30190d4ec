"""Trigger tests without a model: the names of the chosen skills."""

import pytest

from skills.selection import trigger_tests
from skills.selection.trigger_tests import TriggerCandidates, TriggerQuery
from skills.store.catalog import CatalogCard

pytestmark = pytest.mark.anyio


def card(owner: str, description: str) -> CatalogCard:
    return CatalogCard(
        "report", "Report", description, id=f"of-{owner}", owner=owner, owner_id=owner, version=1, sha=""
    )  # fmt: skip


async def test_anothers_skill_is_told_from_ones_own_of_the_same_slug():
    theirs = card("ben", "Writes the daily report of a team.")
    mine = card("anna", "Translates invoices between currencies.")
    queries = [
        TriggerQuery("write the daily report", True),
        TriggerQuery("translate invoices", True),
    ]
    told = await trigger_tests.run_offline(TriggerCandidates(theirs, (mine,), "anna"), queries, None)
    assert [answer.chosen for answer in told.answers] == ["ben/report", "report"]
    assert told.confusion == {"report": 1}
