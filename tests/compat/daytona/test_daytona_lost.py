"""The client tells a failure of Cay's from the end of a program."""

import threading

import pytest

import harness


def test_a_lost_sandbox_is_an_internal_error(own_daemon):
    from daytona import Daytona, DaytonaConfig
    from daytona.common.errors import DaytonaGoneError, DaytonaInternalServerError

    daemon = own_daemon()
    client = Daytona(DaytonaConfig(api_key=daemon.key, api_url=f"{daemon.url}/daytona"))

    def raised_by(end):
        """What a command that runs raises when `end` befalls its sandbox."""
        box = client.create()
        caught = []

        def run():
            try:
                caught.append(box.process.exec("touch /tmp/begun; sleep 600"))
            except Exception as error:  # the test looks at its class
                caught.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        begun = lambda: box.process.exec("test -e /tmp/begun").exit_code == 0
        harness.wait_until(begun, "the command's file")
        end(box)
        thread.join(harness.slow(60))
        assert len(caught) == 1
        return caught[0]

    lost = raised_by(lambda box: harness.kill_keeper(daemon, box.id))
    assert type(lost) is DaytonaInternalServerError, repr(lost)
    assert lost.status_code == 500
    stopped = raised_by(lambda box: box.stop())
    assert type(stopped) is DaytonaGoneError, repr(stopped)
    assert "sandbox stop" in str(stopped)
