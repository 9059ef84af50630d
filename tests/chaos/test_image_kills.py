"""Kills while snapshots are made and removed, the short form. A stray layer is seen."""
import os
import shutil

import pytest

from harness import needs_root, new_daemon, slow
from image_kills import Config, Run, image_kills
from service_group import ServiceGroup

pytestmark = [pytest.mark.heavy, needs_root]


@pytest.fixture(scope="module")
def service():
    daemon = new_daemon()
    group = ServiceGroup(daemon)
    daemon.start()
    yield daemon, group
    daemon.close()
    group.remove()


def test_what_was_finished_is_found_and_nothing_leaks(service):
    done = ("snapshots made", "snapshots built", "volumes written")
    config = Config(seed=25, kills=8, check_every=4, longest=1.2, until=done, seconds=slow(90))
    run = image_kills(config, *service)
    print(dict(run.figures))
    assert not run.wrong, run.wrong
    assert run.figures["kills"] >= 8 and all(run.figures[name] for name in done), run.figures
    assert run.figures["looks at the store"] >= 2


def test_a_layer_that_nobody_knows_is_seen(service):
    daemon, group = service
    run = Run(Config(), daemon, group)
    assert not run.differences()
    stray = daemon.data / "layers" / "00000000-0000-4000-8000-000000000000"
    stray.mkdir()
    (stray / "layers").write_text("")
    try:
        assert {"rows and list", "list and store"} <= set(run.differences())
    finally:
        shutil.rmtree(stray)
    assert os.path.isdir(daemon.data / "layers")
