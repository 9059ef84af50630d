"""Builds of Dockerfiles: the effects of instructions, secrets, caches, failures."""
import io
import json
import os
import subprocess
import tarfile

import pytest
from image_root import root_tar

BUILDS = "/api/v1/snapshots/build"
PROGRAMS = ("sh", "cat", "ls", "rm", "sleep", "id", "stat", "chown", "grep", "readlink", "mkdir")


def tar_of(files):
    """`files`: contents by path, or (content, mode), or a link's target as {"link": target}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, what in files.items():
            entry = tarfile.TarInfo(name)
            entry.uid = entry.gid = 1234
            if isinstance(what, dict):
                entry.type, entry.linkname = tarfile.SYMTYPE, what["link"]
                tar.addfile(entry)
                continue
            data, entry.mode = what if isinstance(what, tuple) else (what, 0o644)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


@pytest.fixture(scope="module")
def base(daemon):
    """The name of a snapshot of a root file system, with a user `app`."""
    name = f"build-base-{os.urandom(4).hex()}"
    accounts = b"root:x:0:0::/root:/bin/sh\napp:x:1000:1001::/srv:/bin/sh\n"
    with daemon.http() as http:
        made = http.post(
            "/api/v1/snapshots/archive",
            params={"name": name, "wait": 60},
            content=root_tar(PROGRAMS, more={"/etc/passwd": accounts}),
        )
        if made.status_code == 501:
            pytest.skip(made.json()["error"]["message"])
        assert made.status_code == 201 and made.json()["status"] == "ready", made.text
        yield name
        http.delete(f"/api/v1/snapshots/{name}")


@pytest.fixture
def build(daemon, base):
    """Builds, and returns the row. The text's FROM base is the base image."""
    made = []

    def built(text, files=None, **more):
        name = more.pop("name", f"built-{os.urandom(4).hex()}")
        text = text.replace("FROM base", f"FROM {base}")
        parts = [("build", (None, json.dumps({"dockerfile": text, "name": name, **more})))]
        if files is not None:
            parts.append(("context", ("context.tar", tar_of(files), "application/x-tar")))
        with daemon.http() as http:
            answer = http.post(BUILDS, params={"wait": 120}, files=parts, timeout=130)
        if answer.status_code == 201:
            made.append(answer.json()["id"])
        return answer

    yield built
    with daemon.http() as http:
        for one in made:
            http.delete(f"/api/v1/snapshots/{one}")


@pytest.fixture
def in_snapshot(daemon):
    def ran(row, *words):
        done = daemon.cli("run", "--rm", row["id"], "--", *words)
        assert done.code == 0, done
        return done.text

    return ran


def ready(answer):
    assert answer.status_code == 201, answer.text
    row = answer.json()
    assert row["status"] == "ready", row["status_message"]
    return row


def failed(answer):
    assert answer.status_code == 201, answer.text
    row = answer.json()
    assert row["status"] == "failed", row
    return row["status_message"]


def log_of(daemon, row):
    with daemon.http() as http:
        return http.get(f"/api/v1/snapshots/{row['id']}/build").json()["text"]


def test_each_instruction_has_its_effect(daemon, build, in_snapshot):
    row = ready(
        build(
            "FROM base\n"
            "ENV GREETING=hello\n"
            "WORKDIR /srv/app\n"
            "COPY --chown=app src .\n"
            "COPY run.sh /tmp\n"
            "RUN /tmp/run.sh > /srv/out && id -u > /srv/who\n"
            "COPY --chmod=600 <<EOF /etc/made\n"
            "$GREETING there\n"
            "EOF\n"
            "USER app\n"
            "RUN <<EOF\n"
            "#!/bin/sh\n"
            "id -u > /srv/app/deep/who\n"
            "EOF\n"
            'ENTRYPOINT ["/bin/cat"]\n'
            'CMD ["/srv/out"]\n',
            {
                "src/a": b"A",
                "src/deep/b": (b"B", 0o755),
                "src/link": {"link": "deep/b"},
                "run.sh": (b"#!/bin/sh\necho $GREETING from $PWD\n", 0o755),
            },
        )
    )
    assert row["config"]["user"] == "app" and row["config"]["workdir"] == "/srv/app", row
    assert row["config"]["entrypoint"] == ["/bin/cat"] and row["origin"] == "build"
    shown = in_snapshot(
        row,
        "/bin/stat",
        "-c",
        "%n %u:%g %a",
        *("/srv/app", "/srv/app/a", "/srv/app/deep", "/srv/app/deep/b", "/tmp/run.sh"),
        *("/srv/out", "/srv/app/deep/who"),
    )
    assert shown.splitlines() == [
        "/srv/app 0:0 755",
        "/srv/app/a 1000:1001 644",
        "/srv/app/deep 1000:1001 755",
        "/srv/app/deep/b 1000:1001 755",
        "/tmp/run.sh 0:0 755",
        "/srv/out 0:0 644",
        "/srv/app/deep/who 1000:1001 644",
    ]
    texts = in_snapshot(
        row, "/bin/cat", "/srv/out", "/srv/who", "/srv/app/deep/who", "/srv/app/link"
    )
    assert texts == "hello from /srv/app\n0\n1000\nB"
    root = daemon.cli("run", "--rm", "--user", "root", row["id"], "--", "/bin/cat", "/etc/made")
    assert root.text == "hello there\n", root
    assert "[line 6] RUN /tmp/run.sh" in log_of(daemon, row)


def test_stages_run_without_a_shell_and_nothing_is_built_twice(daemon, build, in_snapshot, base):
    text = (
        "FROM base AS build\n"
        "COPY main.c /src/\n"
        "RUN cat /src/main.c > /out && cat /proc/sys/kernel/random/uuid > /once\n"
        "FROM scratch\n"
        "COPY --from=build /out /once /data/\n"
        f"COPY --from={base} /bin/cat /bin/cat\n"
    )
    first = ready(build(text, {"main.c": b"int"}))
    again = ready(build(text, {"main.c": b"int"}))
    assert again["used_bytes"] == first["used_bytes"]
    assert log_of(daemon, again).count("(from an earlier build)") == 4, log_of(daemon, again)
    # The RUN that makes a new name each time ran once.
    assert "from an earlier build" not in log_of(daemon, first)
    other = ready(build(text, {"main.c": b"int x"}))
    assert log_of(daemon, other).count("(from an earlier build)") == 0
    wholly = ready(build(text, {"main.c": b"int"}, no_cache=True))
    assert "earlier" not in log_of(daemon, wholly)


def test_a_failing_step_names_its_line_and_its_last_words(daemon, build):
    answer = build("FROM base\nRUN true\nRUN echo first; echo oh no >&2; exit 3\n")
    message = failed(answer)
    assert message.startswith("line 3: RUN echo first; echo oh no >&2; exit 3: exit code 3\n")
    assert "\noh no" in message and "\nfirst" in message
    assert failed(build("FROM base\nCOPY none /\n", {"a": b""})).startswith("line 2: ")
    assert "there is nothing to run" in failed(build("FROM scratch\nRUN true\n"))
    refused = build("FROM base\nONBUILD RUN true\n")
    assert refused.status_code == 501 and "line 2: " in refused.text
    wrong = build("RUN true\n")
    assert wrong.status_code == 400 and wrong.json()["error"]["reason"] == "invalid_dockerfile"


def test_a_secret_is_in_no_layer_and_no_log(daemon, build, in_snapshot):
    canary = f"canary-{os.urandom(8).hex()}"
    row = ready(
        build(
            "FROM base\n"
            "RUN --mount=type=secret,id=token --mount=type=secret,id=token,target=/root/.token "
            "--mount=type=secret,id=token,env=TOKEN "
            "cat /run/secrets/token /root/.token; echo $TOKEN; "
            '[ "$(cat /root/.token)" = "$TOKEN" ] && echo known > /same\n',
            secrets={"token": canary},
        )
    )
    assert in_snapshot(row, "/bin/cat", "/same") == "known\n"
    assert "***" in log_of(daemon, row) and canary not in log_of(daemon, row)
    names = in_snapshot(row, "/bin/ls", "-A", "/root", "/run").split()
    assert not {".token", "secrets", "cay-build"} & set(names), names
    assert canary not in json.dumps(row)
    found = subprocess.run(
        ["grep", "-rlsa", "--exclude-dir=proc", "--exclude=*.img", canary, str(daemon.data)],
        capture_output=True,
        text=True,
    )
    assert found.stdout == "", found.stdout
    missing = failed(build("FROM base\nRUN --mount=type=secret,id=x,required true\n"))
    assert missing == "line 2: the secret 'x' was not given"


def test_mounts_of_a_step_are_not_in_its_layer(daemon, build, in_snapshot):
    cache = f"cache-{os.urandom(4).hex()}"
    row = ready(
        build(
            "FROM base AS other\n"
            "RUN mkdir -p /give && echo given > /give/it\n"
            "FROM base\n"
            f"RUN --mount=type=cache,id={cache},target=/cache echo kept > /cache/file\n"
            f"RUN --mount=type=cache,id={cache},target=/other "
            "--mount=type=bind,from=other,source=/give,target=/given "
            "--mount=type=bind,source=list.txt,target=/list.txt "
            "--mount=type=bind,target=/context --mount=type=tmpfs,target=/scratch "
            "cat /other/file /given/it /list.txt /context/list.txt > /all && echo x > /scratch/y\n",
            {"list.txt": b"listed\n"},
        )
    )
    assert in_snapshot(row, "/bin/cat", "/all") == "kept\ngiven\nlisted\nlisted\n"
    names = in_snapshot(row, "/bin/ls", "/").split()
    assert not {"cache", "other", "given", "list.txt", "context", "scratch"} & set(names), names


def test_a_directory_copied_onto_a_link_leaves_the_link(build, in_snapshot):
    first = {"etc/new": b"new\n", "there/x": b"x", "way": {"link": "there"}}
    row = ready(
        build(
            "FROM base\nCOPY first /\nCOPY second /\n",
            {**{f"first/{name}": what for name, what in first.items()}, "second/way/y": b"y"},
        )
    )
    assert in_snapshot(row, "/bin/readlink", "/way") == "there\n"
    assert in_snapshot(row, "/bin/cat", "/there/x", "/there/y", "/etc/new") == "xynew\n"


def test_a_copy_makes_its_directory_with_its_own_mode(build, in_snapshot):
    text = "FROM base\nRUN mkdir -m 0711 /there\n"
    for to in ("there", "new/deep"):
        text += f"COPY --chown=app --chmod=0750 from /{to}\n"
    row = ready(build(text, {"from/in/file": b"x"}))
    paths = ("/there", "/there/in", "/new", "/new/deep", "/new/deep/in", "/new/deep/in/file")
    assert in_snapshot(row, "/bin/stat", "-c", "%n %u:%g %a", *paths).splitlines() == [
        "/there 0:0 711",  # it was there
        "/there/in 1000:1001 750",
        "/new 1000:1001 755",
        "/new/deep 1000:1001 755",
        "/new/deep/in 1000:1001 750",
        "/new/deep/in/file 1000:1001 750",
    ]


def test_an_archive_is_unpacked_and_a_context_may_look_like_an_image(build, in_snapshot):
    inner = tar_of({"deep/file": b"inside\n"})
    row = ready(
        build(
            "FROM base\nADD packed.tar /data/\nCOPY manifest.json oci-layout index.json /meta/\n",
            {
                "packed.tar": inner,
                "manifest.json": b"[]",
                "oci-layout": b"{}",
                "index.json": b"{}",
            },
        )
    )
    assert in_snapshot(row, "/bin/cat", "/data/deep/file", "/meta/oci-layout") == "inside\n{}"


def test_a_log_is_followed_from_any_offset(daemon, build):
    row = ready(build("FROM base\nRUN echo one && echo two\n"))
    with daemon.http() as http:
        url = f"/api/v1/snapshots/{row['id']}/build"
        whole = http.get(url).json()
        assert whole["state"] == "ready" and "one\ntwo\n" in whole["text"], whole
        rest = http.get(url, params={"offset": whole["end"], "wait": 5}).json()
        assert rest["text"] == "" and rest["from"] == whole["end"]
        tail = http.get(url, params={"offset": 5}).json()
        assert tail["text"] == whole["text"][5:]
        none = http.get("/api/v1/snapshots/default/build")
        assert (none.status_code, none.json()["error"]["reason"]) == (404, "build_not_found")


def test_a_multipart_body_has_two_parts(daemon):
    with daemon.http() as http:
        build = (None, json.dumps({"dockerfile": "FROM scratch", "name": "none"}))
        for parts in (
            [("context", ("c", b""))],
            [("build", build), ("other", (None, "x"))],
            [("build", (None, "{")), ("context", ("c", b""))],
        ):
            assert http.post(BUILDS, files=parts).status_code == 400, parts
        assert http.post(BUILDS, content=b"x").json()["error"]["reason"] == "bad_multipart"
