"""The pool of encoder sessions, one for each thread."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier

import pytest

from kb_service.embeddings.builtin.runtime import PerThreadPool


def test_threads_side_by_side_have_one_each_and_keep_to_it():
    bound, together = PerThreadPool("ab"), Barrier(2)

    def use() -> str:
        seen = ""
        for _ in range(50):
            with bound.borrow() as thing:
                seen += thing
                # Both have one now.
                together.wait(10)
        return seen

    with ThreadPoolExecutor(2) as pool:
        first, second = (used.result() for used in [pool.submit(use), pool.submit(use)])
    assert {first[-49:], second[-49:]} == {"a" * 49, "b" * 49}


def test_more_users_than_things_share_them_evenly():
    bound = PerThreadPool("ab")
    with ExitStack() as stack:
        assert sorted(stack.enter_context(bound.borrow()) for _ in range(4)) == ["a", "a", "b", "b"]


def test_thing_is_given_back_after_an_error():
    bound = PerThreadPool("ab")
    with pytest.raises(RuntimeError), bound.borrow():
        raise RuntimeError
    with bound.borrow() as thing:
        assert thing == "a"
