"""A stop in the middle of a call: what the call left running is ended, and the log has its end."""

import signal

from harness import wait_until
from model_server import Call, Turn, model_server
from test_agent import user  # noqa: F401 (a fixture)
from test_agent_limits import sleepers

PROGRAM = Call("run_code", {"language": "bash", "code": "touch /tmp/begun; sleep 1000"})


def test_an_interrupt_ends_a_program(daemon, http, user):
    def script(request):
        if request.results:
            return Turn("It said: " + request.results[0].text)
        return Turn(calls=[PROGRAM])

    with model_server(script) as model:
        someone = user(model)
        process = someone.start("Sleep")
        box = process.wait_for("sandbox_bound")["id"]
        files, begun = f"/api/v1/sandboxes/{box}/files", {"path": "/tmp/begun"}
        wait_until(lambda: http.get(files, params=begun).status_code == 200, "the program")
        process.signal(signal.SIGINT)
        run = process.end()
        print(run)
        assert run.code == 130 and run.state == "cancelled", run
        wait_until(lambda: sleepers(daemon, box) == 0, "the end of the program")
        [ended] = run.of("tool_ended")
        assert "stopped" in run.results[ended["call_id"]], run
        more = someone.run("--resume", run.thread)
        assert more.code == 0 and more.text.startswith("It said: "), more
        assert len(someone.export(run.thread).of("tool_started")) == 1
