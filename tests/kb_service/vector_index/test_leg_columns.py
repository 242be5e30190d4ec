"""A leg in columns, equal to the list of its hits."""

from hypothesis import given
from hypothesis import strategies as st

from kb_service.vector_index.protocol import NO_HITS, HitList, IndexHit

_HITS = st.lists(
    st.builds(
        IndexHit,
        st.uuids().map(str),
        st.floats(0, 100),
        st.sampled_from(["a", "b"]),
        st.integers(1, 9),
        st.none() | st.sampled_from(["c", "d"]),
    ),
    max_size=20,
    unique_by=lambda hit: hit.id,
)


@given(_HITS, st.integers(-25, 25), st.integers(-25, 25))
def test_a_leg_is_the_list_of_its_hits(hits: list[IndexHit], start: int, stop: int) -> None:
    leg = HitList.from_hits(hits)
    assert list(leg) == hits
    assert len(leg) == len(hits)
    assert [leg[place] for place in range(len(leg))] == hits
    assert list(leg[start:stop]) == hits[start:stop]
    assert HitList.from_hits(iter(leg)) == leg
    assert bool(leg) == bool(hits)


@given(_HITS, st.data())
def test_only_some_of_the_hits_keep_their_order(hits: list[IndexHit], data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.sampled_from([hit.id for hit in hits]))) if hits else set[str]()
    leg = HitList.from_hits(hits).restricted_to(chosen | {"elsewhere"})
    assert list(leg) == [hit for hit in hits if hit.id in chosen]


def test_no_hits_are_no_hits() -> None:
    assert HitList.from_hits([]) == NO_HITS
    assert not NO_HITS
    assert list(NO_HITS) == []
