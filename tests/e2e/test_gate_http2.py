"""HTTP/2 through the gate, which sees its ClientHello and passes on the rest: a server and clients
that speak nothing else."""
import json
import shutil
import subprocess

import pytest
from harness import wait_until
from outside_world import V4, V6
from test_gate import pytestmark as needs_a_world
from test_gate_policies import make, policed, set_policy, world  # noqa: F401 (fixtures)

pytestmark = [
    needs_a_world,
    pytest.mark.skipif(
        shutil.which("node") is None, reason="node is missing: the server is one of its"
    ),
]
A, OTHER, PORT = "allowed.gate.test", "other.gate.test", 7010

# Prints a line for each session, with the requested name. /hello answers with that name and the
# protocol. The server of
# /notes is a gRPC server: each message has five bytes (a flag, a length), then the text. The first
# comes by itself, then each returns. Its status is in a trailer.
SERVER = r"""
const fs = require("node:fs"), http2 = require("node:http2"), [cert, key, port,
    ...addresses] = process.argv.slice(1);
const framed = (text) => { const body = Buffer.from(text), head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1); return Buffer.concat([head, body]); };
let listening = 0;
for (const address of addresses) {
  const server = http2.createSecureServer({cert: fs.readFileSync(cert), key: fs.readFileSync(key),
      allowHTTP1: false});
  server.on("session", (session) => { session.on("error", () => {});
    console.log(JSON.stringify({name: session.socket.servername, protocol: session.alpnProtocol}));
      });
  server.on("sessionError", () => {});
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {});
    if (headers[":path"] !== "/notes") { stream.respond({":status": 200});
      return stream.end(`hello ${headers[":authority"]} by ${stream.session.alpnProtocol}`); }
    stream.respond({":status": 200, "content-type": "application/grpc"}, {waitForTrailers: true});
    stream.on("wantTrailers", () => stream.sendTrailers({"grpc-status": "0"}));
    stream.write(framed("welcome"));
    let rest = Buffer.alloc(0);
    stream.on("data", (part) => {
      rest = Buffer.concat([rest, part]);
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
        const end = 5 + rest.readUInt32BE(1);
        stream.write(framed("again " + rest.subarray(5, end)));
        rest = rest.subarray(end);
      }
    });
    stream.on("end", () => stream.end());
  });
  server.listen(+port, address, () => {
      if (++listening === addresses.length) console.log("listening"); });
}
"""

# Two streams of one session, each with messages that are sent when the answer to the one before has
# come.
CLIENT = r"""
const http2 = require("node:http2"), sizes = [1, 10, 70000, 500000, 1, 1, 1, 1];
const framed = (text) => { const body = Buffer.from(text), head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1); return Buffer.concat([head, body]); };
const session = http2.connect(process.argv[1], {rejectUnauthorized: false});
session.on("error", (error) => { console.log(JSON.stringify({error: error.code})); process.exit(0);
  });
const talk = (mark) => new Promise((done) => {
  const stream = session.request({":method": "POST", ":path": "/notes",
      "content-type": "application/grpc", te: "trailers"});
  let rest = Buffer.alloc(0), sent = 0, told = {answers: []};
  stream.on("response", (headers) => { told.status = headers[":status"]; });
  stream.on("trailers", (headers) => { told.trailer = headers["grpc-status"]; });
  stream.on("data", (part) => {
    rest = Buffer.concat([rest, part]);
    while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
      const end = 5 + rest.readUInt32BE(1), text = String(rest.subarray(5, end));
      rest = rest.subarray(end);
      told.answers.push(sent ? text === "again " + mark.repeat(sizes[sent - 1]) : text);
      if (sent < sizes.length) stream.write(framed(mark.repeat(sizes[sent++]))); else stream.end();
    }
  });
  stream.on("close", () => done(told));
});
Promise.all([talk("a"),
    talk("b")]).then((streams) => { console.log(JSON.stringify({protocol: session.alpnProtocol,
        streams})); session.close(); });
"""


@pytest.fixture(scope="module")
def sessions(world):  # noqa: F811
    """What the server told of its sessions so far."""
    words = [
        "node",
        "-e",
        SERVER,
        str(world.directory / "cert.pem"),
        str(world.directory / "key.pem"),
        str(PORT),
        V4,
        V6,
    ]
    told = (world.directory / "http2.log").open("w+")
    server = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=told, stderr=subprocess.STDOUT
    )

    def lines():
        return (world.directory / "http2.log").read_text().splitlines()

    try:
        wait_until(lambda: lines() == ["listening"] or server.poll() is not None, "the server")
        assert server.poll() is None, lines()
        yield lambda: [json.loads(line) for line in lines()[1:]]
    finally:
        server.kill()
        server.wait()
        told.close()


def curl(box, host, *more):
    """(exit code, what came) of a curl inside that speaks HTTP/2; `more`: its words."""
    if "HTTP2" not in box.sh("curl --version").text:
        pytest.skip("this host's curl speaks no HTTP/2")
    got = box.daemon.cli(
        "exec",
        box.name,
        "--",
        "curl",
        "-sSk",
        "-m",
        "20",
        "--http2",
        "-w",
        " %{http_version}",
        *more,
        f"https://{host}:{PORT}/hello",
    )
    return got.code, got.text.strip()


def test_an_allowed_name_is_reached_by_http2_and_another_by_its_address_is_not(
    make, sessions
):  # noqa: F811
    box, by_its_address = make(f"https://{A}:{PORT}"), (
        "--connect-to",
        f"{OTHER}:{PORT}:{A}:{PORT}",
    )
    assert curl(box, A) == (0, f"hello {A}:{PORT} by h2 2")
    assert sessions()[-1] == {"name": A, "protocol": "h2"}
    line = box.line(host=A, port=PORT)
    assert (line["verdict"], line["rule"]) == ("allowed", f"https://{A}:{PORT}")
    assert curl(box, OTHER)[0] == 6  # no such name for it
    code, _ = curl(box, OTHER, *by_its_address)
    assert code == 35, "refused by the name in its ClientHello: reset in the handshake"
    line = box.line(host=OTHER, port=PORT)
    assert (line["verdict"], line["reason"], line["needs"]) == (
        "refused",
        "not_in_policy",
        f"{OTHER}:{PORT}",
    )
    assert OTHER not in [one["name"] for one in sessions()], "nothing of it came to the server"
    assert curl(make("open"), OTHER, *by_its_address) == (
        0,
        f"hello {OTHER}:{PORT} by h2 2",
    )  # the control
    assert sessions()[-1] == {"name": OTHER, "protocol": "h2"}


@pytest.mark.depth
def test_long_streams_go_both_ways(make, sessions):  # noqa: F811
    box = make(f"https://{A}:{PORT}")
    if box.sh("command -v node").code != 0:
        pytest.skip("node is not in the sandbox")
    got = box.daemon.cli(
        "exec", box.name, "--", "node", "-e", CLIENT, f"https://{A}:{PORT}", timeout=60
    )
    assert got.code == 0, got
    whole = {"status": 200, "trailer": "0", "answers": ["welcome", *[True] * 8]}
    assert json.loads(got.text) == {"protocol": "h2", "streams": [whole, whole]}, got
    assert sessions()[-1] == {"name": A, "protocol": "h2"}
    line = box.line(
        lambda item: min(item["sent_bytes"], item["received_bytes"]) > 1_140_000, host=A, port=PORT
    )
    assert (line["verdict"], line["count"]) == ("allowed", 1)


@pytest.mark.depth
def test_a_stream_ends_when_the_policy_no_longer_allows_its_host(make, sessions):  # noqa: F811
    box = make(f"https://{A}:{PORT}")
    if box.sh("command -v node").code != 0:
        pytest.skip("node is not in the sandbox")
    waits = (
        "const session = require('node:http2').connect(process.argv[1], {rejectUnauthorized: "
        "false}); const end = (how) => { console.log(how); process.exit(0); };"
        "session.on('error', (error) => end(error.code)); session.on('close', () => end('closed'));"
        "const stream = session.request({':method': 'POST', ':path': '/notes'}); "
        "stream.on('error', () => {}); stream.on('data', () => console.log('open'));"
    )
    command = box.daemon.cli(
        "exec", "-d", box.name, "--", "node", "-e", waits, f"https://{A}:{PORT}"
    ).text.strip()
    lines = lambda: box.daemon.cli("logs", box.name, command).text.split()  # noqa: E731
    wait_until(lambda: lines() == ["open"], "the stream")
    set_policy(box, f"https://{OTHER}:{PORT}")
    wait_until(lambda: lines() == ["open", "ECONNRESET"], "its end", 10)
