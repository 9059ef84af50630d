"""Where an act is run: in a sandbox by the product, or in a stand-in that is as that sandbox but
for the walls named."""
import contextlib
import inspect
import json
import os
import pathlib
import signal
import subprocess
import textwrap

from harness import keeper_of, processes_of, slow, wait_until

HERE = pathlib.Path(__file__).resolve().parent
PRELUDE = (HERE / "inside_prelude.py").read_text()
ACT_LIMIT = 60
USED = set()  # policies of the sandboxes that something was done in


@contextlib.contextmanager
def arranged():
    """What is done within is for others' tries, too: none of it counts as used."""
    before = set(USED)
    try:
        yield
    finally:
        USED.clear()
        USED.update(before)


class Defect(Exception):
    """The act itself, or the frame, is broken: neither held nor escaped."""


def source_of(act, arguments):
    """A program that runs `act` and prints what it returned, or the error that refused it."""
    return (
        f"{PRELUDE}\n{textwrap.dedent(inspect.getsource(act))}\n"
        f"tell({act.__name__}, json.loads({json.dumps(json.dumps(arguments))}))\n"
    )


def told_by(code, out, err, may_die):
    for line in reversed(out.splitlines()):
        if line.startswith("@@"):
            return json.loads(line[2:])
    if may_die and 128 < code < 160:
        return {"refused": signal.Signals(code - 128).name}
    raise Defect(f"the act told nothing: ended with {code}: {out[-300:]!r} {err[-800:]!r}")


class Sandbox:
    """One sandbox of the product, and a program in it that stand-ins are made after, for each
    user."""

    def __init__(self, host, name, **fields):
        self.host, self.name, self.models, self.policy = host, name, {}, fields.get("policy")
        answer = host.http.post("/api/v1/sandboxes", json={"name": name, **fields})
        if answer.status_code != 201:
            raise Defect(f"sandbox {name}: {answer.text}")
        self.id = answer.json()["id"]
        self.url = f"/api/v1/sandboxes/{self.id}"

    def command(self, argv, user=None, **fields):
        USED.add(self.policy)
        body = {
            "argv": argv,
            "wait": True,
            "timeout_s": slow(ACT_LIMIT),
            **({"user": user} if user else {}),
            **fields,
        }
        answer = self.host.http.post(f"{self.url}/commands", json=body)
        if answer.status_code != 200:
            raise Defect(f"command in {self.name}: {answer.status_code} {answer.text[:400]}")
        return answer.json()

    def sh(self, line, user=None):
        got = self.command(["sh", "-c", line], user)
        return got.get("stdout", "")

    def run(self, act, arguments, user=None, may_die=False):
        got = self.command(["python3", "-SE", "-c", source_of(act, arguments)], user)
        return told_by(
            got["shell_exit_code"], got.get("stdout", ""), got.get("stderr", ""), may_die
        )

    def start(self, argv, user=None):
        """Leaves a program running; its host pid."""
        USED.add(self.policy)
        mark = f"CAY_ESCAPE_{os.urandom(6).hex()}"
        body = {
            "argv": argv,
            "wait": False,
            "timeout_s": 0,
            "env": {mark: "1"},
            **({"user": user} if user else {}),
        }
        answer = self.host.http.post(f"{self.url}/commands", json=body)
        if answer.status_code != 201:
            raise Defect(f"command in {self.name}: {answer.text}")

        def found():
            for pid in processes_of(self.id):
                try:
                    if mark.encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes():
                        return pid
                except OSError:
                    pass
            return None

        return wait_until(found, f"{argv} runs", 30)

    def model(self, user=None):
        if user not in self.models:
            self.models[user] = self.start(["sleep", "infinity"], user)
        return self.models[user]

    def keeper(self):
        return keeper_of(self.host.daemon, self.id)

    def root_uid(self):
        """Host uid of its root."""
        return int(pathlib.Path(f"/proc/{self.model()}/uid_map").read_text().split()[1])

    def close(self):
        self.host.http.delete(self.url)


class StandIn:
    """The same, without the walls in `lifted`."""

    def __init__(self, sandbox, lifted=(), options=()):
        self.sandbox, self.lifted, self.options = sandbox, tuple(lifted), tuple(options)

    def words(self, user=None):
        USED.add(self.sandbox.policy)
        words = [str(self.sandbox.host.stand_in), str(self.sandbox.model(user))]
        for wall in self.lifted:
            if wall.startswith("take:"):
                words += ["--take", wall[5:]]
            elif wall.startswith("leak:"):
                words += ["--leak", wall[5:]]
            else:
                words += ["--without", wall]
        return [*words, *self.options, "--"]

    def run(self, act, arguments, user=None, may_die=False):
        done = subprocess.run(
            [*self.words(user), "python3", "-SE", "-c", source_of(act, arguments)],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=slow(2 * ACT_LIMIT),
        )
        if done.returncode == 120:
            raise Defect(f"no stand-in: {done.stderr.decode(errors='replace')}")
        return told_by(
            done.returncode,
            done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"),
            may_die,
        )

    def start(self, argv, user=None):
        return subprocess.Popen(
            [*self.words(user), *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )


def damage(sandbox, wall):
    """Takes the wall (of the mounts) away in the sandbox itself: the product is broken, for a test
    of the tests."""
    subprocess.run(
        [
            str(sandbox.host.stand_in),
            str(sandbox.model()),
            "--without",
            wall,
            "--in-place",
            "--",
            "true",
        ],
        check=True,
    )
