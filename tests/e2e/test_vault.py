"""The vault: secrets that sandboxes use and never see: by a base URL, by headers, by a placeholder;
what a hostile sandbox, a hostile server and a reader of the disk get of them; what happens when the
broker dies."""
import json
import os
import signal
import subprocess
import time

import outside_world as world_of
import pytest
from harness import CAY, slow, wait_until
from vault_box import (
    BASE,
    HEADERS,
    STAND_IN,
    both,
    box,
    brokers,
    serving,
    set_secret,
    vaulted,
    world,
)  # noqa: F401  (fixtures too)
from vault_world import UNTRUSTED

pytestmark = pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing())


# --- secrets themselves ---


def test_a_secret_is_set_replaced_listed_and_removed_and_never_told(vaulted, world):
    value = "value-" + os.urandom(12).hex()
    set_secret(vaulted, "kept", value, "API.vault.test", "*.vault.test:8443")
    told = vaulted.cli("secret", "ls", "--json").text
    one = next(item for item in json.loads(told) if item["name"] == "kept")
    assert one["hosts"] == ["api.vault.test", "*.vault.test:8443"] and one["version"] == 1
    assert value not in told
    again = vaulted.cli("secret", "set", "kept", "--json", stdin=b"another-value-altogether")
    assert (
        json.loads(again.text)["version"] == 2 and json.loads(again.text)["hosts"] == one["hosts"]
    )
    with vaulted.http() as http:
        assert http.get("/api/v1/secrets/kept").status_code in (
            404,
            405,
        ), "there is no way to read one"
        plain = http.put(
            "/api/v1/secrets/plain", json={"value": "a-plain-value", "hosts": ["api.vault.test"]}
        )
        assert plain.status_code == 200 and "a-plain-value" not in plain.text
        for body in (
            {"value": "short", "hosts": ["a.test"]},
            {"value": "long-enough"},
            {"value": "long-enough", "hosts": []},
            {"value": "long-enough", "hosts": ["1.2.3.4"]},
            {"sealed": "AAAA", "hosts": ["a.test"]},
            {"hosts": ["a.test"]},
            {"value": "long-enough\r\nX: y", "hosts": ["a.test"]},
        ):
            assert http.put("/api/v1/secrets/wrong", json=body).status_code == 400, body
    assert vaulted.cli("secret", "rm", "kept").code == 0
    assert vaulted.cli("secret", "rm", "kept").code != 0
    assert "kept" not in vaulted.cli("secret", "ls").text


def test_only_the_operator_sets_secrets(vaulted):
    made = subprocess.run(
        [CAY, "key", "--data", vaulted.data, "create", "maker", "--scope", "create"],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    key = made.stdout.strip()
    refused = vaulted.cli(
        "secret",
        "set",
        "mine",
        "--host",
        "api.vault.test",
        stdin=b"long-enough",
        env={"CAY_API_KEY": key},
    )
    assert refused.code == 125, refused
    assert (
        vaulted.cli("secret", "ls", env={"CAY_API_KEY": key}).code == 0
    ), "names and hosts are for whoever makes sandboxes"


def test_a_rule_goes_no_further_than_its_secret(vaulted):
    set_secret(vaulted, "narrow", "a-narrow-secret", "api.vault.test")
    with box(vaulted) as one, vaulted.http() as http:

        def patch(**rule):
            return http.patch(
                f"/api/v1/sandboxes/{one.id}", json={"proxy": [{"secret": "narrow", **rule}]}
            )

        assert patch().status_code == 200
        wrong = patch(hosts=["other.vault.test"])
        assert wrong.status_code == 403 and wrong.json()["error"]["reason"] == "host_not_allowed"
        assert patch(hosts=["*.vault.test"]).status_code == 403
        assert patch(secret="nobody").status_code == 404
        assert patch(way="elsewhere").status_code == 400
        assert patch(headers=[{"name": "Host", "value": "${SECRET}"}]).status_code == 400


# --- way A ---


def test_a_base_url_serves_real_clients(vaulted, world):
    env = {
        "OPENAI_BASE_URL": "${BASE_URL}/v1",
        "OPENAI_API_KEY": "${TOKEN}",
        "ANTHROPIC_BASE_URL": "${BASE_URL}",
        "ANTHROPIC_API_KEY": "${TOKEN}",
    }
    with box(vaulted, {**BASE, "env": env}) as one:
        got = one.sh(
            'curl -sS -m 30 -H "Authorization: Bearer $OPENAI_API_KEY" $OPENAI_BASE_URL/models'
        )
        assert got.code == 0 and json.loads(got.text)["how"] == "Authorization", got
        one.sdk()
        asked = one.python(
            "import openai\nc = openai.OpenAI()\n"
            "print(c.chat.completions.create(model='m', messages=[{'role': 'user', 'content': "
            "'hi'}]).choices[0].message.content)\n"
            "print(''.join(p.choices[0].delta.content for p in "
            "c.chat.completions.create(model='m', messages=[], stream=True)))"
        )
        assert asked.text == "hello by Authorization\none two three\n", asked
        asked = one.python(
            "import anthropic\n"
            "print(anthropic.Anthropic().messages.create(model='m', max_tokens=5, "
            "messages=[{'role': 'user', 'content': 'hi'}]).content[0].text)"
        )
        assert asked.text == "hello by Authorization\n", asked
        asked = one.python(
            "import os, requests\n"
            "r = requests.post(os.environ['OPENAI_BASE_URL'] + '/else', data=b'x' * 3_000_000, "
            "headers={'Authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']})\n"
            "print(r.status_code, r.json()['bytes'])"
        )
        assert asked.text == "200 3000000\n", asked
        asked = one.sh(
            """node -e 'fetch(process.env.OPENAI_BASE_URL + "/x", {headers: {authorization: \
"Bearer " + process.env.OPENAI_API_KEY}})"""
            """.then(r => r.json()).then(j => console.log(j.how))'"""
        )
        assert asked.text == "Authorization\n", asked
        one.line(
            lambda item: item["sent_bytes"] > 3_000_000,
            host="api.vault.test",
            verdict="allowed",
            reason="",
        )


@pytest.mark.depth
def test_events_of_a_stream_come_one_by_one(vaulted, world):
    with box(vaulted, BASE) as one:
        world.release.clear()
        try:
            token = one.token()
            ask = json.dumps({"model": "m", "stream": True})
            running = subprocess.Popen(
                [
                    CAY,
                    "exec",
                    one.name,
                    "--",
                    "curl",
                    "-sN",
                    "-m",
                    "60",
                    "-H",
                    f"Authorization: Bearer {token}",
                    "-d",
                    ask,
                    "http://192.0.0.3/api/v1/chat/completions",
                ],
                stdout=subprocess.PIPE,
                env={**os.environ, **vaulted.env},
            )
            first = running.stdout.readline()
            assert b'"one "' in first, first
        finally:
            world.release.set()
        assert running.stdout.read().count(b"data:") == 3
        assert running.wait(timeout=slow(30)) == 0


def test_a_token_is_good_in_its_own_sandbox_alone(vaulted, world):
    with box(vaulted, BASE) as one, box(vaulted, BASE) as other:
        good, strange = one.token(), other.token()
        assert good.startswith("cay-token-") and good != strange
        url = "http://192.0.0.3/api/x"
        assert one.curl(url, "-H", f"X-Api-Key: {good}")[0] == 200, "the control"
        before = len(world.seen)
        status, body = one.curl(url, "-H", f"X-Api-Key: {strange}")
        assert status == 401 and json.loads(body)["error"]["code"] == "token_unknown"
        assert one.curl(url)[0] == 401
        assert one.curl("http://192.0.0.3/nobody/x", "-H", f"X-Api-Key: {good}")[0] == 403
        assert len(world.seen) == before, "nothing of these was sent"
        told = one.line(reason="token_unknown")
        assert (told["rule"], told["host"], told["verdict"]) == (
            "api",
            "api.vault.test",
            "refused",
        ), told
        told = one.line(reason="no_such_rule")
        assert (told["rule"], told["host"], told["port"]) == ("nobody", "192.0.0.3", 80), told
        assert one.curl("http://192.0.0.3/a%1b;x/y")[0] == 403
        assert wait_until(
            lambda: one.line(reason="no_such_rule")["rule"] == "a?1b?x",
            "what the guest says is made harmless",
        )
        said = vaulted.cli("net", one.name).text
        assert (
            "without the token that its proxy rule 'api' gives" in said
            and "it has no proxy rule 'a?1b?x'" in said
        ), said
    with box(vaulted) as none:
        assert none.curl(url, "-H", f"X-Api-Key: {good}") == (
            403,
            "Nothing in a sandbox may reach 192.0.0.3: it is a reserved address.\n",
        ), "a sandbox without rules reaches nothing there"


# --- ways B and C ---


@pytest.mark.depth
def test_headers_are_set_for_real_clients_that_send_nothing(vaulted, world):
    with box(vaulted, HEADERS) as one:
        assert one.json("https://api.vault.test/x")["how"] == "Authorization"
        assert (
            one.json("https://api.vault.test/x", "-H", "Authorization: Bearer mine")["how"]
            == "Authorization"
        ), "what the guest says in it counts for nothing"
        one.sdk()
        asked = one.python(
            "import requests; print(requests.get('https://api.vault.test/x').json()['how'])"
        )
        assert asked.text == "Authorization\n", asked
        asked = one.python(
            "import urllib.request as u, json; "
            "print(json.load(u.urlopen('https://api.vault.test/x'))['how'])"
        )
        assert asked.text == "Authorization\n", asked
        asked = one.sh(
            """node -e 'fetch("https://api.vault.test/x").then(r => r.json()).then(j => \
console.log(j.how))'"""
        )
        assert asked.text == "Authorization\n", asked
        asked = one.python(
            "import openai; print(openai.OpenAI(base_url='https://api.vault.test/v1', "
            "api_key='none').chat.completions"
            ".create(model='m', messages=[]).choices[0].message.content)"
        )
        assert asked.text == "hello by Authorization\n", asked


def test_a_placeholder_becomes_the_secret_for_real_clients(vaulted, world):
    env = {"OPENAI_API_KEY": "${TOKEN}", "ANTHROPIC_API_KEY": "${TOKEN}"}
    with box(vaulted, {**STAND_IN, "env": env}) as one:
        one.sdk()
        asked = one.python(
            "import openai; print(openai.OpenAI(base_url='https://api.vault.test/v1').chat."
            "completions"
            ".create(model='m', messages=[]).choices[0].message.content)"
        )
        assert asked.text == "hello by Authorization\n", asked
        asked = one.python(
            "import anthropic; print(anthropic.Anthropic(base_url='https://api.vault.test')."
            "messages"
            ".create(model='m', max_tokens=5, messages=[{'role': 'user', 'content': "
            "'hi'}]).content[0].text)"
        )
        assert asked.text in (
            "hello by X-Api-Key\n",
            "hello by Authorization\n",
        ), asked  # which of them is the SDK's own to say
        token = one.token()
        assert one.json("https://api.vault.test/x", "-u", f"me:{token}")["how"] == "Basic"
        asked = one.python(
            "import os, requests; print(requests.get('https://api.vault.test/x', "
            "headers={'Authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']}).json()['how'])"
        )
        assert asked.text == "Authorization\n", asked
        asked = one.sh(
            """node -e 'fetch("https://api.vault.test/x", {headers: {"x-api-key": \
process.env.OPENAI_API_KEY}}).then(r => r.json()).then(j => console.log(j.how))'"""
        )
        assert asked.text == "X-Api-Key\n", asked
        # Inert everywhere else.
        for more in (("-H", f"X-Note: {token}"), ("-d", token), ("-A", token), ()):
            assert (
                json.loads(one.curl(f"https://api.vault.test/open/?q={token}", *more)[1])["how"]
                == ""
            )
        assert all(world.secret.encode() not in text for text in world.raw[-4:])


@pytest.mark.depth
def test_other_hosts_pass_untouched(vaulted, world):
    with box(vaulted, {**HEADERS, "hosts": ["api.vault.test"]}, policy="open") as one:
        assert one.json("https://api.vault.test/open/")["how"] == "Authorization", "the control"
        status, _ = one.curl("https://other.vault.test/open/")
        assert (
            status < 0
        ), "its certificate is its own, of an authority that the sandbox does not trust"
        assert json.loads(one.curl("https://other.vault.test/open/", "-k")[1])["how"] == ""
        shown = one.sh(
            "echo | openssl s_client -connect other.vault.test:443 -servername other.vault.test "
            "2>/dev/null | openssl x509 -noout -issuer"
        )
        assert "outside" in shown.text, shown
        shown = one.sh(
            "echo | openssl s_client -connect api.vault.test:443 -servername api.vault.test "
            "2>/dev/null | openssl x509 -noout -issuer"
        )
        assert "Cay sandbox" in shown.text, shown
    with box(vaulted, HEADERS) as one:  # a rule opens its own hosts, and no other
        assert one.json("https://api.vault.test/x")["how"] == "Authorization"
        assert one.curl("https://other.vault.test/open/", "-k")[0] < 0


@pytest.mark.depth
def test_each_sandbox_has_an_authority_of_its_own(vaulted):
    with box(vaulted, HEADERS) as one, box(vaulted, HEADERS) as other, box(vaulted) as none:
        certificates = [b.sh("cat /etc/ssl/certs/cay-sandbox.pem").text for b in (one, other)]
        assert (
            all("BEGIN CERTIFICATE" in text and "PRIVATE" not in text for text in certificates)
            and certificates[0] != certificates[1]
        )
        assert none.sh("ls /etc/ssl/certs/cay-sandbox.pem").code != 0
        assert (
            one.sh("grep -c 'Cay: the authority' /etc/ssl/certs/ca-certificates.crt").text.strip()
            == "1"
        )
        one.rules({**HEADERS, "paths": ["/*"]})
        assert vaulted.cli("stop", one.name).code == 0
        assert (
            one.json("https://api.vault.test/x")["how"] == "Authorization"
        ), "after its next start"
        assert (
            one.sh("grep -c 'Cay: the authority' /etc/ssl/certs/ca-certificates.crt").text.strip()
            == "1"
        )


@pytest.mark.depth
def test_a_request_for_another_host_or_path_is_refused(vaulted, world):
    with box(vaulted, {**HEADERS, "paths": ["/v1/**"]}) as one:
        assert one.json("https://api.vault.test/v1/x")["how"] == "Authorization", "the control"
        before = len(world.seen)
        for url, more in (
            ("https://api.vault.test/v1/x", ("-H", "Host: other.vault.test")),
            ("https://api.vault.test/admin", ()),
            ("https://api.vault.test/v1/../admin", ("--path-as-is",)),
            ("https://api.vault.test/v1/%2e%2e/admin", ("--path-as-is",)),
        ):
            status, body = one.curl(url, *more)
            assert status == 403, (url, status, body)
        assert len(world.seen) == before
        one.line(reason="host_mismatch", verdict="refused")
        one.line(reason="path_not_in_rule", verdict="refused")


def test_the_servers_certificate_is_checked(vaulted, world):
    with box(vaulted, {**HEADERS, "hosts": ["api.vault.test:8443"]}) as one:
        assert (
            one.json("https://api.vault.test:8443/x")["how"] == "Authorization"
        ), "the control, at another port"
    set_secret(vaulted, "far", world.secret, f"{UNTRUSTED}:9443")
    with box(vaulted, {"secret": "far", "name": "far"}) as one:
        before = len(world.seen)
        status, body = one.curl(f"https://{UNTRUSTED}:9443/x")
        assert status == 502 and json.loads(body)["error"]["code"] == "tls_untrusted", (
            status,
            body,
        )
        assert len(world.seen) == before
        one.line(reason="tls_untrusted")
    set_secret(vaulted, "near", world.secret, "private.vault.test")
    with box(vaulted, {"secret": "near", "name": "near"}) as one:
        assert (
            one.curl("https://private.vault.test/x")[0] < 0
        ), "a private address that the operator did not list"


@pytest.mark.depth
def test_a_websocket_passes_with_its_header(vaulted, world):
    program = r"""
import base64, os, socket, ssl
def talk(*texts):
    trust = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    plain = socket.create_connection(("api.vault.test", 443))
    stream = trust.wrap_socket(plain, server_hostname="api.vault.test")
    stream.sendall(b"GET /socket HTTP/1.1\r\nHost: api.vault.test\r\nUpgrade: websocket\r\n"
                   b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                   + base64.b64encode(os.urandom(16)) + b"\r\n\r\n")
    have = b""
    def need(n):
        nonlocal have
        while len(have) < n:
            got = stream.recv(65536)
            if not got: raise EOFError
            have += got
        out, have = have[:n], have[n:]
        return out
    while b"\r\n\r\n" not in have: have += stream.recv(65536)
    head, _, have = have.partition(b"\r\n\r\n")
    out = [head.split(b" ")[1].decode()]
    def frame():
        n = need(2)[1] & 127
        if n == 126: n = int.from_bytes(need(2), "big")
        return need(n).decode()
    out.append(frame())
    for text in texts:
        stream.sendall(bytes([0x81, 0x80 | len(text)]) + b"\0\0\0\0" + text.encode())
        try: out.append(frame())
        except (EOFError, OSError) as error: out.append(type(error).__name__)
    return out
print(talk("one", "two"))
print(talk("reflect")[-1] in ("ConnectionResetError", "SSLEOFError", "EOFError", "SSLError"))
"""
    with box(vaulted, HEADERS) as one:
        got = one.python(program)
        assert got.text == "['101', 'how:Authorization', 'echo:one', 'echo:two']\nTrue\n", got
        one.line(reason="secret_reflected")


# --- hostile servers and guests ---


@pytest.mark.parametrize(
    "path",
    [
        "reflect-body",
        "reflect-base64",
        "reflect-chunks",
        pytest.param("reflect-header", marks=pytest.mark.depth),
        pytest.param("packed", marks=pytest.mark.depth),
    ],
)
def test_a_secret_that_a_server_sends_back_is_cut(vaulted, world, path):
    with box(vaulted, HEADERS) as one:
        got = one.sh(
            f"curl -sS -m 30 https://api.vault.test/{path} > /tmp/got; echo $?; cat /tmp/got"
        )
        code, _, body = got.text.partition("\n")
        assert world.secret not in got.text and world.secret[4:] not in got.text
        if path == "packed":
            assert json.loads(body)["error"]["code"] == "answer_unreadable", body
        else:
            assert int(code) != 0, "a cut answer is no proper one"
        one.line(
            host="api.vault.test",
            reason="answer_unreadable" if path == "packed" else "secret_reflected",
        )
        assert one.json("https://api.vault.test/x")["how"] == "Authorization", "the next is served"


@pytest.mark.depth
def test_broken_answers_are_never_whole_ones(vaulted, world):
    with box(vaulted, HEADERS) as one:
        assert (
            one.sh("curl -sS -m 30 https://api.vault.test/half; echo $?")
            .text.splitlines()[-1]
            .strip()[-1]
            != "0"
        )
        assert one.curl("https://api.vault.test/smuggle")[0] == 502


def test_hostile_requests_reach_nobody(vaulted, world):
    program = r"""
import os, socket, ssl, sys
def ask(data, host="api.vault.test"):
    trust = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    plain = socket.create_connection((host, 443))
    stream = trust.wrap_socket(plain, server_hostname=host)
    stream.settimeout(4)  # what waits for more of a request is not refused yet, and reaches nobody
    stream.sendall(data)
    out = b""
    try:
        while part := stream.recv(65536): out += part
    except OSError: pass
    return out.split(b"\r\n")[0].decode("latin1")
H = b"Host: api.vault.test\r\n"
print(ask(b"GET /a HTTP/1.1\r\n" + H + b"Connection: close\r\n\r\n"))
print(ask(b"GET /b HTTP/1.1\r\n" + H + H + b"\r\n"))
print(ask(b"POST /c HTTP/1.1\r\n" + H
    + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /d HTTP/1.1\r\n\r\n"))
print(ask(b"POST /h HTTP/1.1\r\n" + H + b"Transfer-Encoding: xchunked\r\n\r\n"
    + b"GET /i HTTP/1.1\r\n" + H + b"\r\n"))
print(ask(b"POST /j HTTP/1.1\r\n" + H + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"))
print(ask(b"GET https://other.vault.test/e HTTP/1.1\r\n" + H + b"\r\n"))
print(ask(b"CONNECT other.vault.test:443 HTTP/1.1\r\n" + H + b"\r\n"))
print(ask(b"GET /f HTTP/1.1\r\n" + H + b"X: " + b"y" * 100_000 + b"\r\n\r\n"))
print(ask(b"\x16\x03\x01" * 50))
print(ask(b"GET /g HTTP/1.1\r\n" + H + b"X-A: b\x00c\r\n\r\n"))
"""
    with box(vaulted, HEADERS) as one:
        before = len(world.seen)
        got = one.python(program, timeout=120)
        lines = got.text.splitlines()
        assert lines[0] == "HTTP/1.1 200 OK" and not any(" 200 " in line for line in lines[1:]), got
        assert [seen["path"] for seen in world.seen[before:]] == ["/a"]


# --- changes and deaths ---


def test_a_new_value_and_a_removal_count_at_once(vaulted, world):
    set_secret(vaulted, "changing", "not-the-right-one", "api.vault.test")
    with box(vaulted, {"secret": "changing", "name": "changing"}) as one:
        assert one.curl("https://api.vault.test/x")[0] == 401
        set_secret(vaulted, "changing", world.secret)
        assert one.json("https://api.vault.test/x")["how"] == "Authorization"
        assert vaulted.cli("secret", "rm", "changing").code == 0
        assert one.curl("https://api.vault.test/x")[0] == 403
    with box(vaulted, HEADERS) as one:
        assert one.json("https://api.vault.test/x")["how"] == "Authorization"
        assert one.rules() == []
        assert (
            one.curl("https://api.vault.test/x", "-k")[0] < 0
        ), "its rule was taken away, and its policy does not have the host"


def test_a_broker_that_is_killed_comes_back_with_all_it_had(vaulted, world):
    with box(vaulted, HEADERS, {**BASE, "name": "base"}) as one:
        token = one.token()
        assert one.json("https://api.vault.test/x")["how"] == "Authorization"
        old = serving(vaulted, "broker")
        os.kill(old, signal.SIGKILL)
        wait_until(lambda: serving(vaulted, "broker") != old, "another one serves")
        wait_until(
            lambda: one.curl("https://api.vault.test/x")[0] == 200, "it serves what the other did"
        )
        for pid in brokers(vaulted):
            os.kill(pid, signal.SIGKILL)
        wait_until(
            lambda: one.curl("http://192.0.0.3/base/x", "-H", f"X-Api-Key: {token}")[0] == 200,
            "and again, when both were killed",
        )
        assert vaulted.cli("secret", "ls").code == 0


@pytest.mark.depth
def test_doctor_and_metrics_tell_whether_a_broker_serves(vaulted):
    def feature():
        return next(
            one
            for one in json.loads(vaulted.cli("doctor", "--json").text)["features"]
            if one["name"] == "vault"
        )

    assert feature()["ok"] and "filter of system calls" in feature()["found"]
    guardian, worker = both(vaulted, "broker")
    os.kill(guardian, signal.SIGSTOP)  # so that nobody starts another
    try:
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: not feature()["ok"], "doctor says so")
        assert "broker.log" in feature()["remedy"]
        with vaulted.http() as http:
            assert "cay_vault_up 0" in http.get("/metrics").text
    finally:
        os.kill(guardian, signal.SIGCONT)
    wait_until(lambda: feature()["ok"], "another one serves")
    with vaulted.http() as http:
        assert "cay_vault_up 1" in http.get("/metrics").text


@pytest.mark.depth
def test_a_rule_given_while_a_broker_comes_back_counts_at_once(vaulted, world):
    """Its gate has looked for it in vain for seconds, and whoever set the rule was told that it
    counts."""
    ask = {
        "argv": [
            "curl",
            "-sS",
            "-m",
            "20",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            "https://api.vault.test/x",
        ]
    }
    with box(vaulted) as one, vaulted.http() as http:
        guardian, worker = both(vaulted, "broker")
        os.kill(guardian, signal.SIGSTOP)
        try:
            os.kill(worker, signal.SIGKILL)
            time.sleep(3.3)  # by then it looks seldom, where it does: no condition to wait for
            before = http.post(f"/api/v1/sandboxes/{one.id}/commands", json=ask).json()
            assert before["exit_code"] not in (
                0,
                None,
            ), "the control: no rule, and a policy without the host"
        finally:
            os.kill(guardian, signal.SIGCONT)
        set_ = http.patch(f"/api/v1/sandboxes/{one.id}", json={"proxy": [HEADERS]})
        assert set_.status_code == 200, set_.text
        after = http.post(f"/api/v1/sandboxes/{one.id}/commands", json=ask).json()
        assert (after["stdout"], after["exit_code"]) == ("200", 0), after


@pytest.mark.depth
def test_a_daemon_that_does_not_get_the_directory_leaves_the_others_broker_alone(vaulted, world):
    before = brokers(vaulted)
    other = subprocess.run(
        [CAY, "serve", "--data", vaulted.data, "--listen", "127.0.0.1:0"],
        capture_output=True,
        text=True,
        timeout=60,
    )  # without vault.ca_file
    assert other.returncode != 0, other
    assert brokers(vaulted) == before, other.stderr


@pytest.mark.depth
def test_a_daemon_and_a_gate_that_are_killed_change_nothing(vaulted, world):
    with box(vaulted, HEADERS) as one:
        vaulted.restart()
        assert one.json("https://api.vault.test/x")["how"] == "Authorization"
        os.kill(serving(vaulted, "gate"), signal.SIGKILL)
        wait_until(
            lambda: one.curl("https://api.vault.test/x")[0] == 200, "another gate knows the rules"
        )


@pytest.mark.depth
def test_new_keys_lose_no_secret(vaulted, world):
    with box(vaulted, HEADERS) as one:
        key = (vaulted.data / "vault" / "key").read_bytes()
        done = vaulted.cli("secret", "rotate-key", "--json")
        assert done.code == 0 and json.loads(done.text)["secrets"] >= 1, done
        assert (vaulted.data / "vault" / "key").read_bytes() != key
        assert one.json("https://api.vault.test/x")["how"] == "Authorization"
        os.kill(serving(vaulted, "broker"), signal.SIGKILL)
        wait_until(lambda: one.curl("https://api.vault.test/x")[0] == 200, "with the new key alone")
