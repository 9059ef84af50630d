"""The way out as other languages' clients meet it: Java, Go, Node and Chromium resolve names and
ports in ways of their own.

Each runs where the host has it, or where `tests/long clients` (`tests/long browser`) unpacked it;
without, it is skipped.
"""
import json
import os
import pathlib

import chromium
import outside_world as world_of
import pytest
from harness import ROOT, slow
from test_gate import AT_ONCE, Box, gated, world  # noqa: F401  (fixtures)

pytestmark = [
    pytest.mark.depth,
    pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing()),
]
TREE = pathlib.Path(os.environ.get("CAY_CLIENTS", ROOT / "build/long/clients"))

# Each prints one JSON object: the results for an allowed and a refused host, and the time of the
# refusal. It also has whether the sandbox's own name reaches its server, bound to every address.
JAVA = r"""
import java.net.*;
import java.nio.charset.StandardCharsets;
public class Client {
  static String get(String host) {
    try (var in = new URL("http://" + host
        + "/").openStream()) { return new String(in.readAllBytes(), StandardCharsets.UTF_8); }
    catch (Exception e) { return "error " + e.getClass().getSimpleName(); }
  }
  public static void main(String[] args) throws Exception {
    String allowed = get("allowed.gate.test");
    long begun = System.nanoTime();
    String refused = get("other.gate.test");
    double took = (System.nanoTime() - begun) / 1e9;
    String own = InetAddress.getLocalHost().getHostAddress();
    var families = new java.util.TreeSet<String>();
    for (var one : InetAddress.getAllByName("allowed.gate.test"))
      families.add(one instanceof Inet6Address ? "6" : "4");
    String mine;
    try (var server = new ServerSocket(8090)) {
      var serving = new Thread(() -> {
        try (var peer = server.accept()) { peer.getOutputStream().write("mine".getBytes()); }
        catch (Exception e) {}
      });
      serving.start();
      try (var peer = new Socket(own,
          8090)) { mine = new String(peer.getInputStream().readAllBytes()); }
    }
    System.out.printf("{\"allowed\": \"%s\", \"refused\": \"%s\", \"took\": %s, \"own\": \"%s\", "
                      + "\"mine\": \"%s\", \"families\": \"%s\"}%n",
                      allowed, refused, took, own, mine, String.join("", families));
  }
}
"""

GO = r"""
package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"sort"
	"strings"
	"time"
)

func get(host string) string {
	answer, err := http.Get("http://" + host + "/")
	if err != nil {
		return "error " + err.Error()
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return string(body)
}

func main() {
	allowed := get("allowed.gate.test")
	begun := time.Now()
	refused := get("other.gate.test")
	took := time.Since(begun).Seconds()
	name, _ := os.Hostname()
	own, _ := net.LookupHost(name)
	all, _ := net.LookupIP("allowed.gate.test")
	seen := map[string]bool{}
	for _, one := range all {
		if one.To4() != nil {
			seen["4"] = true
		} else {
			seen["6"] = true
		}
	}
	families := []string{}
	for family := range seen {
		families = append(families, family)
	}
	sort.Strings(families)
	server, _ := net.Listen("tcp", ":8091")
	go func() {
		peer, _ := server.Accept()
		peer.Write([]byte("mine"))
		peer.Close()
	}()
	mine := []byte{}
	if peer, err := net.Dial("tcp", net.JoinHostPort(name, "8091")); err == nil {
		mine, _ = io.ReadAll(peer)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"allowed": allowed, "refused": refused,
		"took": took, "own": own[0], "mine": string(mine), "families": strings.Join(families, "")})
}
"""

NODE = r"""
const dns = require("node:dns").promises, net = require("node:net"), os = require("node:os");
const http = require("node:http");
const get = (host) => new Promise((done) => http.get(`http://${host}/`, (answer) => {
  let text = ""; answer.on("data", (part) => (text += part)); answer.on("end", () => done(text));
}).on("error", (error) => done("error " + error.code)));
(async () => {
  const allowed = await get("allowed.gate.test");
  const begun = Date.now();
  const refused = await get("other.gate.test");
  const took = (Date.now() - begun) / 1000;
  const own = (await dns.lookup(os.hostname(), {family: 4})).address;
  const all = await dns.lookup("allowed.gate.test", {all: true});
  const server = net.createServer((peer) => peer.end("mine")).listen(8092, "0.0.0.0");
  const mine = await new Promise((done) => net.connect(8092, own).on("data",
      (part) => done(String(part))));
  server.close();
  console.log(JSON.stringify({allowed, refused, took, own, mine,
      families: [...new Set(all.map((one) => one.family))].sort().join("")}));
})();
"""


@pytest.fixture(scope="module")
def box(gated):  # noqa: F811
    made = Box(gated, "packages", "--memory", "2G", "--disk", "8G")
    if TREE.exists():
        assert gated.cli("cp", f"{TREE}/.", f"{made.name}:/", timeout=slow(300)).code == 0
    yield made
    made.close()


CLIENTS = {
    "java": ("/tmp/Client.java", JAVA, "exec java /tmp/Client.java"),
    # Its own resolver, not libc's: CGO_ENABLED=0 is what static Go programs have.
    "go": (
        "/tmp/client.go",
        GO,
        "cd /tmp && HOME=/tmp GOTOOLCHAIN=local GOFLAGS=-mod=mod CGO_ENABLED=0 exec go run "
        "client.go",
    ),
    "node": ("/tmp/client.js", NODE, "exec node /tmp/client.js"),
}
PATH = "PATH=$PATH:/usr/local/go/bin:/usr/lib/go-1.19/bin:/usr/lib/jvm/java-17-openjdk-amd64/bin"


@pytest.mark.parametrize("language", CLIENTS)
def test_a_client_of_its_own_language(box, language, tmp_path):
    if box.sh(f"{PATH} command -v {language}").code != 0:
        pytest.skip(f"{language} is neither on this host nor unpacked: tests/long clients")
    path, program, line = CLIENTS[language]
    (tmp_path / "program").write_text(program)
    assert box.daemon.cli("cp", str(tmp_path / "program"), f"{box.name}:{path}").code == 0
    done = box.sh(f"export {PATH}; {line}", timeout=slow(180))
    assert done.code == 0, done
    told = json.loads(done.text)
    assert told["allowed"] == "hello allowed.gate.test", told
    assert told["refused"].startswith("error"), told
    assert told["took"] < AT_ONCE, "a refusal comes at once"
    assert told["own"] in ("192.0.0.2", "fd63:6179:6761:7465::2"), told
    assert told["mine"] == "mine" and told["families"] == "46", told


def test_chromium_inside(box):
    if not chromium.THERE:
        pytest.skip("Chromium is neither on this host nor unpacked: tests/long browser")
    program, libraries = chromium.INSTALLED, ""
    if program is None:
        assert (
            box.daemon.cli(
                "cp", f"{chromium.TREE}/.", f"{box.name}:/opt/chromium", timeout=slow(300)
            ).code
            == 0
        )
        program, libraries = (
            f"/opt/chromium/{chromium.BINARY}",
            f"LD_LIBRARY_PATH={chromium.libraries('/opt/chromium')}",
        )

    def page(url):
        return box.sh(
            f"{libraries} HOME=/tmp {program} --headless --no-sandbox --disable-gpu "
            "--disable-dev-shm-usage "
            f"--ignore-certificate-errors --user-data-dir=/tmp/profile --dump-dom {url} "
            "2>/dev/null",
            timeout=slow(120),
        ).text

    assert "hello allowed.gate.test" in page("http://allowed.gate.test/")
    assert "hello allowed.gate.test" in page("https://allowed.gate.test/")
    assert "hello" not in page("http://other.gate.test/")
