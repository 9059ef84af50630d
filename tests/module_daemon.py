"""A daemon of a test module's own, in place of the session's: what waits in it must not count as
what that one holds.

    from module_daemon import daemon, http  # noqa: F401 (fixtures)
"""
import pytest

from harness import new_daemon


@pytest.fixture(scope="module")
def daemon():
    made = new_daemon().start()
    yield made
    made.close()


@pytest.fixture(scope="module")
def http(daemon):
    with daemon.http() as client:
        yield client
