"""Images out of a real registry, archives, and registries that lie, by the image process alone."""
import json
import pathlib
import shutil
import tarfile
import tempfile

import images
import pytest
from connect_proxy import ConnectProxy
from images import Conversation, FakeRegistry, Image, Refused, tar

DIR, FILE, LINK, HARD = tarfile.DIRTYPE, tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
missing = [one for one in ("docker-registry", "skopeo") if not shutil.which(one)]
needs_registry = pytest.mark.skipif(bool(missing), reason=f"not installed: {' and '.join(missing)}")
LOGIN = ("ann", "a:pass word", "")


def example():
    lower = tar(
        ("./", DIR, ""),
        ("etc", DIR, ""),
        ("etc/name", FILE, b"lower\n", {"uid": 7, "gid": 8, "mode": 0o4711}),
        ("etc/again", HARD, "etc/name"),
        ("bin", LINK, "usr/bin"),
        ("dev/null", tarfile.CHRTYPE, ""),
        ("gone", FILE, b"x" * 300_000),
        ("old/file", FILE, b"1"),
    )
    upper = tar(
        (".wh.gone", FILE, b""),
        ("old/.wh..wh..opq", FILE, b""),
        ("old/new", FILE, b"2"),
    )
    config = {
        "User": "7:8",
        "WorkingDir": "/srv",
        "Env": ["PATH=/bin", "A=b=c"],
        "Entrypoint": ["/bin/tool"],
        "Cmd": ["-h"],
        "Labels": {"k": "v"},
        "ExposedPorts": {"80/tcp": {}},
    }
    return Image(lower, upper, config=config)


def expect_example(got, image):
    assert got.diff_ids == image.diff_ids
    assert got.config == {
        "user": ["7:8"],
        "workdir": ["/srv"],
        "env": ["A=b=c", "PATH=/bin"],
        "entrypoint": ["/bin/tool"],
        "command": ["-h"],
        "labels": ["k=v"],
        "ports": ["80/tcp"],
    }
    lower = got.layer(0)
    assert lower["etc/name"] == ["file", 6, 0o4711, 7, 8, b"lower\n"]
    assert lower["etc/again"][:2] == ["link", "etc/name"]
    assert lower["bin"][:2] == ["symlink", "usr/bin"]
    assert lower["gone"][5] == b"x" * 300_000
    assert "dev/null" not in lower and "" not in lower
    assert "/dev/null" in got.note, got.note
    upper = got.layer(1)
    assert [(path, entry[0]) for path, entry in upper.items()] == [
        ("gone", "gone"),
        ("old", "opaque"),
        ("old/new", "file"),
    ]


@pytest.fixture(scope="module")
def folder():
    made = pathlib.Path(tempfile.mkdtemp(prefix="cay-images-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def path(folder):
    with images.process(folder / "data") as found:
        yield found


def refusal(path, name, **how):
    with Conversation(path) as one, pytest.raises(Refused) as refused:
        one.pull(name, **how)
        for index in range(len(one.diff_ids)):
            one.layer(index)
    return refused.value.reason


@needs_registry
def test_a_registry_gives_an_image_with_and_without_a_login(path, folder):
    image = example()
    layout = image.layout(folder / "layout")
    with images.registry(folder / "open") as host:
        to = f"docker://{host}/team/app:1"
        images.skopeo("copy", "--dest-tls-verify=false", f"oci:{layout}", to)
        for _ in range(2):  # the second has its blobs already
            with Conversation(path) as one:
                got = one.pull(f"{host}/team/app:1")
                assert (got.name, got.tag) == (f"{host}/team/app", "1")
                expect_example(got, image)
                by_digest = got.digest
        with Conversation(path) as one:
            assert one.pull(f"{host}/team/app@{by_digest}").diff_ids == image.diff_ids
        assert refusal(path, f"{host}/team/app:2") == "image_not_found"
        assert refusal(path, f"{host}/team/app:1", special=False) == "special_network"
        images.skopeo(
            "copy",
            "--dest-tls-verify=false",
            "--dest-compress-format=zstd",
            f"oci:{layout}",
            f"docker://{host}/team/zstd:1",
        )
        with Conversation(path) as one:
            expect_example(one.pull(f"{host}/team/zstd:1"), image)
    with images.registry(folder / "closed", login=LOGIN) as host:
        images.skopeo(
            "copy",
            "--dest-tls-verify=false",
            f"--dest-creds={LOGIN[0]}:{LOGIN[1]}",
            f"oci:{layout}",
            f"docker://{host}/team/app:1",
        )
        assert refusal(path, f"{host}/team/app:1") == "registry_denied"
        assert refusal(path, f"{host}/team/app:1", login=("ann", "x", "")) == "registry_denied"
        with Conversation(path) as one:
            expect_example(one.pull(f"{host}/team/app:1", login=LOGIN), image)


def docker_hub(mirrors, proxy=""):
    """Settings: mirrors of Docker Hub, and a proxy that leads nowhere or to what it names."""
    return (
        f'[network]\nupstream_proxy = "{proxy}"\n'
        f'[images.mirrors]\n"docker.io" = {json.dumps(mirrors)}\n'
    )


def test_a_mirror_serves_a_registry_that_nobody_reaches(folder):
    image = Image(tar(("a", FILE, b"mirrored")))
    broken = Image(tar(("a", FILE, b"mirrored")), diff_ids=["sha256:" + "0" * 64])
    with FakeRegistry(lambda handler: handler.give(404)) as empty, FakeRegistry(
        lambda handler: handler.image(image)
    ) as full, FakeRegistry(lambda handler: handler.image(broken)) as liar:
        mirrors = [f"http://{empty.name}", f"http://{full.name}/hub"]
        with images.process(folder / "mirrored", docker_hub(mirrors)) as path:
            # A tenant's request, without the right to special networks: the operator names mirrors.
            with Conversation(path) as one:
                got = one.pull("python:3.12", special=False, login=LOGIN)
                assert got.name == "docker.io/library/python"
                assert got.layer(0)["a"][5] == b"mirrored"
                assert any("The next one is tried" in line for line in one.progress)
            assert refusal(path, "quay.io.invalid/x/y:1", special=False) != "image_not_found"
        asked = [where for where, _ in full.seen]
        assert "/v2/hub/library/python/manifests/3.12" in asked, asked
        assert not any("Authorization" in head for _, head in empty.seen + full.seen)
        # Bytes of a mirror are checked, and no other way is tried then.
        settings = docker_hub([f"http://{liar.name}", f"http://{full.name}"])
        full.seen.clear()
        with images.process(folder / "liar", settings) as path:
            assert refusal(path, "python:3.12") == "digest_mismatch"
        assert not full.seen


def test_the_operators_proxy_leads_to_registries_that_this_host_does_not_know(folder):
    image = Image(tar(("a", FILE, b"proxied")))
    with FakeRegistry(lambda handler: handler.image(image)) as server:
        port = server.server_address[1]
        proxy = ConnectProxy({"mirror.invalid": ("127.0.0.1", port)}, user="ann:secret")
        settings = docker_hub(
            ["http://mirror.invalid:80"], f"http://ann:secret@127.0.0.1:{proxy.port}"
        )
        with images.process(folder / "proxied", settings) as path:
            with Conversation(path) as one:
                assert one.pull("tool:1", special=False).layer(0)["a"][5] == b"proxied"
            lock = folder / "proxied/images/lock"
            assert b"secret" not in lock.read_bytes() and b"YW5uOnNlY3JldA" not in lock.read_bytes()
        assert set(proxy.asked) == {"mirror.invalid:80"}
        proxy.close()


@needs_registry
def test_a_push_can_be_pulled_here_and_by_others(path, folder):
    layers = (
        [("d", "dir", b"", ""), ("d/f", "file", b"text", ""), ("l", "symlink", b"", "d/f")],
        [("d/f", "gone", b"", ""), ("d/g", "file", b"more", "")],
    )
    config = images.field(3, "A=b") + images.field(5, "run")
    with images.registry(folder / "pushed", login=LOGIN) as host:
        with Conversation(path) as one, pytest.raises(Refused) as refused:
            one.push(f"{host}/made/here:1", config, *layers)
        assert refused.value.reason == "registry_denied"
        with Conversation(path) as one:
            pushed = one.push(f"{host}/made/here:1", config, *layers, login=LOGIN)
        with Conversation(path) as one:
            got = one.pull(f"{host}/made/here:1", login=LOGIN)
            assert got.digest == pushed and got.config["env"] == ["A=b"]
            assert got.config["command"] == ["run"]
            assert got.layer(0)["d/f"][5] == b"text" and got.layer(0)["l"][1] == "d/f"
            assert got.layer(1)["d/f"][0] == "gone" and got.layer(1)["d/g"][5] == b"more"
        images.skopeo(
            "copy",
            "--src-tls-verify=false",
            f"--src-creds={LOGIN[0]}:{LOGIN[1]}",
            f"docker://{host}/made/here:1",
            f"oci:{folder / 'copied'}:1",
        )


@needs_registry
def test_archives_of_three_kinds(path, folder):
    image = example()
    layout = image.layout(folder / "archived")
    for form in ("oci-archive", "docker-archive"):
        file = folder / f"{form}.tar"
        images.skopeo("copy", f"oci:{layout}", f"{form}:{file}:team/app:1")
        with Conversation(path) as one:
            expect_example(one.read(file.read_bytes()), image)
    root = tar(("bin", DIR, ""), ("bin/sh", FILE, b"#!"))
    with Conversation(path) as one:
        got = one.read(root)
        assert got.diff_ids == [images.digest(root)] and got.name == ""
        assert got.layer(0)["bin/sh"][5] == b"#!"
    for bad in (b"", b"no archive" * 100, root[:700]):
        with Conversation(path) as one, pytest.raises(Refused) as refused:
            one.read(bad)
        assert refused.value.reason in ("bad_image", "bad_layer"), refused.value


def test_bytes_that_are_not_what_they_are_called_are_refused(path):
    image = Image(tar(("a", FILE, b"1")))
    other = Image(tar(("a", FILE, b"1")), diff_ids=["sha256:" + "0" * 64])
    layer = image.layers[0]["digest"]

    def flipped(handler):
        if handler.path.endswith(layer):
            data = bytearray(image.blobs[layer])
            data[-1] ^= 1
            return handler.give(200, bytes(data))
        return handler.image(image)

    with FakeRegistry(flipped) as server:
        assert refusal(path, f"{server.name}/x:1") == "digest_mismatch"

    def longer(handler):
        if handler.path.endswith(layer):
            return handler.give(200, image.blobs[layer] + b"x")
        return handler.image(image)

    with FakeRegistry(longer) as server:
        assert refusal(path, f"{server.name}/x:1") == "digest_mismatch"
    with FakeRegistry(lambda handler: handler.image(other)) as server:
        assert refusal(path, f"{server.name}/x:1") == "digest_mismatch"
    with FakeRegistry(lambda handler: handler.image(image)) as server:  # the control
        with Conversation(path) as one:
            assert one.pull(f"{server.name}/x:1").layer(0)["a"][5] == b"1"
        wrong = f"{server.name}/x@sha256:{'0' * 64}"
        assert refusal(path, wrong) == "digest_mismatch"


def test_an_index_that_leads_to_no_manifest_ends(path):
    blobs = {}

    def index(inner):
        entry = {"mediaType": images.INDEX, "digest": images.digest(inner), "size": len(inner)}
        made = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
        blobs[images.digest(made)] = made
        return made

    top = b"{}"
    for _ in range(6):
        top = index(top)

    def answer(handler):
        handler.give(200, blobs.get(handler.path.rsplit("/", 1)[1], top))

    with FakeRegistry(answer) as server:
        assert refusal(path, f"{server.name}/x:1") == "bad_image"


def test_a_redirect_never_leads_into_a_special_network(path):
    image = Image(tar(("a", FILE, b"redirect")))
    layer = image.layers[0]["digest"]
    with FakeRegistry(lambda handler: handler.image(image)) as inner:
        for target in (
            "https://169.254.169.254/latest",
            "https://[fd00::1]/x",
            "http://10.0.0.1/x",
            "https://localhost:1/x",
        ):

            def answer(handler, target=target):
                if handler.path.endswith(layer):
                    return handler.give(307, Location=target)
                return handler.image(image)

            with FakeRegistry(answer) as server:
                assert refusal(path, f"{server.name}/x:1") in ("special_network", "registry_denied")
        assert not inner.seen


def test_what_was_fetched_stays_and_is_continued(path):
    image = Image(tar(("a", FILE, bytes(range(256)) * 4000)))
    layer = image.layers[0]["digest"]
    data = image.blobs[layer]
    asked = []

    def answer(handler):
        if not handler.path.endswith(layer):
            return handler.image(image)
        begin = int(handler.headers.get("Range", "bytes=0-")[6:-1])
        asked.append(begin)
        if len(asked) < 3:  # breaks off
            handler.send_response(206 if begin else 200)
            handler.send_header("Content-Length", str(len(data) - begin))
            if begin:
                handler.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
            handler.end_headers()
            handler.wfile.write(data[begin : begin + len(data) // 3])
            handler.close_connection = True
            return None
        return handler.give(
            206, data[begin:], Content_Range=f"bytes {begin}-{len(data) - 1}/{len(data)}"
        )

    with FakeRegistry(answer) as server:
        with Conversation(path) as one:
            assert one.pull(f"{server.name}/x:1").layer(0)["a"][1] == 256 * 4000
    assert asked[0] == 0 and asked == sorted(asked) and 0 < asked[1] < asked[2] < len(data)


def test_a_busy_registry_is_asked_again_when_it_says_so(path):
    image = Image(tar(("a", FILE, b"busy")))
    refused = []

    def answer(handler):
        if "/manifests/" in handler.path and not refused:
            refused.append(handler.path)
            return handler.give(429, Retry_After="1")
        return handler.image(image)

    with FakeRegistry(answer) as server, Conversation(path) as one:
        one.pull(f"{server.name}/x:1")
        assert any("busy" in line for line in one.progress), one.progress


def test_a_token_service_gets_the_login_and_no_other_host_does(path):
    image = Image(tar(("a", FILE, b"token")))
    with FakeRegistry(lambda handler: handler.give(200, b'{"token": "t"}')) as other:

        def answer(handler, realm=None):
            if handler.path.startswith("/token?"):
                assert "scope=repository%3Ax%3Apull" in handler.path, handler.path
                return handler.give(200, b'{"token": "secret-token"}')
            if handler.headers.get("Authorization") != "Bearer secret-token":
                where = realm or f"http://{handler.server.name}/token"
                return handler.give(401, WWW_Authenticate=f'Bearer realm="{where}",service="s"')
            return handler.image(image)

        with FakeRegistry(answer) as server:
            with Conversation(path) as one:
                one.pull(f"{server.name}/x:1", login=LOGIN)
            asked = [head for where, head in server.seen if where.startswith("/token?")]
            assert asked and asked[0]["Authorization"].startswith("Basic ")
        for realm in ("http://10.0.0.1/token", f"http://localhost:{other.server_address[1]}/token"):
            with FakeRegistry(lambda handler, realm=realm: answer(handler, realm)) as server:
                assert refusal(path, f"{server.name}/x:1", login=LOGIN) == "registry_denied"
        assert not other.seen


def test_a_conversation_is_confined_and_its_end_ends_no_other(path):
    image = Image(tar(("a", FILE, b"1" * 1_000_000)))
    with FakeRegistry(lambda handler: handler.image(image)) as server:
        with Conversation(path) as one, Conversation(path) as two:
            one.pull(f"{server.name}/x:1")
            two.pull(f"{server.name}/x:1")
            found = []
            for proc in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    if (proc / "comm").read_text() != "cay-images-c\n":
                        continue
                    status = (proc / "status").read_text()
                except OSError:
                    continue
                lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
                found.append((int(proc.name), lines))
            assert len(found) >= 2
            for _, lines in found:
                assert (lines["Seccomp"], lines["NoNewPrivs"]) == ("2", "1"), lines
                assert int(lines["CapPrm"], 16) == 0, lines
            one.send(999)
            with pytest.raises(Refused):
                one.receive()
            assert two.layer(0)["a"][1] == 1_000_000
