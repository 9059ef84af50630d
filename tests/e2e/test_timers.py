"""Each timer once for real; their logic, jumps of the clock and restarts are in the unit tests
(core/timers_test.cc, core/timeline_test.cc, keeper/pausable_timer_test.cc)."""
import concurrent.futures
import time

import pytest

from harness import slow, wait_until


def make(http, **fields):
    answer = http.post("/api/v1/sandboxes", json=fields)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def state(http, ref):
    answer = http.get(f"/api/v1/sandboxes/{ref}")
    return answer.json()["state"] if answer.status_code == 200 else answer.status_code


def why_deleted(http, ref):
    return [
        event["reason"]
        for type_ in ("sandbox.deleting", "sandbox.deleted")
        for event in http.get("/api/v1/events", params={"sandbox": ref, "type": type_}).json()[
            "items"
        ]
    ]


def start(http, ref, command, **fields):
    answer = http.post(
        f"/api/v1/sandboxes/{ref}/commands",
        json={"command": command, "wait": False, "timeout_s": 0, **fields},
    )
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def command_state(http, ref, command):
    answer = http.get(f"/api/v1/sandboxes/{ref}/commands/{command}")
    return answer.json()["state"] if answer.status_code == 200 else answer.status_code


def test_idle_stop_wake_and_deletion(http):
    ref = make(
        http, idle_ttl_s=2, delete_after_stop_s=int(slow(6))
    )  # a request must come before the deletion, and be seen before the next stop
    http.put(f"/api/v1/sandboxes/{ref}/files", params={"path": "/root/f"}, content=b"kept")
    wait_until(lambda: state(http, ref) == "stopped", "idle stop")
    stopped = http.get("/api/v1/events", params={"sandbox": ref, "type": "sandbox.stopped"}).json()[
        "items"
    ]
    assert [event["reason"] for event in stopped] == ["idle"] and http.get(
        f"/api/v1/sandboxes/{ref}"
    ).json()["reason"] == "idle"
    # A request wakes it; the caller sees only a delay.
    assert http.get(f"/api/v1/sandboxes/{ref}/files", params={"path": "/root/f"}).text == "kept"
    assert state(http, ref) == "ready"
    wait_until(lambda: state(http, ref) == "stopped", "idle stop again")
    wait_until(lambda: state(http, ref) == 404, "deleted after its stop")
    assert why_deleted(http, ref) == ["delete_after_stop"] * 2


def test_lifetime(http):
    ref = make(http, lifetime_s=2)
    start(http, ref, "sleep 1000")
    wait_until(
        lambda: state(http, ref) == 404, "deleted at the end of its life, though it was in use"
    )
    assert why_deleted(http, ref) == ["lifetime"] * 2


def test_never(http):
    ref = make(http, idle_ttl_s=-1, delete_after_stop_s=0, lifetime_s=-1)
    box = http.get(f"/api/v1/sandboxes/{ref}").json()
    assert (box["idle_ttl_s"], box["delete_after_stop_s"], box["lifetime_s"]) == (0, 0, 0)
    # Changed live: it counts at once.
    http.patch(f"/api/v1/sandboxes/{ref}", json={"idle_ttl_s": 1})
    wait_until(lambda: state(http, ref) == "stopped", "idle stop")
    http.patch(f"/api/v1/sandboxes/{ref}", json={"delete_after_stop_s": 1})
    wait_until(lambda: state(http, ref) == 404, "deleted")


def test_background_commands_count_if_asked_to(http):
    ref = make(http, idle_ttl_s=1, commands_keep_awake=True)
    begun = time.monotonic()
    start(http, ref, "sleep 3 & exit 0")  # what a command leaves running counts too
    wait_until(lambda: state(http, ref) == "stopped", "idle stop after its end")
    assert time.monotonic() - begun > 3.5
    http.delete(f"/api/v1/sandboxes/{ref}")


def test_the_sandboxes_timers_outlive_the_daemon(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        stopped = make(http, delete_after_stop_s=3)
        http.post(f"/api/v1/sandboxes/{stopped}/stop")
        living = make(http, lifetime_s=4)
    daemon.restart("kill")
    with daemon.http() as http:
        assert state(http, stopped) in ("stopped", 404)
        wait_until(lambda: state(http, stopped) == 404, "deleted after its stop")
        wait_until(lambda: state(http, living) == 404, "the end of its life")


def test_timers_of_commands(http, box):
    ref = box["id"]
    ids = {
        "timed_out": start(http, ref, "sleep 1000", timeout_s=0.5),
        "idle_killed": start(http, ref, "sleep 1000", idle_timeout_s=0.5),
    }
    never = start(http, ref, "sleep 1000", timeout_s=0, idle_timeout_s=-1)
    short = start(http, ref, "true", ttl_s=0.5)
    kept = start(http, ref, "true", ttl_s=-1)
    for name, command in ids.items():
        wait_until(
            lambda name=name, command=command: command_state(http, ref, command) == name, name
        )
    wait_until(lambda: command_state(http, ref, short) == 404, "pruned")
    assert command_state(http, ref, kept) == "exited"
    assert command_state(http, ref, never) == "running"


def test_a_result_is_told_though_nothing_is_kept(http, box):
    """With ttl_s 0 a command is forgotten once its end was told, not before."""
    for number in range(30):
        answer = http.post(
            f"/api/v1/sandboxes/{box['id']}/commands",
            json={"command": f"echo {number}; exit {number}", "ttl_s": 0},
        )
        assert answer.status_code == 200, answer.text
        got = answer.json()
        assert (got["state"], got["exit_code"], got["stdout"]) == ("exited", number, f"{number}\n")
    wait_until(lambda: command_state(http, box["id"], got["command_id"]) == 404, "forgotten")


def test_timers_of_commands_outlive_the_daemon(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        ref = make(http)
        timed = start(http, ref, "sleep 1000", timeout_s=3)
        idle = start(http, ref, "sleep 1000", idle_timeout_s=3)
        pruned = start(http, ref, "true", ttl_s=3)
    daemon.restart("kill")
    with daemon.http() as http:
        wait_until(lambda: command_state(http, ref, timed) == "timed_out", "timed out")
        wait_until(lambda: command_state(http, ref, idle) == "idle_killed", "idle killed")
        wait_until(lambda: command_state(http, ref, pruned) == 404, "pruned")


def test_kill_on_disconnect(daemon, http, box):
    import json
    from websockets.sync.client import connect

    url = f"ws{daemon.url[4:]}/api/v1/sandboxes/{box['id']}/commands/ws"
    with connect(url, additional_headers={"X-Api-Key": daemon.key}) as socket:
        socket.send(
            json.dumps(
                {
                    "type": "start",
                    "argv": ["sleep", "1000"],
                    "timeout_s": 0,
                    "kill_on_disconnect": True,
                }
            )
        )
        command = json.loads(socket.recv())["command"]["id"]
        assert command_state(http, box["id"], command) == "running"
    wait_until(
        lambda: command_state(http, box["id"], command) == "killed", "killed at the disconnect"
    )


@pytest.mark.parametrize(
    "request_of",
    [
        lambda http, ref: http.post(
            f"/api/v1/sandboxes/{ref}/commands", json={"argv": ["true"], "wait": True}
        ),
        lambda http, ref: http.get(
            f"/api/v1/sandboxes/{ref}/files", params={"path": "/etc/hostname"}
        ),
        lambda http, ref: http.put(
            f"/api/v1/sandboxes/{ref}/files", params={"path": "/root/x"}, content=b"x"
        ),
        lambda http, ref: http.get(f"/api/v1/sandboxes/{ref}/files/list", params={"path": "/"}),
        lambda http, ref: http.post(
            f"/api/v1/sandboxes/{ref}/batch", json={"command": {"argv": ["true"]}}
        ),
        lambda http, ref: http.post(f"/v2/sandboxes/dp/{ref}/execute", json={"command": "true"}),
        lambda http, ref: http.get(
            f"/v2/sandboxes/dp/{ref}/download", params={"path": "/etc/hostname"}
        ),
    ],
    ids=["command", "read", "write", "list", "batch", "langsmith-execute", "langsmith-download"],
)
def test_any_request_wakes(http, box, request_of):
    assert http.post(f"/api/v1/sandboxes/{box['id']}/stop").status_code == 200
    answer = request_of(http, box["id"])
    assert answer.status_code in (200, 201), answer.text
    assert state(http, box["id"]) == "ready"


def test_many_wakes_are_one_boot(daemon, http, box):
    ref = box["id"]
    http.post(f"/api/v1/sandboxes/{ref}/stop")

    def one(number):
        with daemon.http() as client:
            return client.post(
                f"/api/v1/sandboxes/{ref}/commands",
                json={
                    "command": f"echo {number}; cat /proc/sys/kernel/random/boot_id >/dev/null; "
                    "ls -di "
                    "/proc/1/ns/pid; readlink /proc/1/ns/pid",
                    "wait": True,
                },
            ).json()

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        results = list(pool.map(one, range(32)))
    outputs = [r["stdout"].split("\n", 1) for r in results]
    assert [first for first, _ in outputs] == [str(n) for n in range(32)]
    assert len({rest for _, rest in outputs}) == 1  # the same PID namespace: one boot


# Done; gone; not now; lost to a stop while it ran; given up; refused by a sandbox that is being
# stopped.
TRUTHFUL = {200, 204, 404, 409, 499, 500, 503}


def test_wake_stop_and_delete_at_once(daemon, http):
    """Whoever wins, each is answered truthfully and nothing is left."""
    for _ in range(4):
        ref = make(http)

        def ask(verb):
            with daemon.http() as client:
                if verb == "run":
                    return client.post(
                        f"/api/v1/sandboxes/{ref}/commands", json={"argv": ["true"], "wait": True}
                    ).status_code
                if verb == "stop":
                    return client.post(f"/api/v1/sandboxes/{ref}/stop").status_code
                return client.delete(f"/api/v1/sandboxes/{ref}").status_code

        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            runs = [pool.submit(ask, verb) for verb in ("run", "stop") * 6]
            codes = [r.result() for r in runs]
            assert set(codes) <= TRUTHFUL, codes
            mixed = [
                pool.submit(ask, verb)
                for verb in ("run", "stop", "delete", "run", "stop", "delete")
            ]
            codes = [r.result() for r in mixed]
        assert set(codes) <= TRUTHFUL, codes
        wait_until(lambda: state(http, ref) == 404, "deleted")
