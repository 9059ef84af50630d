"""Contexts of JavaScript: variables, values, interrupts of any loop, and results that last."""
import json
import os
import shutil
import threading

import pytest
from harness import wait_until
from test_contexts import Context, _ignore, _out, events, text, value

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="node is missing on this host"),
    pytest.mark.skipif(
        os.path.realpath(shutil.which("node") or "/usr").startswith("/usr/local/"),
        reason="node lies where a sandbox does not have it",
    ),
]


@pytest.fixture
def context(http, box):
    return Context(http, box["id"], language="javascript")


def test_declarations_live_between_calls(http, box, context):
    assert context.info["language"] == "javascript"
    code = "const a = 1; let b = 2; var c = 3; function f() { return a + b + c } class P {}"
    assert context.run(code)["events"] == []
    assert value(context.run("f()")) == "6"
    assert value(context.run("const a = 10; a + 1")) == "11", "a name may be declared anew"
    assert value(context.run("const later = await new Promise(r => setTimeout(r, 5, 7)); later"))
    assert value(context.run("later + new P().constructor.name")) == "'7P'"
    modules = "import { sep } from 'node:path'\nimport * as fs from 'node:fs'\n"
    assert value(context.run(modules + "[sep, typeof fs.readFileSync]")) == "[ '/', 'function' ]"
    assert value(context.run("(await import('node:os')).EOL === require('os').EOL")) == "true"
    other = Context(http, box["id"], language="js", cwd="/tmp", env={"WHO": "other"})
    assert value(other.run("[process.cwd(), process.env.WHO, typeof b]")) == (
        "[ '/tmp', 'other', 'undefined' ]"
    )


def test_values_output_and_pictures_come_in_order(context):
    (shown,) = events(context.run("({ list: [1, 'x', null] })"), "result")
    assert shown["data"] == {
        "text/plain": "{ list: [ 1, 'x', null ] }",
        "application/json": '{"list":[1,"x",null]}',
    }
    (shown,) = events(context.run("new Map([[1, 2]])"), "result")
    assert shown["data"] == {"text/plain": "Map(1) { 1 => 2 }"}, "JSON would lose it"
    got = context.run(
        "for (let i = 0; i < 20; ++i) { console.log('a' + i); display(i); console.log('b' + i) }\n"
        "display.html('<b>1</b>'); display.svg('<svg/>'); display.png(Buffer.from([137, 80]))\n"
        "display({ [Symbol.for('Jupyter.display')]: () => ({ 'text/plain': 'own' }) })\n"
        "console.error('to stderr')\n"
        "require('child_process').execSync('echo of a child', { stdio: 'inherit' }); undefined\n"
    )
    order = []
    for one in events(got, "stdout", "display"):
        order += one["text"].split("\n") if "text" in one else [one["data"]]
    order = [one for one in order if one != ""]
    numbers = [[f"a{i}", {"text/plain": str(i)}, f"b{i}"] for i in range(20)]
    assert order[:-5] == [one for three in numbers for one in three]
    assert order[-5:] == [
        {"text/plain": "<HTML>", "text/html": "<b>1</b>"},
        {"text/plain": "<SVG>", "image/svg+xml": "<svg/>"},
        {"text/plain": "<PNG>", "image/png": "iVA="},
        {"text/plain": "own"},
        "of a child",
    ]
    assert text(got, "stderr") == "to stderr\n"
    (huge,) = events(context.run("'y'.repeat(5 << 20)"), "result")
    assert huge["data"] == {} and huge["omitted"] == {"text/plain": (5 << 20) + 2}


def test_an_error_has_the_stack_of_the_code_alone(context):
    context.run("const x = 5\nfunction f() {\n  throw new TypeError('no')\n}")
    got = context.run("console.log('so far')\nf()")
    assert got["state"] == "error" and text(got) == "so far\n"
    (error,) = events(got, "error")
    assert (error["name"], error["value"]) == ("TypeError", "no")
    assert error["traceback"] == "TypeError: no\n    at f (cell-1:3:9)\n    at cell-2:2:1\n"
    (error,) = events(context.run("1\na b"), "error")
    assert error["name"] == "SyntaxError"
    assert error["traceback"].startswith("cell-3:2\na b\n  ^\nSyntaxError: ")
    (error,) = events(context.run("throw 5"), "error")
    assert (error["name"], error["value"]) == ("Uncaught", "5")
    got = context.run("Promise.reject(new Error('nobody handles it')); 1")
    assert events(got, "error")[0]["value"] == "nobody handles it" and value(got) == "1"
    late = "setTimeout(() => { throw new Error('late') }); await new Promise(r => setTimeout(r, 9))"
    assert events(context.run(late), "error")[0]["value"] == "late"
    assert context.run("process.exit(3)")["state"] == "error"
    assert value(context.run("x")) == "5"


@pytest.mark.parametrize(
    "code",
    [
        "while (true);",
        "await 0; while (true);",
        "setTimeout(() => { while (true); }); await new Promise(r => globalThis.r = r)",
        "await new Promise(r => globalThis.r = r)",
        "require('child_process').execSync('sleep 1000')",
        "/(a+)+b/.test('a'.repeat(60))",
    ],
)
def test_an_interrupt_ends_any_loop_and_the_variables_stay(context, code):
    context.run("const x = 1")
    begun = context.run("console.log('begun');\n" + code, wait_s=0)
    wait_until(lambda: _out(context, begun["id"]) == "begun\n", "it began")
    assert context.post("interrupt").status_code == 204
    assert context.read(begun["id"], wait_s=30)["state"] == "interrupted"
    assert context.post("interrupt").status_code == 204, "with nothing under way, nothing happens"
    assert value(context.run("await new Promise(r => setTimeout(r, 1, x))")) == "1"


def test_code_writes_no_result_of_another_evaluation(context):
    """Only the parent writes events with an id. The child's own can claim what it showed."""
    first = context.run("'true'")
    forged = "\n%s\n" % json.dumps(
        {"run": first["id"], "type": "done", "status": "error", "number": 1}
    )
    got = context.run(f"require('fs').writeSync(3, {json.dumps(forged)}); 'next'")
    assert context.read(first["id"]) == first
    assert value(got) == "'next'"
    assert value(context.run("'true again'")) == "'true again'"
    children = "require('child_process').execSync('ls /proc/self/fd').toString()"
    assert value(context.run(children)) == "'0\\n1\\n2\\n3\\n'", "and that of ls"


def test_an_interpreter_that_dies_takes_its_evaluation_along(context):
    got = context.run("console.log('last words'); process.reallyExit(7)")
    assert got["state"] == "lost" and got["interpreter"]["exit_code"] == 7
    assert text(got).startswith("last words\n")
    assert context.post("restart").json()["generation"] == 2
    killed = context.run("process.kill(process.pid, 'SIGKILL')")
    assert killed["state"] == "lost" and killed["interpreter"]["signal"] == 9


def test_40_calls_with_a_killed_daemon_lose_and_invent_nothing(own_daemon):
    """Errors, an interrupt, and a kill -9 of the daemon during an evaluation."""
    daemon = own_daemon()
    seen = {}
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "calls", "idle_ttl_s": 0}).json()["id"]
        context = Context(http, box, id="main", language="javascript")
        context.run("const calls = []")

    def calls(begin, end):
        for i in range(begin, end):
            code = f"calls.push({i}); console.log('call', {i}); "
            code += f"throw new Error({i})" if i % 7 == 3 else f"display.png('{i}'); {i}"
            seen[i] = context.run(code, id=f"call-{i}")
            assert seen[i]["state"] == ("error" if i % 7 == 3 else "ok"), seen[i]

    with daemon.http() as context.http:
        calls(0, 20)
        context.run("calls.push(20); console.log('begun'); while (true);", id="call-20", wait_s=0)
        wait_until(lambda: _out(context, "call-20") == "begun\n", "it is under way")
        context.post("interrupt")
        seen[20] = context.read("call-20", wait_s=30)
        assert seen[20]["state"] == "interrupted"
        slow_code = (
            "calls.push(21); console.log('first half')\n"
            "await new Promise(r => setTimeout(r, 700))\n"
            "console.log('second half'); 'end'"
        )
        waiting = threading.Thread(target=_ignore, args=(context, slow_code, "call-21"))
        waiting.start()
        wait_until(lambda: _out(context, "call-21") == "first half\n", "it is under way")
        daemon.kill()
        waiting.join()
    daemon.start()
    with daemon.http() as context.http:
        seen[21] = context.read("call-21", wait_s=30)
        assert text(seen[21]) == "first half\nsecond half\n" and value(seen[21]) == "'end'"
        assert context.run(slow_code, id="call-21") == seen[21], "a repeat runs nothing"
        calls(22, 40)
        assert value(context.run("calls.every((n, i) => n === i) && calls.length")) == "40"
        for i, got in seen.items():
            assert context.read(f"call-{i}") == got, "each result is read again as it was"
            if i not in (20, 21):
                assert text(got) == f"call {i}\n"
        assert context.http.get(f"{context.path}/runs/call-40").status_code == 404
