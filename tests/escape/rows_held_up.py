"""What a keeper that was taken over costs others: time and memory of the daemon and of the gate,
which serve every sandbox. Whoever passes a descriptor keeps one of the same open file, whose flags
(O_NONBLOCK) are then both's. Success is that others are not served, or what the daemon kept. The
control is a careless reader, or a word as it should be."""
import contextlib
import fcntl
import os
import pathlib
import socket
import threading
import time

import keeper_frames as wire
from asking import issue, talk
from harness import slow, wait_until
from keeper_frames import frame
from rows_keeper import judged, keeper_row
from rows_network import fetch
from rows_passed import PORT, Lender, request, tcp
from taken_keeper import TakenKeeper, answers_health, with_command
from world import V4

LARGE, MANY = 250 * 1024, 1000
CARELESS = "a careless reader is held"


def memory_of(process):
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) * 1024


def kept_by(host, said):
    """How many bytes the daemon grew by at most, while it heard what is said."""
    before, most = memory_of(host.daemon.process), 0
    for say in said:
        say()
        most = max(most, memory_of(host.daemon.process) - before)
    return most


@keeper_row(
    "endless-list",
    "answer a listing with 250 MB of commands",
    "what a keeper's answer may hold is bounded",
    "a careless reader keeps all",
    short=False,
)
def endless_list(host, lifted):
    one, kept = wire.encode({1: "c1", 3: "x" * LARGE, 11: wire.EXITED}), []

    def on_request(keeper, kind, channel, payload):
        if kind != wire.LIST:
            return False
        kept.append(kept_by(host, [lambda: keeper.say(frame(wire.COMMAND, channel, one))] * MANY))
        keeper.say(frame(wire.EOF, channel))
        return True

    if lifted:
        kept.append(sum(map(len, [bytes(bytearray(one)) for _ in range(MANY)])))
    else:
        host.daemon.restart(
            "terminate"
        )  # what an earlier row made it keep would hide what this one does
        with with_command(host) as (box, _), TakenKeeper(
            host, box, on_request
        ), contextlib.suppress(
            Exception
        ):  # whatever the answer is
            host.http.get(f"{box.url}/commands", timeout=slow(30))
            wait_until(
                lambda: kept, "the end of what the keeper says", 30
            )  # the daemon need not have heard it
    assert kept, "nobody asked for the list: the attack would prove nothing"
    return judged(host, kept[0] > MANY * LARGE // 4, f"the daemon grew by {kept[0] >> 20} MiB")


@keeper_row(
    "endless-notes",
    "tell of 1,000 commands that never were, each by a name of 250 KB",
    "names of commands are checked",
    "a careless reader keeps all",
    short=False,
)
def endless_notes(host, lifted):
    notes = [
        wire.started(f"{number}-".ljust(LARGE, "x"), life=1, at=number + 1)
        for number in range(MANY)
    ]
    if lifted:
        return judged(host, sum(map(len, notes)) > MANY * LARGE // 4, "")
    host.daemon.restart("terminate")
    with with_command(host) as (box, _), TakenKeeper(host, box) as keeper:
        kept = kept_by(
            host, [lambda note=note: keeper.say(frame(wire.NOTE, 0, note)) for note in notes]
        )
        return judged(host, kept > MANY * LARGE // 4, f"the daemon grew by {kept >> 20} MiB")


@keeper_row(
    "name-of-dots",
    "tell of a command whose name no command may have",
    "names of commands are checked",
    "succeeds for a name as it should be",
)
def name_of_dots(host, lifted):
    name = "c" + os.urandom(4).hex() if lifted else "../../" + os.urandom(4).hex() + "\r\n"

    def told():
        items = host.http.get("/api/v1/events", params={"sandbox": box.id, "limit": 1000}).json()[
            "items"
        ]
        return any(one.get("command_id") == name for one in items)

    with with_command(host) as (box, _), TakenKeeper(host, box) as keeper:
        keeper.say(frame(wire.NOTE, 0, wire.started(name)))
        with contextlib.suppress(AssertionError):
            wait_until(told, "it is on record", slow(10) if lifted else 2)
        return judged(host, told(), "on record" if told() else "not on record")


def held_by(call):
    """Whether a careless reader is: it must not be, with others to serve."""
    reader = threading.Thread(target=call, daemon=True)
    reader.start()
    reader.join(1)
    return reader.is_alive()


def take_away(descriptor, stop):
    """O_NONBLOCK, as often as it is set."""
    while not stop.is_set():
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        if flags & os.O_NONBLOCK:
            fcntl.fcntl(descriptor, fcntl.F_SETFL, flags & ~os.O_NONBLOCK)
        time.sleep(0.0005)


@keeper_row(
    "waiting-socket",
    "pass a service's connection, and have it wait while the daemon reads",
    "the daemon waits for no descriptor that it was passed",
    CARELESS,
)
def waiting_socket(host, lifted):
    """Won: the daemon answers nobody."""
    stop, ours, theirs = threading.Event(), [], []

    def lend(keeper):
        one, other = tcp()
        ours.append(one)
        theirs.append(other)
        threading.Thread(target=take_away, args=(one.fileno(), stop), daemon=True).start()
        return [one.fileno()]

    if lifted:
        one, other = tcp()
        with one, other:
            return judged(host, held_by(lambda: one.recv(1)), "")
    with with_command(host) as (box, _), TakenKeeper(host, box, lend=lend):
        asked = threading.Thread(
            target=talk,
            args=(host, request(host, box, issue(host, box, port=PORT), "x"), 5),
            daemon=True,
        )
        asked.start()
        try:
            wait_until(lambda: theirs, "a socket is asked for")
            theirs[0].recv(65536)
            time.sleep(slow(0.1))
            theirs[0].sendall(b"HTTP/1.1 200")  # and no more: who reads on waits
            stuck = not all(answers_health(host, slow(3)) for _ in range(3))
        finally:
            stop.set()
            for one in theirs:  # which wakes it
                one.close()
        asked.join()
    return judged(host, stuck, "the daemon hangs" if stuck else "answered")


@keeper_row(
    "waiting-listener",
    "lend the gate sockets that wait",
    "the gate waits for no descriptor that it was lent",
    CARELESS,
)
def waiting_listener(host, lifted):
    """Won: another sandbox's way out is shut."""

    def reach():
        return "reached " in str(host.box("open").run(fetch, {"host": V4}).get("done"))

    assert reach(), "nothing is reached before"
    if lifted:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            return judged(host, held_by(listener.accept), "")
    stop = threading.Event()
    with Lender(host, waits=True) as lender:
        for one in (lender.listener, lender.datagrams):  # also after the gate has set it
            threading.Thread(target=take_away, args=(one.fileno(), stop), daemon=True).start()
        try:
            assert lender.lent.wait(slow(10)), "the gate did not come"
            # Wakes one that waits for something to come, so that it reads on.
            lender.ask().close()
            shut = not reach()
        finally:
            stop.set()
            time.sleep(0.05)
    wait_until(reach, "the way out is open again", 30)
    return judged(host, shut, "others' way out is shut" if shut else "others go on")
