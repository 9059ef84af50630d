"""Fixtures: a real daemon for the session, sandboxes for each test."""
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import pytest

from harness import (
    AS_ROOT,
    SPARE_AT_MOST,
    found_spare,
    new_daemon,
    remove_in_background,
    remove_later,
    slow,
)


def pytest_configure(config):
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # told to end, it still ends its daemons
    config.addinivalue_line("markers", "heavy: moves a lot of data; left out under sanitizers")
    config.addinivalue_line(
        "markers", "depth: of gate, vault and escape; tests/long runs it, ./test does not"
    )


# Test files that need the same addresses of this machine: one worker runs them one after the other.
SAME_ADDRESSES = {
    "outside-world": re.compile(r"test_(gate(?!_presets).*|upstream_proxy)\.py"),
    "vault-world": re.compile(r"test_vault.*\.py"),
}
# The groups that take longest. Workers begin with them, so that none is left with one at the end.
FIRST = (
    "test_backup.py",
    "vault-world",
    "outside-world",
    "test_operation.py",
    "test_escape.py",
    "test_chaos.py",
    "test_program_record.py",
    "test_no_host_network.py",
    "test_programs.py",
    "test_files.py",
    "test_large_answers.py",
    "test_python.py",
    "test_profiles.py",
    "test_cli.py",
    "test_services.py",
)


def group_of(name):
    """Returns the group of a test file. The tests of a group share a worker and its daemon."""
    return next((group for group, files in SAME_ADDRESSES.items() if files.match(name)), name)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Shards by group of files, in the order of collection."""
    from xdist.scheduler import LoadFileScheduling

    class ByGroup(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return group_of(super()._split_scope(nodeid).rsplit("/", 1)[-1])

    config.option.loadscopereorder = False
    return ByGroup(config, log)


def pytest_collection_modifyitems(items):
    if os.environ.get("PYTEST_XDIST_WORKER"):
        last = len(FIRST)
        rank = {name: at for at, name in enumerate(FIRST)}
        items.sort(key=lambda item: rank.get(group_of(item.path.name), last))
    if AS_ROOT and subprocess.run([*AS_ROOT, "true"], capture_output=True).returncode != 0:
        for item in items:
            item.add_marker(
                pytest.mark.skip(reason="the launcher needs root, or sudo that asks nothing")
            )


def pytest_sessionfinish():
    if not os.environ.get("PYTEST_XDIST_WORKER"):
        remove_later(found_spare()[SPARE_AT_MOST:])


@pytest.fixture(autouse=True)
def in_time():
    """No test waits for ever: one that hangs would take all others with it. CAY_TEST_SECONDS=0: as
    long as it takes."""
    limit = int(os.environ.get("CAY_TEST_SECONDS", "1200"))

    def over(*_):
        pytest.fail(
            f"the test did not end within {limit} s"
        )  # not for any `except Exception` on the way

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(limit)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def daemon(request):
    daemon = new_daemon().start()
    yield daemon
    daemon.close(keep_log=request.session.testsfailed > 0)


@pytest.fixture
def own_daemon(request):
    """A daemon of the test's own, to be killed and restarted."""
    made, failed = [], request.session.testsfailed

    def make(*args, env=None):
        daemon = new_daemon(*args, env=env).start()
        made.append(daemon)
        return daemon

    yield make
    for daemon in made:
        daemon.close(keep_log=request.session.testsfailed > failed)


@pytest.fixture(scope="session")
def http(daemon):
    with daemon.http() as client:
        yield client


@pytest.fixture
def box(daemon, http):
    """A fresh sandbox: its JSON object; removed afterwards."""
    answer = http.post("/api/v1/sandboxes", json={})
    assert answer.status_code == 201, answer.text
    made = answer.json()
    yield made
    http.delete(f"/api/v1/sandboxes/{made['id']}")


@pytest.fixture
def run(http, box):
    """run("sh line", **fields) -> the result object of the native API."""

    def call(command, **fields):
        body = {"command": command, "wait": True, "timeout_s": slow(30), **fields}
        answer = http.post(f"/api/v1/sandboxes/{box['id']}/commands", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return call


@pytest.fixture
def directory():
    """One that every user may pass, as the daemon's has to: tmp_path is root's alone."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="cay-test-directory-"))
    made.chmod(0o755)
    yield made
    remove_in_background(made)  # it may hold a restored snapshot
