"""What the API process does before it serves."""

import resource

from api.__main__ import raise_open_files


def test_api_may_open_as_many_files_as_the_system_lets_it():
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before - 1, hard))
        raise_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))
