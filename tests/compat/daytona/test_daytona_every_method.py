"""Every method of Daytona's Python clients, synchronous and asynchronous, by one program. What it
did not call fails, unless the page excuses the method."""

import asyncio
import functools
import inspect
import io
import os
import re
import traceback
import uuid

import httpx
import pytest

import daytona
from daytona import (
    CreateSandboxFromImageParams,
    CreateSandboxFromSnapshotParams,
    CreateSnapshotParams,
    DaytonaError,
    FileDownloadRequest,
    FileUpload,
    Image,
    ListSandboxesQuery,
    PtySize,
    Resources,
    ScreenshotRegion,
    SessionExecuteRequest,
)
from daytona.common.lsp_server import LspCompletionPosition
from daytona.common.secret import CreateSecretParams, UpdateSecretParams
from daytona_surface import Recorder, complaints, documented, python_classes, surface_of
from harness import kill_keeper, slow
from language_server import SOURCE, UNPACK, packed_pylsp

WHO = ("A. Writer", "a@example.com")
# The synchronous client waits in a thread that nothing ends, so that Python itself never would.
# The asynchronous client's is called.
NOT_CALLED = {"sync": {"Process.get_entrypoint_logs_async"}, "async": set()}


async def now(got):
    """The value of a method, of either client."""
    return await got if inspect.isawaitable(got) else got


async def all_of(got):
    got = await now(got)
    if hasattr(got, "__aiter__"):
        return [one async for one in got]
    return list(got)


async def refused(call, match, kind=DaytonaError):
    with pytest.raises(kind, match=match):
        await now(call())


async def until(look, what):
    for _ in range(int(slow(30) * 10)):
        if await look():
            return
        await asyncio.sleep(0.1)
    pytest.fail(f"never: {what}")


class World:
    """One client, and the sandbox that most sections use."""

    def __init__(self, flavour, client, daemon):
        self.flavour, self.client, self.daemon = flavour, client, daemon
        self.name = f"every-{flavour}-{uuid.uuid4().hex[:8]}"
        self.box = None

    async def create(self, **params):
        return await now(self.client.create(CreateSandboxFromSnapshotParams(**params)))


async def life(world):
    client, box = world.client, world.box
    assert box.state == "started" and (await now(client.get(box.id))).name == world.name
    listed = await all_of(client.list(ListSandboxesQuery(labels={"suite": world.name})))
    assert [one.id for one in listed] == [box.id]
    labels = await now(box.set_labels({"suite": world.name, "step": "two"}))
    assert labels["step"] == "two"
    for call, minutes in (
        (box.set_autostop_interval, 30),
        (box.set_auto_pause_interval, 0),
        (box.set_auto_archive_interval, 60),
        (box.set_auto_delete_interval, 120),
        (box.set_ttl, 600),
    ):
        await now(call(minutes))
    await now(box.set_public(True))
    await now(box.refresh_data())
    assert box.public is True and box.auto_destroy_at
    assert (box.auto_stop_interval, box.auto_archive_interval) == (30, 60)
    await now(box.refresh_activity())
    await now(box.fs.upload_file(b"kept", "kept.txt"))
    other = await now(client.get(box.id))  # knows nothing of the changes, so its waits ask
    await now(client.stop(box))
    assert box.state == "stopped"
    await now(other.wait_for_sandbox_stop())
    await now(box.resize(Resources(cpu=1, memory=3)))
    await now(box.wait_for_resize_complete())
    assert box.memory == 3
    await now(box.archive())
    await now(client.start(box))
    await now(other.wait_for_sandbox_start())
    assert other.state == "started"
    await now(box.stop())
    await now(box.start())
    await now(box.pause())
    assert box.state == "paused"
    await now(box.start())
    assert await now(box.fs.download_file("kept.txt")) == b"kept"
    await now(box.update_env({"FROM_ENV": "seen"}))
    assert (await now(box.process.exec("echo $FROM_ENV"))).result == "seen\n"
    await now(box.update_network_settings(domain_allow_list="pypi.org,*.pypi.org"))
    assert (await now(client.get(box.id))).domain_allow_list == "pypi.org,*.pypi.org"


async def a_failure_is_recovered(world):
    box = await world.create(name=f"{world.name}-failed")
    await now(box.fs.upload_file(b"whole", "whole.txt"))
    await refused(box.recover, "error state")
    kill_keeper(world.daemon, box.id)

    async def failed():
        await now(box.refresh_data())
        return box.state == "error"

    await until(failed, "the sandbox failed")
    await now(box.recover())
    assert box.state == "started"
    assert await now(box.fs.download_file("whole.txt")) == b"whole"
    await now(box.delete(wait=True))


async def copies(world):
    client, box = world.client, world.box
    fork = await now(box.fork(f"{world.name}-fork"))
    assert await now(fork.fs.download_file("kept.txt")) == b"kept"
    await now(client.delete(fork))
    name = f"{world.name}-copy"
    await now(box.create_snapshot(name))
    snapshot = await now(client.snapshot.get(name))
    assert snapshot.state == "active"
    assert (await now(client.snapshot.activate(snapshot))).name == name
    listed = await now(client.snapshot.list(page=1, limit=100))
    assert name in [one.name for one in listed.items]
    await now(client.snapshot.delete(snapshot))
    lines = []
    image = Image.base("default").run_commands("echo built >/built.txt")
    made = await now(
        client.snapshot.create(
            CreateSnapshotParams(name=f"{world.name}-built", image=image), on_logs=lines.append
        )
    )
    assert made.state == "active"
    other = await world.create(snapshot=made.name)
    assert await now(other.fs.download_file("/built.txt")) == b"built\n"
    await now(client.delete(other))
    await now(client.snapshot.delete(made))
    params = CreateSandboxFromImageParams(image=image, resources=Resources(cpu=1, memory=1))
    begin = functools.partial(
        client.create, params, timeout=120, on_snapshot_create_logs=lines.append
    )
    # The synchronous client runs a loop of its own for the log, which has to be in no other.
    other = await (begin() if world.flavour == "async" else asyncio.to_thread(begin))
    assert (await now(other.process.exec("cat /built.txt"))).result == "built\n"
    await now(client.delete(other))


async def stores(world):
    client, name = world.client, world.name
    volume = await now(client.volume.create(name))
    assert (await now(client.volume.get(name))).id == volume.id
    assert name in [one.name for one in await now(client.volume.list())]
    await now(client.volume.delete(volume))
    secret = await now(
        client.secret.create(
            CreateSecretParams(name=name, value="hush-hush-1", hosts=["api.example.com"])
        )
    )
    assert (await now(client.secret.get(secret.id))).name == name
    assert name in [one.name for one in (await now(client.secret.list())).items]
    changed = await now(client.secret.update(secret.id, UpdateSecretParams(value="hush-hush-2")))
    assert changed.id == secret.id
    await now(world.box.update_secrets({"TOKEN": name}))
    seen = (await now(world.box.process.exec("echo $TOKEN"))).result.strip()
    assert seen and "hush" not in seen
    await now(world.box.update_secrets({}))
    await now(client.secret.delete(secret.id))
    assert await now(client.warm_pool.list()) == []
    for call in (
        lambda: client.warm_pool.create("default", 2),
        lambda: client.warm_pool.update("none", 2),
        lambda: client.warm_pool.delete("none"),
    ):
        await refused(call, "pool", Exception)  # the generated client's own


async def links_and_facts(world):
    box = world.box
    home = await now(box.get_user_home_dir())
    assert home == await now(box.get_work_dir()) == await now(box.get_user_root_dir())
    assert (await now(box.get_metrics_latest())).mem_total > 0
    assert (await now(box.get_metrics()))[-1].mem_total > 0
    link = await now(box.get_preview_link(8123))
    assert link.token and "http" in link.url
    signed = await now(box.create_signed_preview_url(8123, 60))
    await now(box.expire_signed_preview_url(8123, signed.token))
    async with httpx.AsyncClient() as http:
        up = await now(box.upload_url("up.txt"))
        assert (await http.post(up, files={"file": ("up.txt", b"sent up")})).status_code == 200
        other = await now(world.client.get(box.id))  # has no signing key yet
        down = await now(other.download_url("up.txt", 60))
        assert (await http.get(down)).content == b"sent up"
        await now(box.rotate_signing_key())
        assert (await http.get(down)).status_code in (401, 403)
    for call in (
        lambda: box.create_ssh_access(5),
        lambda: box.revoke_ssh_access("none"),
        lambda: box.validate_ssh_access("none"),
    ):
        await refused(call, "SSH")


async def files(world):
    fs = world.box.fs
    await now(fs.create_folder("f/inner", "755"))
    await now(
        fs.upload_files(
            [
                FileUpload(source=b"alpha\nbeta\n", destination="f/a.py"),
                FileUpload(source=b"gamma\n", destination="f/inner/b.md"),
            ]
        )
    )
    wanted = [FileDownloadRequest(source=one) for one in ("f/a.py", "f/none")]
    got = await now(fs.download_files(wanted))
    assert [one.result for one in got] == [b"alpha\nbeta\n", None] and got[1].error
    whole, sent, came = b"progress " * 40_000, [], []
    await now(fs.upload_file_stream(io.BytesIO(whole), "f/s", on_progress=sent.append))
    stream = await all_of(fs.download_file_stream("f/s", on_progress=came.append))
    assert b"".join(stream) == whole
    assert sent[-1].bytes_sent == came[-1].bytes_received == len(whole)
    assert sorted(one.name for one in await now(fs.list_files("f"))) == ["a.py", "inner", "s"]
    info = await now(fs.get_file_info("f/a.py"))
    assert (info.name, info.size, info.is_dir) == ("a.py", 11, False)
    [found] = await now(fs.find_files("f", "beta"))
    assert found.line == 2 and found.file.endswith("a.py")
    assert len((await now(fs.search_files("f", "*.md"))).files) == 1
    [done] = await now(fs.replace_in_files(["f/a.py"], "beta", "BETA"))
    assert done.success
    await now(fs.set_file_permissions("f/a.py", mode="600"))
    assert (await now(fs.get_file_info("f/a.py"))).permissions in ("0600", "600")
    await now(fs.move_files("f/a.py", "f/moved.py"))
    assert await now(fs.download_file("f/moved.py")) == b"alpha\nBETA\n"
    await now(fs.delete_file("f", recursive=True))


async def processes(world):
    run = world.box.process
    got = await now(run.exec("pwd; echo $W; exit 3", cwd="/tmp", env={"W": "word"}))
    assert (got.exit_code, got.result) == (3, "/tmp\nword\n")
    assert (await now(run.code_run("print(6 * 7)"))).result == "42\n"
    await now(run.create_session("s"))
    assert (await now(run.get_session("s"))).commands == []
    line = SessionExecuteRequest(
        command="read a; echo got $a; echo bad >&2", run_async=True, suppress_input_echo=True
    )
    begun = await now(run.execute_session_command("s", line))
    assert (await now(run.get_session_command("s", begun.cmd_id))).exit_code is None
    await now(run.send_session_command_input("s", begun.cmd_id, "input"))
    out, err = [], []
    await run.get_session_command_logs_async("s", begun.cmd_id, out.append, err.append)
    assert ("".join(out), "".join(err)) == ("got input\n", "bad\n")
    logs = await now(run.get_session_command_logs("s", begun.cmd_id))
    assert (logs.stdout, logs.stderr) == ("got input\n", "bad\n")
    assert "s" in [one.session_id for one in await now(run.list_sessions())]
    await now(run.delete_session("s"))
    entry = await now(run.get_entrypoint_session())
    assert entry.session_id == "entrypoint" and len(entry.commands) == 1
    assert (await now(run.get_entrypoint_logs())).stdout == ""
    if world.flavour == "async":
        out = []
        follow = run.get_entrypoint_logs_async(out.append, out.append)
        with pytest.raises(asyncio.TimeoutError):  # it lasts until its caller ends it
            await asyncio.wait_for(follow, 1)
        assert out == []


async def terminals(world):
    run, seen = world.box.process, []
    size = PtySize(cols=80, rows=24)
    extra = {"on_data": seen.append} if world.flavour == "async" else {}
    handle = await now(run.create_pty_session("t", envs={"WORD": "given"}, pty_size=size, **extra))
    info = await now(run.get_pty_session_info("t"))
    assert (info.cols, info.rows, info.active) == (80, 24, True)
    assert (await now(run.resize_pty_session("t", PtySize(cols=101, rows=31)))).cols == 101
    assert "t" in [one.id for one in await now(run.list_pty_sessions())]
    await now(handle.wait_for_connection())
    assert handle.is_connected()
    await now(handle.disconnect())
    handle = await now(run.connect_pty_session("t", **extra))
    await now(handle.resize(PtySize(cols=90, rows=25)))
    await now(handle.send_input("echo $WORD-$((40+2)); stty size; exit 7\n"))
    given = {} if extra else {"on_data": seen.append}
    assert (await now(handle.wait(**given))).exit_code == 7
    text = b"".join(seen).decode()
    assert "given-42" in text and "25 90" in text, text
    for by_handle in (True, False):
        other = await now(run.create_pty_session(f"k-{by_handle}", **extra))
        await now(other.kill() if by_handle else run.kill_pty_session(other.session_id))
        assert (await now(other.wait())).exit_code == 137


async def contexts(world):
    python = world.box.code_interpreter
    context = await now(python.create_context(cwd="/tmp"))
    assert context.id in [one.id for one in await now(python.list_contexts())]
    await now(python.run_code("x = 41", context=context))
    got = await now(python.run_code("print(x + 1); raise ValueError('no')", context=context))
    assert (got.stdout, got.error.name) == ("42\n", "ValueError")
    await now(python.delete_context(context))
    assert context.id not in [one.id for one in await now(python.list_contexts())]


async def git_work(world):
    git, fs = world.box.git, world.box.fs
    home = await now(world.box.get_work_dir())
    await now(git.configure_user(*WHO))
    await now(git.init("origin.git", bare=True, initial_branch="main"))
    await now(git.init("seed", initial_branch="main"))
    await now(git.set_config("core.abbrev", "12", scope="local", path="seed"))
    assert await now(git.get_config("core.abbrev", scope="local", path="seed")) == "12"
    await now(fs.upload_file(b"one\n", "seed/a.txt"))
    await now(git.add("seed", ["a.txt"]))
    assert re.fullmatch("[0-9a-f]{40}", (await now(git.commit("seed", "first", *WHO))).sha)
    await now(git.remote_add("seed", "origin", f"{home}/origin.git"))
    assert await now(git.remote_get("seed", "origin")) == f"{home}/origin.git"
    assert [one.name for one in (await now(git.remotes("seed"))).remotes] == ["origin"]
    await now(git.push("seed", remote="origin", branch="main", set_upstream=True))
    await now(git.clone(f"file://{home}/origin.git", "copy", branch="main"))
    await now(git.create_branch("copy", "next"))
    await now(git.checkout_branch("copy", "next"))
    assert sorted((await now(git.branches("copy"))).branches) == ["main", "next"]
    await now(fs.upload_file(b"two\n", "copy/a.txt"))
    status = await now(git.status("copy"))
    assert status.current_branch == "next" and status.file_status[0].worktree == "Modified"
    await now(git.restore("copy", ["a.txt"]))
    assert await now(fs.download_file("copy/a.txt")) == b"one\n"
    await now(fs.upload_file(b"new\n", "copy/b.txt"))
    await now(git.add("copy", ["b.txt"]))
    await now(git.reset("copy"))
    assert (await now(git.status("copy"))).file_status[0].staging == "Untracked"
    await now(git.checkout_branch("copy", "main"))
    await now(git.delete_branch("copy", "next"))
    await now(git.commit("seed", "second", *WHO, allow_empty=True))
    await now(git.push("seed"))
    await now(git.pull("copy"))
    log = await now(world.box.process.exec("git -C copy log -1 --format=%s"))
    assert log.result == "second\n"
    await now(git.dangerously_authenticate("user", "pass", "git.example.com", "https"))


async def language_servers(world):
    box = world.box
    await now(box.fs.create_folder("p", "755"))
    server = await now(box.create_lsp_server("typescript", "p"))
    await refused(server.start, "typescript-language-server")
    await refused(lambda: server.document_symbols("p/a.ts"), "not initialized")
    await now(box.fs.upload_file(packed_pylsp(), "/tmp/pylsp.tgz"))
    assert (await now(box.process.exec(UNPACK))).exit_code == 0
    await now(box.fs.upload_file(SOURCE, "p/a.py"))
    server = await now(box.create_lsp_server("python", "p"))
    await now(server.start())
    await now(server.did_open("p/a.py"))
    names = {one.name for one in await now(server.document_symbols("p/a.py"))}
    assert {"Shape", "area"} <= names
    place = LspCompletionPosition(line=5, character=12)
    items = (await now(server.completions("p/a.py", place))).items
    assert "area" in {one.label.split("(")[0] for one in items}
    for look in (server.workspace_symbols, server.sandbox_symbols):
        assert "Shape" in [one.name for one in await now(look("Shape"))]
    await now(server.did_close("p/a.py"))
    await now(server.stop())
    await refused(lambda: server.document_symbols("p/a.py"), "not initialized|has ended")


async def no_desktop(world):
    screen = world.box.computer_use
    assert (await now(screen.get_status())).status == "inactive"
    region = ScreenshotRegion(x=0, y=0, width=10, height=10)
    mouse, keyboard, shot = screen.mouse, screen.keyboard, screen.screenshot
    records, reader = screen.recording, screen.accessibility
    for call, *words in (
        (screen.start,),
        (screen.stop,),
        (screen.get_process_status, "xvfb"),
        (screen.restart_process, "xvfb"),
        (screen.get_process_logs, "xvfb"),
        (screen.get_process_errors, "xvfb"),
        (mouse.get_position,),
        (mouse.move, 1, 1),
        (mouse.down, 1, 1),
        (mouse.up, 1, 1),
        (mouse.click, 1, 1),
        (mouse.drag, 1, 1, 2, 2),
        (mouse.scroll, 1, 1, "up"),
        (keyboard.type, "a"),
        (keyboard.press, "a"),
        (keyboard.hotkey, "ctrl+c"),
        (keyboard.down, "a"),
        (keyboard.up, "a"),
        (shot.take_full_screen,),
        (shot.take_region, region),
        (shot.take_compressed,),
        (shot.take_compressed_region, region),
        (screen.display.get_info,),
        (screen.display.get_windows,),
        (records.start,),
        (records.stop, "r"),
        (records.list,),
        (records.get, "r"),
        (records.delete, "r"),
        (records.download, "r", os.devnull),
        (reader.get_tree,),
        (reader.find_nodes,),
        (reader.focus_node, "n"),
        (reader.invoke_node, "n"),
        (reader.set_node_value, "n", "v"),
    ):
        await refused(
            lambda call=call, words=words: call(*words), "desktop|accessibility|screen|503"
        )


SECTIONS = (
    life,
    a_failure_is_recovered,
    copies,
    stores,
    links_and_facts,
    files,
    processes,
    terminals,
    contexts,
    git_work,
    language_servers,
    no_desktop,
)


async def program(flavour, daemon):
    client = daytona.AsyncDaytona() if flavour == "async" else daytona.Daytona()
    world, failed = World(flavour, client, daemon), {}
    world.box = await world.create(name=world.name, labels={"suite": world.name})
    for section in SECTIONS:
        try:
            await section(world)
        except (Exception, pytest.fail.Exception) as error:
            failed[section.__name__] = error
    await now(world.box.delete())
    if flavour == "async":
        await client.close()
    return failed


@pytest.mark.parametrize("flavour", ["sync", "async"])
def test_every_method_reaches_the_server(flavour, daemon, monkeypatch):
    for name, value in daemon.env.items():
        monkeypatch.setenv(name, value)
    classes = python_classes(flavour)
    recorder = Recorder(monkeypatch)
    recorder.watch(classes)
    failed = asyncio.run(program(flavour, daemon))
    told = "\n\n".join(
        f"{name}\n{''.join(traceback.format_exception(error))}" for name, error in failed.items()
    )
    assert not failed, told
    found = complaints(
        surface_of(classes) - NOT_CALLED[flavour], 0, recorder.called, recorder.reached
    )
    assert not found, "\n".join(found)


def test_the_page_has_no_row_of_a_method_that_is_none():
    surface = surface_of(python_classes("sync")) | surface_of(python_classes("async"))
    assert set(documented(0)) - surface == set()
