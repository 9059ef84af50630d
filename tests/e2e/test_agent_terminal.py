"""`cay agent` as people use it: what it prints, approvals, a conversation, threads, an editor."""

import base64
import json
import os
import subprocess

import pytest

from harness import CAY, slow
from model_server import Call, Turn, model_server
from scripted_model import printed
from test_cli import Terminal

COMMAND = "printf 'one\\ntwo\\033[2J\\n'"


def script(request):
    """Writes a file, prints it and answers with what was printed."""
    if request.turn == 0:
        return Turn("I write.", [Call("write_file", {"file_path": "/tmp/a", "content": "x\n"})])
    if request.turn == 1:
        return Turn(calls=[Call("execute", {"command": COMMAND})])
    return Turn("It printed " + printed(request.results[0]).split()[0])


def careful(request):
    """Runs one command, and answers with what came of it."""
    if not request.results:
        return Turn(calls=[Call("execute", {"command": "echo first"})])
    return Turn("Got: " + " ".join(request.results[0].text.split()))


class User:
    """Somebody with a state directory of their own."""

    def __init__(self, home, daemon, model):
        self.settings = {"CAY_STATE_DIR": str(home), "NO_COLOR": "1", "TERM": "xterm"}
        self.settings |= daemon.env
        self.settings |= {} if model is None else model.env
        self.daemon = daemon

    def env(self):
        foreign = ("OPENAI_", "ANTHROPIC_", "LANGSMITH_")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        return kept | self.settings

    def run(self, *words, stdin=b"", command=("agent", "--model", "openai:scripted")):
        done = subprocess.run(
            [CAY, *command, *words], input=stdin, capture_output=True, env=self.env(),
            timeout=slow(60), check=False,
        )  # fmt: skip
        done.out, done.err = done.stdout.decode(), done.stderr.decode()
        return done

    def threads(self, *words):
        return self.run(*words, command=("agent",))

    def thread(self):
        return json.loads(self.threads("threads", "--json").out)[0]["id"]


class SettingsOf:
    """A daemon's settings with those of a user, for Terminal."""

    def __init__(self, user):
        self.env = user.settings


@pytest.fixture
def user(daemon, tmp_path):
    def make(model):
        return User(tmp_path / "state", daemon, model)

    yield make
    daemon.cli("rm", "--all")


def terminal(user, *words):
    return Terminal(SettingsOf(user), "agent", "--model", "openai:scripted", *words)


def test_the_answer_is_on_stdout_and_all_else_on_stderr(user):
    with model_server(script) as model:
        done = user(model).run("Do it")
    assert done.returncode == 0, done.err
    assert done.out == "I write.\nIt printed one\n"
    assert "* write_file /tmp/a\n    + x\n" in done.err
    assert f"* execute {COMMAND.replace(chr(10), '')}\n    one\n    two\\x1b[2J\n" in done.err
    assert "\x1b" not in done.err, "nothing from inside paints the terminal"
    assert "done: 3 steps, " in done.err and "tokens in" in done.err
    assert "go on with: cay agent --resume " in done.err


def test_a_task_comes_from_stdin_and_rm_leaves_no_sandbox(user, daemon):
    with model_server(careful) as model:
        someone = user(model)
        done = someone.run("--rm", "-", stdin=b"Do it")
        assert done.returncode == 0 and done.out.startswith("Got: first"), done.err
        assert model.requests[0].task == "Do it"
        assert someone.run("-").returncode == 125
    assert json.loads(daemon.cli("ls", "--json").text) == []


def test_an_approval_waits_for_a_decision_where_nobody_can_answer(user):
    with model_server(careful) as model:
        someone = user(model)
        waits = someone.run("--approve", "ask=execute", "Do it")
        assert waits.returncode == 3, waits.err
        assert "? execute\n    echo first\n" in waits.err
        thread = someone.thread()
        assert f"cay agent --resume {thread} --decide approve" in waits.err
        wrong = someone.run("--resume", thread, "--decide", "approve", "--decide", "approve")
        assert wrong.returncode == 125 and "1 calls wait" in wrong.err
        edited = someone.run(
            "--resume", thread, "--decide", 'edit={"command": "echo another"}'
        )  # fmt: skip
        assert edited.returncode == 0, edited.err
        assert edited.out.startswith("Got: another")
        again = someone.run("--resume", thread, "--decide", "approve")
        assert again.returncode == 125, "the decision is made"


def test_a_terminal_is_asked(user):
    with model_server(careful) as model:
        someone = user(model)
        at = terminal(someone, "--approve", "ask=execute", "Do it")
        at.expect(b"? execute\r\n    echo first\r\n")
        at.expect(b"[a]pprove")
        at.send(b"r\n")
        at.expect(b"why")
        at.send(b"not today\n")
        at.expect(b"Got: ")
        assert at.wait() == 0
        assert "not today" in model.requests[-1].results[0].text


def reaching(request):
    """Opens a connection that no rule decides, and answers with what came of it."""
    if not request.results:
        line = "bash -c 'exec 3<>/dev/tcp/z.example/5432; cat <&3' 2>&1; echo ended"
        return Turn(calls=[Call("execute", {"command": line})])
    return Turn("Got: " + " ".join(request.results[0].text.split()))


def test_a_terminal_answers_for_destinations(user):
    with model_server(reaching) as model:
        at = terminal(user(model), "--ask-network", "Do it")
        at.expect(b"? the sandbox wants to reach z.example:5432")
        at.expect(b"[n]o: ")
        at.send(b"n\n")
        at.expect(b"Got: ")
        assert at.wait() == 0
        assert "ended" in model.requests[-1].results[0].text


def test_a_destination_is_refused_where_nobody_can_answer(user):
    with model_server(reaching) as model:
        done = user(model).run("--ask-network", "Do it")
        assert done.returncode == 0, done.err
        assert "refused z.example:5432: the sandbox wanted to reach it" in done.err
        plain = user(model).run("Do it")
        assert plain.returncode == 0 and "z.example:5432" not in plain.err, "without the option"


def test_a_conversation(user):
    def echo(request):
        return Turn(f"You said {request.users[-1].text}, {len(request.users)} of yours")

    with model_server(echo) as model:
        at = terminal(user(model))
        at.expect(b"> ")
        at.send(b"one\n")
        at.expect(b"You said one, 1 of yours")
        at.send(b"two\n")
        at.expect(b"You said two, 2 of yours")
        at.send(b"/cost\n")
        at.expect(b"2 steps, ")
        at.send(b"/rewind\n")
        at.expect(b"  one")
        at.send(b"/exit\n")
        at.expect(b"go on with: cay agent --resume ")
        assert at.wait() == 0


def test_what_is_missing_is_named(user, daemon):
    someone = user(None)
    done = someone.run("Do it", command=("agent",))
    assert done.returncode == 125
    assert "OPENAI_API_KEY" in done.err and "ANTHROPIC_API_KEY" in done.err
    with model_server(script) as model:
        someone = user(model)
        someone.settings["CAY_URL"] = "http://127.0.0.1:9"
        done = someone.run("Do it")
        assert done.returncode == 125 and "cay serve" in done.err, done.err
    for words in (["--approve", "sometimes", "x"], ["two", "words"], []):
        assert someone.run(*words).returncode == 125


def test_threads_are_listed_shown_exported_and_removed(user, daemon):
    with model_server(careful) as model:
        someone = user(model)
        assert someone.run("Do this and that").returncode == 0
    thread = someone.thread()
    listed = someone.threads("threads").out
    assert thread in listed and "Do this and that" in listed and "done" in listed
    shown = someone.threads("show", thread).out
    assert "> Do this and that\n" in shown and "* execute echo first\n" in shown
    lines = [json.loads(line) for line in someone.threads("export", thread).out.splitlines()]
    assert [one["seq"] for one in lines] == list(range(1, len(lines) + 1))
    assert lines[-1]["type"] == "run_ended"
    [box] = json.loads(daemon.cli("ls", "--json").text)
    assert box["id"] == next(one["id"] for one in lines if one["type"] == "sandbox_bound")
    assert someone.threads("rm", thread).returncode == 0
    assert json.loads(daemon.cli("ls", "--json").text) == []
    assert someone.threads("show", thread).returncode == 125


class Editor:
    """An editor that speaks the Agent Client Protocol."""

    def __init__(self, user, *words):
        self.process = subprocess.Popen(
            [CAY, "agent", "--acp", "--model", "openai:scripted", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=user.env(), text=True,
        )  # fmt: skip
        self.ids, self.updates, self.asked = 0, [], []

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, allow="allow", **params):
        """Returns the result. Answers questions meanwhile, and keeps updates."""
        self.ids += 1
        self.send(id=self.ids, method=method, params=params)
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("method") == "session/update":
                self.updates.append(message["params"]["update"])
            elif message.get("method") == "session/request_permission":
                self.asked.append(message["params"])
                outcome = {"outcome": "selected", "optionId": allow}
                self.send(id=message["id"], result={"outcome": outcome})
            else:
                assert message["id"] == self.ids and "result" in message, message
                return message["result"]

    def end(self):
        self.process.stdin.close()
        return self.process.wait(slow(20))


def test_an_editor_is_served(user):
    with model_server(careful) as model:
        editor = Editor(user(model), "--approve", "ask=execute")
        assert editor.ask("initialize", protocolVersion=1)["protocolVersion"] == 1
        session = editor.ask("session/new", cwd="/", mcpServers=[])["sessionId"]
        prompt = [{"type": "text", "text": "Do it"}]
        got = editor.ask("session/prompt", sessionId=session, prompt=prompt)
        assert got == {"stopReason": "end_turn"}
        assert editor.end() == 0
    kinds = [one["sessionUpdate"] for one in editor.updates]
    assert kinds[:3] == ["tool_call", "tool_call_update", "tool_call_update"]
    assert editor.updates[2]["status"] == "completed"
    text = "".join(
        one["content"]["text"] for one in editor.updates if "chunk" in one["sessionUpdate"]
    )
    assert text.startswith("Got: first")


def test_an_editor_answers_for_destinations(user):
    with model_server(reaching) as model:
        editor = Editor(user(model), "--ask-network")
        session = editor.ask("session/new", cwd="/", mcpServers=[])["sessionId"]
        prompt = [{"type": "text", "text": "Do it"}]
        got = editor.ask("session/prompt", allow="reject", sessionId=session, prompt=prompt)
        assert got == {"stopReason": "end_turn"}
        assert editor.end() == 0
        assert "ended" in model.requests[-1].results[0].text
    [asked] = editor.asked
    assert asked["toolCall"]["title"] == "The sandbox wants to reach z.example:5432"
    assert [one["kind"] for one in asked["options"]] == [
        "allow_once", "allow_always", "reject_once",
    ]  # fmt: skip
    assert asked["options"][1]["name"] == "Always allow z.example:5432"


def test_always_allow_holds_for_the_folder_alone(user):
    paths = ["/tmp/a/1", "/tmp/a/2", "/tmp/b/3"]

    def script(request):
        if request.turn < len(paths):
            write = {"file_path": paths[request.turn], "content": "x"}
            return Turn(calls=[Call("write_file", write)])
        return Turn("done")

    with model_server(script) as model:
        editor = Editor(user(model), "--approve", "ask=write_file")
        session = editor.ask("session/new", cwd="/", mcpServers=[])["sessionId"]
        prompt = [{"type": "text", "text": "Do it"}]
        editor.ask("session/prompt", allow="always", sessionId=session, prompt=prompt)
        assert editor.end() == 0
    names = [one["options"][1]["name"] for one in editor.asked]
    assert names == ["Always allow write_file in /tmp/a", "Always allow write_file in /tmp/b"]


def test_an_editor_passes_images(user):
    def script(request):
        return Turn(f"I see {request.users[-1].media} with {request.users[-1].text!r}")

    png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(64)).decode()
    with model_server(script) as model:
        editor = Editor(user(model))
        able = editor.ask("initialize", protocolVersion=1)["agentCapabilities"]
        assert able["promptCapabilities"]["image"] is True
        session = editor.ask("session/new", cwd="/", mcpServers=[])["sessionId"]
        image = {"type": "image", "mimeType": "image/png", "data": png}
        prompt = [{"type": "text", "text": "What is it?"}, image]
        got = editor.ask("session/prompt", sessionId=session, prompt=prompt)
        assert got == {"stopReason": "end_turn"}
        # It stays in the conversation.
        more = [{"type": "text", "text": "And now?"}]
        editor.ask("session/prompt", sessionId=session, prompt=more)
        assert [one.media for one in model.requests[-1].users] == [["image/png"], []]
        assert png in json.dumps(model.requests[-1].body)
        assert editor.end() == 0
    text = "".join(one["content"]["text"] for one in editor.updates)
    assert text.startswith("I see ['image/png'] with 'What is it?'"), text


def test_tools_of_mcp_servers_are_offered_and_called(user, tmp_path):
    """The server is `cay mcp` itself."""

    def script(request):
        if not request.results:
            assert "cay__list_sandboxes" in request.tools, request.tools
            return Turn(calls=[Call("cay__list_sandboxes", {})])
        return Turn("Listed: " + request.results[0].text[:200])

    with model_server(script) as model:
        someone = user(model)
        servers = {"cay": {"command": str(CAY), "args": ["mcp"], "env": someone.daemon.env}}
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        done = someone.run("--mcp", tmp_path / "mcp.json", "Do it")
        assert done.returncode == 0, done.err
        assert done.out.startswith("Listed: ") and "* cay__list_sandboxes" in done.err
        assert someone.run("--mcp", tmp_path / "none.json", "Do it").returncode == 125
