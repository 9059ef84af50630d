"""Fixtures of a daemon for one test file alone, for tests that measure its memory.

A file imports both names. They replace the shared `daemon` and `http` of conftest.py there.
"""

import pytest

from harness import new_daemon


@pytest.fixture(scope="module")
def daemon(request):
    daemon = new_daemon().start()
    yield daemon
    daemon.close(keep_log=request.session.testsfailed > 0)


@pytest.fixture(scope="module")
def http(daemon):
    with daemon.http() as client:
        yield client
