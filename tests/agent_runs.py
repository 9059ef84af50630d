"""`cay agent` as its users start it, with a state directory of its own, and the events of its
runs."""
import json
import os
import pathlib
import re
import signal
import subprocess
import threading

from harness import CAY, slow

MODELS = {
    "chat": "openai:scripted",
    "responses": "openai-responses:scripted",
    "anthropic": "anthropic:scripted",
}
# Settings of whoever runs the tests are not those of the user of the tests.
FOREIGN = re.compile(r"^(OPENAI|ANTHROPIC|LANGSMITH|DAYTONA|CAY)_(?!BUILD|SLOW)")
STATUS = re.compile(r"\n?\[Command (?:succeeded|failed) with exit code (\d+)\]\s*$")


class Run:
    """A run that ended. `events` are the lines of `--json` that are in the thread's log."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err
        self.lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        events = [one for one in self.lines if "seq" in one]
        # Subagents have threads of their own.
        self.thread = events[0].get("thread") if events else None
        self.events = [
            {name: value for name, value in one.items() if name != "thread"}
            for one in events
            if one.get("thread") == self.thread
        ]

    def of(self, kind):
        return [one for one in self.events if one["type"] == kind]

    @property
    def end(self):
        ends = self.of("run_ended")
        assert ends, self
        return ends[-1]

    @property
    def state(self):
        return self.end["state"]

    @property
    def text(self):
        return self.end["text"]

    @property
    def box(self):
        """The id of the sandbox."""
        return self.of("sandbox_bound")[-1]["id"]

    @property
    def results(self):
        """call id -> the text that the model read."""
        return {one["call_id"]: text_of(one["message"]) for one in self.of("tool_ended")}

    def __repr__(self):
        return f"Run(code={self.code}, out={self.out[-3000:]}, err={self.err[-2000:]})"


def text_of(message):
    """The text of a message as the log has it."""
    blocks = message.get("blocks", message.get("content", ""))
    if isinstance(blocks, str):
        return blocks
    return "".join(one.get("text", "") for one in blocks if one.get("type", "text") == "text")


class AgentUser:
    """A user of `cay agent`: a home directory, and settings by which model and daemon are found."""

    def __init__(self, home, daemon, model, wire="chat"):
        self.home, self.daemon, self.model = pathlib.Path(home), daemon, model
        self.name = MODELS[wire]
        self.prefix = []  # words before `cay`: what the agent finds on its host
        self.home.mkdir(parents=True, exist_ok=True)

    @property
    def env(self):
        kept = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
        state = {"HOME": str(self.home), "CAY_STATE_DIR": str(self.home / "state")}
        daemon = {} if self.daemon is None else self.daemon.env
        return {**kept, **daemon, **self.model.env, **state}

    def start(self, *words, env=None, events=True):
        chosen = [*(["--json"] if events else []), "--model", self.name]
        process = subprocess.Popen(
            [*self.prefix, str(CAY), "agent", *chosen, *(str(one) for one in words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.env, **(env or {})},
        )
        return Started(process)

    def run(self, *words, limit=60, **how):
        return self.start(*words, **how).end(limit)

    def call(self, *words):
        done = subprocess.run(
            [CAY, "agent", *words],
            capture_output=True,
            env=self.env,
            timeout=slow(30),
            check=True,
        )
        return done.stdout.decode()

    def export(self, thread):
        """All events of the thread's log."""
        return Run(0, self.call("export", thread), "")

    def threads(self):
        return json.loads(self.call("threads", "--json"))


class Started:
    """An agent that runs. Its events are here as they come."""

    def __init__(self, process):
        self.process, self.pid = process, process.pid
        self.out, self.err, self.over = [], [], False
        self.changed = threading.Condition()
        self.readers = [
            threading.Thread(target=self.read, args=(process.stdout, self.out), daemon=True),
            threading.Thread(target=self.read, args=(process.stderr, self.err), daemon=True),
        ]
        for one in self.readers:
            one.start()

    def read(self, stream, into):
        for line in stream:
            with self.changed:
                into.append(line.decode(errors="replace"))
                self.changed.notify_all()
        with self.changed:
            self.over = self.over or stream is self.process.stdout
            self.changed.notify_all()

    def wait_for(self, kind, limit=30):
        """Returns the first event of a type."""

        def found():
            for line in self.out:
                event = json.loads(line) if line.startswith("{") else {}
                if event.get("type") == kind:
                    return event
            return None

        with self.changed:
            self.changed.wait_for(lambda: found() or self.over, slow(limit))
            assert found(), f"no {kind}: {self.out} {self.err}"
            return found()

    @property
    def thread(self):
        return self.wait_for("thread_created")["thread"]

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """SIGKILL. Returns what it printed before."""
        self.signal(signal.SIGKILL)
        return self.end()

    def end(self, limit=60):
        try:
            self.process.wait(slow(limit))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"no end within {limit} s: {self.result()}") from None
        return self.result()

    def result(self):
        for one in self.readers:
            one.join()
        return Run(self.process.returncode, "".join(self.out), "".join(self.err))
