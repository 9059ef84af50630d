"""Files beyond their content: modes, owners, copies, moves, replaced text, several in one request.
What a helper does to a tree is tested in src/keeper/file_changes_test.cc."""
import email
import email.policy
import json

import pytest


@pytest.fixture
def files(http, box):
    return f"/api/v1/sandboxes/{box['id']}/files"


@pytest.fixture
def put(http, files):
    def write(path, content=b"", **params):
        return http.put(files, params={"path": path, **params}, content=content)

    return write


def reason(answer):
    return answer.json()["error"]["reason"]


def parts_of(answer):
    """The parts of a multipart answer: (path, error's reason or None, bytes)."""
    head = f"Content-Type: {answer.headers['content-type']}\r\n\r\n".encode()
    message = email.message_from_bytes(head + answer.content, policy=email.policy.HTTP)
    return [
        (part["Cay-Path"], part["Cay-Error"], part.get_payload(decode=True))
        for part in message.iter_parts()
    ]


def test_modes_and_owners(http, files, put, run):
    put("/srv/d/f", b"x")
    made = http.post(f"{files}/chmod", json={"path": "/srv/d/f", "mode": "4711"})
    assert made.json() == {"entries": 1, "bytes": 0, "left_out": 0, "copied": False}
    owned = {"path": "/srv/d", "owner": "daemon:tty", "recursive": True}
    assert http.post(f"{files}/chown", json=owned).json()["entries"] == 2
    assert run("stat -c '%U %G' /srv/d /srv/d/f")["stdout"] == "daemon tty\n" * 2
    # A user who is not its owner may do neither, and the file is as it was.
    for verb, what in (("chmod", {"mode": "0777"}), ("chown", {"owner": "nobody"})):
        body = {"path": "/srv/d/f", "user": "nobody", **what}
        refused = http.post(f"{files}/{verb}", json=body)
        assert (refused.status_code, reason(refused)) == (403, "permission_denied"), refused.text
    assert run("stat -c '%U' /srv/d/f")["stdout"] == "daemon\n"
    assert (
        reason(http.post(f"{files}/chown", json={**owned, "owner": "nobody-here"})) == "bad_owner"
    )
    for mode in ("9", "17777", ""):
        wrong = http.post(f"{files}/chmod", json={"path": "/srv/d/f", "mode": mode})
        assert wrong.status_code == 400, wrong.text


def test_owner_names_attributes_and_levels(http, files, put, run):
    put("/srv/a/b/f", b"x")
    put("/srv/g")
    set_note = "import os; os.setxattr('/srv/a/b/f', 'user.note', b'hi\\xff')"
    assert run(f'chown daemon:tty /srv/a/b/f && python3 -c "{set_note}"')["exit_code"] == 0

    def listed(**params):
        return http.get(f"{files}/list", params={"path": "/srv", **params}).json()["items"]

    assert [one["path"] for one in listed()] == ["/srv/a", "/srv/g"]
    assert [one["path"] for one in listed(depth=2)] == ["/srv/a", "/srv/a/b", "/srv/g"]
    assert "owner" not in listed()[0]
    deep = listed(depth=64, names="true", xattrs="true")
    (found,) = [one for one in deep if one["path"] == "/srv/a/b/f"]
    assert (found["owner"], found["group"]) == ("daemon", "tty")
    assert found["xattrs"] == [{"name": "user.note", "value_base64": "aGn/"}]
    params = {"path": "/srv/a/b/f", "names": "true", "xattrs": "true"}
    assert http.get(f"{files}/stat", params=params).json() == found
    assert http.get(f"{files}/list", params={"path": "/srv", "depth": 65}).status_code == 400


def test_an_exclusive_write_replaces_nothing(http, files, put):
    assert put("/srv/f", b"mine", exclusive="true").status_code == 201
    refused = put("/srv/f", b"yours", exclusive="true")
    assert (refused.status_code, reason(refused)) == (409, "already_exists")
    assert http.get(files, params={"path": "/srv/f"}).content == b"mine"


def test_copies_and_moves(http, files, put, run):
    put("/srv/from/sub/f", b"content", mode="0751")
    run("ln -s sub/f /srv/from/link; mkfifo /srv/from/fifo; mkdir /run/there")
    body = {"from": "/srv/from", "to": "/srv/new/copy"}
    assert reason(http.post(f"{files}/copy", json=body)) == "is_a_directory"
    copied = http.post(f"{files}/copy", json={**body, "recursive": True})
    assert copied.json() == {"entries": 4, "bytes": 7, "left_out": 1, "copied": False}
    seen = run("cd /srv/new/copy && stat -c '%n %a %F' * sub/f && readlink link")["stdout"]
    assert seen.splitlines() == [
        "link 777 symbolic link",
        "sub 755 directory",
        "sub/f 751 regular file",
        "sub/f",
    ]
    assert reason(
        http.post(f"{files}/copy", json={**body, "exclusive": True, "recursive": True})
    ) == ("already_exists")
    # Within one file system, and to /run, which is in memory.
    moved = http.post(f"{files}/move", json={"from": "/srv/new/copy", "to": "/srv/moved"})
    assert moved.json()["copied"] is False
    moved = http.post(f"{files}/move", json={"from": "/srv/moved", "to": "/run/there/moved"})
    assert moved.json()["copied"] is True, moved.text
    assert run("cat /run/there/moved/sub/f; ls /srv")["stdout"] == "contentfrom\nnew\n"
    # The host's own tree lies below the sandbox's disk: overlayfs renames no directory of it.
    moved = http.post(f"{files}/move", json={"from": "/usr/share/perl5", "to": "/srv/perl5"})
    if moved.status_code == 200:
        assert moved.json()["copied"] is True
        assert run("test -e /srv/perl5 -a ! -e /usr/share/perl5")["exit_code"] == 0
    refused = http.post(f"{files}/copy", json={"from": "/none", "to": "/srv/x"})
    assert (refused.status_code, reason(refused)) == (404, "file_not_found")


def test_text_is_replaced_in_many_files(http, files, put, run):
    put("/srv/a.conf", b"port 8080\nport 8080\n", mode="0640")
    put("/srv/sub/b.conf", b"listen 8080")
    put("/srv/sub/c.txt", b"8080")
    put("/srv/binary.conf", b"8080\0")
    body = {"path": "/srv", "text": "8080", "replacement": "9090", "glob": "*.conf"}
    answer = http.post(f"{files}/replace", json=body).json()
    assert answer == {
        "items": [{"path": "/srv/a.conf", "count": 2}, {"path": "/srv/sub/b.conf", "count": 1}],
        "truncated": False,
    }
    assert run("cat /srv/a.conf /srv/sub/*; stat -c %a /srv/a.conf")["stdout"] == (
        "port 9090\nport 9090\nlisten 90908080640\n"
    )
    # A user may write one of two files: each has its own answer.
    put("/srv/own/mine", b"old")
    put("/srv/own/roots", b"old")
    run("chown -R daemon /srv/own; chown root /srv/own/roots")
    body = {"path": "/srv/own", "text": "old", "replacement": "new", "user": "daemon"}
    mine, roots = http.post(f"{files}/replace", json=body).json()["items"]
    assert mine == {"path": "/srv/own/mine", "count": 1}
    assert roots["error"]["reason"] == "permission_denied"
    assert run("cat /srv/own/mine /srv/own/roots")["stdout"] == "newold"
    assert http.post(f"{files}/replace", json={**body, "text": ""}).status_code == 400


def test_several_files_come_in_one_answer(http, files, put):
    big = bytes(range(256)) * 5000
    put("/srv/big", big)
    put("/srv/\u00fc %", b"")
    paths = ["/srv/big", "/none", "/srv/\u00fc %", "/srv", "/etc/hostname"]
    answer = http.post(f"{files}/download", json={"paths": paths})
    assert answer.status_code == 200, answer.text
    got = parts_of(answer)
    assert [error for _, error, _ in got] == [None, "file_not_found", None, "is_a_directory", None]
    assert got[0][2] == big
    assert got[2][:1] == ("%2Fsrv%2F%C3%BC%20%25",)
    assert got[2][2] == b"" and got[4][2] != b""
    assert json.loads(got[1][2])["error"]["code"] == "not_found"
    assert parts_of(http.post(f"{files}/download", json={"paths": []})) == []
    many = http.post(f"{files}/download", json={"paths": ["/x"] * 1001})
    assert many.status_code == 400, many.text


def test_several_files_go_in_one_request(http, files, put):
    put("/srv/there", b"old")
    body = {
        "files": [
            {"path": "/srv/new/text", "content": "t\u00e4xt", "mode": "0600"},
            {"path": "/srv/new/bytes", "content_base64": "AP8="},
            {"path": "/srv/there", "content": "new", "exclusive": True},
            {"path": "/srv/there/below", "content": ""},
        ]
    }
    items = http.post(f"{files}/upload", json=body).json()["items"]
    assert [one["path"] for one in items] == [one["path"] for one in body["files"]]
    assert items[0]["file"]["mode"] == "0600" and items[1]["file"]["size"] == 2
    assert [one["error"]["reason"] for one in items[2:]] == ["already_exists", "already_exists"]
    assert http.get(files, params={"path": "/srv/new/bytes"}).content == b"\x00\xff"
    assert http.get(files, params={"path": "/srv/there"}).content == b"old"


def test_nobody_leaves_the_sandbox_by_a_link(http, files, run, tmp_path):
    """Links and dots lead within the sandbox's own root, whatever the verb."""
    outside = tmp_path / "outside"
    outside.write_text("secret")
    run(f"ln -s / /srv/root; ln -s {outside} /srv/out; ln -s /proc/1/root /srv/init")
    for path in (f"/../../..{outside}", f"/srv/root{outside}", "/srv/out", f"/srv/init{outside}"):
        for verb, body in (
            ("chmod", {"path": path, "mode": "0777"}),
            ("chown", {"path": path, "owner": "0"}),
            ("copy", {"from": path, "to": "/srv/copied"}),
            ("move", {"from": path, "to": "/srv/moved"}),
            ("replace", {"path": path, "text": "secret", "replacement": "lost"}),
        ):
            answer = http.post(f"{files}/{verb}", json=body)
            # A link is copied and moved itself. All else is not there.
            if path == "/srv/out" and verb in ("copy", "move"):
                assert answer.status_code == 200, (verb, answer.text)
                run(f"rm -f /srv/copied /srv/moved; ln -sfn {outside} /srv/out")
            else:
                assert answer.status_code in (400, 403, 404), (verb, path, answer.text)
        (part,) = parts_of(http.post(f"{files}/download", json={"paths": [path]}))
        assert part[1] in ("file_not_found", "permission_denied"), part
    assert outside.read_text() == "secret" and outside.stat().st_mode & 0o777 == 0o644
    assert http.post(f"{files}/chmod", json={"path": "/srv/root/srv", "mode": "0755"}).is_success


def test_the_command_line(daemon, http, box, put):
    name = box["id"]
    put("/srv/d/f", b"one two one")
    assert daemon.cli("file", "chmod", name, "0750", "/srv/d/f").code == 0
    assert daemon.cli("file", "chown", name, "daemon:tty", "/srv/d", "-R").code == 0
    assert daemon.cli("file", "cp", name, "/srv/d", "/srv/e").code == 0
    assert daemon.cli("file", "mv", name, "/srv/e/f", "/srv/e/g").code == 0
    assert daemon.cli("file", "replace", name, "one", "1", "/srv/e").text == "2\t/srv/e/g\n"
    shown = daemon.cli("file", "ls", name, "/srv", "--depth", "2").text.splitlines()
    assert [line.split() for line in shown[1:]] == [
        ["0755", "daemon:tty", "-", "/srv/d"],
        ["0750", "daemon:tty", "11", "B", "/srv/d/f"],
        ["0755", "daemon:tty", "-", "/srv/e"],
        ["0750", "daemon:tty", "7", "B", "/srv/e/g"],
    ]
    refused = daemon.cli("file", "cp", name, "/srv/d/f", "/srv/e/g", "-n")
    assert refused.code != 0 and b"already exists" in refused.err, refused
    assert daemon.cli("file", "chmod", name, "999", "/srv").code != 0
