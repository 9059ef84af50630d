"""The public methods of Daytona's clients, those that a run called, and the rows of
docs/from-daytona.md about them. A method is named by its class and its name, `Process.exec`."""

import collections
import contextvars
import functools
import importlib
import inspect
import pkgutil
import re

import pydantic

from harness import ROOT

PACKAGE = ROOT / "build/node/daytona/node_modules/@daytonaio/sdk"  # npm's
# The headings of the page, and the classes that they are about. An asynchronous class of Python's
# has "Async" before this name.
CLASSES = {
    "Daytona": "Daytona",
    "Sandbox": "Sandbox",
    "sandbox.process": "Process",
    "sandbox.fs": "FileSystem",
    "sandbox.git": "Git",
    "sandbox.code_interpreter": "CodeInterpreter",
    "PtyHandle": "PtyHandle",
    "LspServer": "LspServer",
    "sandbox.computer_use": "ComputerUse",
    "sandbox.computer_use.mouse": "Mouse",
    "sandbox.computer_use.keyboard": "Keyboard",
    "sandbox.computer_use.screenshot": "Screenshot",
    "sandbox.computer_use.display": "Display",
    "sandbox.computer_use.recording": "RecordingService",
    "sandbox.computer_use.accessibility": "Accessibility",
    "daytona.snapshot": "SnapshotService",
    "daytona.volume": "VolumeService",
    "daytona.secret": "SecretService",
    "daytona.warm_pool": "WarmPoolService",
}
# Classes of the clients that no user has an object of, or that call no server.
OTHERS = {
    "ObjectStorage": "the client's own: process_image_context uploads by it",
    "Image": "writes the text of a Dockerfile",
    "CodeRunParams": "values",
}
# Methods that no test calls, or whose call does not reach the server. Each reason is the text of
# the method's row.
LOCAL = "the client's own, without a call"
MADE = "the client's own: what makes a handle has waited already"
RESIZED = "without a call: a resize is done when it returns"
EXCUSED = {
    "Daytona.close": "the client's own: it ends its connections",
    "Daytona.createAxiosInstance": "the client's own: it makes its connections",
    "Sandbox.create_lsp_server": "makes an `LspServer`, without a call",
    "Sandbox.createLspServer": "makes an `LspServer`, without a call",
    "PtyHandle.is_connected": LOCAL,
    "PtyHandle.isConnected": LOCAL,
    "PtyHandle.wait_for_connection": MADE,
    "PtyHandle.waitForConnection": MADE,
    "PtyHandle.disconnect": "the terminal goes on",
    "Sandbox.wait_for_resize_complete": RESIZED,
    "Sandbox.waitForResizeComplete": RESIZED,
    "SnapshotService.process_image_context": "the client's own: it uploads the files of an image",
    "SnapshotService.processImageContext": "the client's own: it uploads the files of an image",
}
# Exceptions that no answer of Cay's causes, of either client.
NEVER_RAISED = {
    "DaytonaFileReadFailedError": "a file's fault has its own class: not found, no access",
    "DaytonaInvalidArgumentError": "the client's own: it refuses an argument without a call",
    "DaytonaQueueTimeoutError": "Cay has no queue of creates",
    "DaytonaRecordingStillActiveError": "Cay records no screens",
    "DaytonaSpotEvictedError": "Cay has no spot machines",
}


def rows():
    """Returns {heading: [(name in Python, name in TypeScript, text)]} of the page."""
    page = (ROOT / "docs/from-daytona.md").read_text()
    out = {}
    for part in page.split("\n### ")[1:]:
        title, _, text = part.partition("\n")
        out[title] = re.findall(r"^\| (?:`(\w+)`)? ?\| (?:`(\w+)`)? ?\| (.+) \|$", text, re.M)
    return out


def documented(column):
    """Returns {Class.method: text} of one column: 0 Python, 1 TypeScript."""
    return {
        f"{CLASSES[title]}.{one[column]}": one[2]
        for title, listed in rows().items()
        for one in listed
        if one[column]
    }


def complaints(surface, column, called, reached):
    """Compares the methods that there are with the page, and with what a run called."""
    page, out = documented(column), []
    for method in sorted(surface):
        if method not in page:
            out.append(f"{method}: docs/from-daytona.md has no row")
        elif method in EXCUSED:
            if page[method] != EXCUSED[method]:
                out.append(f"{method}: its row says {page[method]!r}, EXCUSED {EXCUSED[method]!r}")
            if reached.get(method):
                out.append(f"{method}: it is excused, and its call reached the server")
        elif not called.get(method):
            out.append(f"{method}: no test calls it")
        elif not reached.get(method):
            out.append(f"{method}: no call of it reached the server")
    return out


def python_classes(flavour):
    """Returns {name without "Async": class} of what the package defines. `flavour`: sync, async."""
    package = importlib.import_module(f"daytona._{flavour}")
    handle = "async_pty_handle" if flavour == "async" else "pty_handle"
    names = [f"{package.__name__}.{one.name}" for one in pkgutil.iter_modules(package.__path__)]
    out = {}
    for module in map(importlib.import_module, [*names, f"daytona.handle.{handle}"]):
        for name, kind in vars(module).items():
            if inspect.isclass(kind) and kind.__module__ == module.__name__ and name[0] != "_":
                out[name.removeprefix("Async")] = kind
    return {name: kind for name, kind in out.items() if name not in OTHERS and methods_of(kind)}


def methods_of(kind):
    """The names of the public methods that a class defines itself."""
    return {
        name
        for name, value in vars(kind).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or isinstance(value, (staticmethod, classmethod)))
        and not hasattr(pydantic.BaseModel, name)
    }


def surface_of(classes):
    return {f"{name}.{one}" for name, kind in classes.items() for one in methods_of(kind)}


def typescript_surface():
    """The public methods of every class that the client's files declare, as Class.method."""
    found = set()
    for file in (PACKAGE / "esm").glob("*.d.ts"):
        text = file.read_text()
        for name, body in re.findall(
            r"^export declare class (\w+)\b[^\n]*\{$(.*?)^\}", text, re.M | re.S
        ):
            names = re.findall(r"^    (?:static )?(\w+)(?:<[^>]*>)?\(", body, re.M)
            found |= {f"{name}.{one}" for one in names if one[0] != "_" and one != "constructor"}
    return {one for one in found if one.split(".")[0] not in OTHERS}


_inside = contextvars.ContextVar("inside", default=False)


class Recorder:
    """Counts the calls that a test itself makes, and those during which the server answered."""

    def __init__(self, monkeypatch):
        self.called, self.reached = collections.Counter(), collections.Counter()
        self._answers, self._patch = 0, monkeypatch
        self._hear_answers()

    def watch(self, classes):
        for name, kind in classes.items():
            for one in methods_of(kind):
                value = vars(kind)[one]
                static = isinstance(value, (staticmethod, classmethod))
                counted = self._counted(f"{name}.{one}", value.__func__ if static else value)
                self._patch.setattr(kind, one, type(value)(counted) if static else counted)

    def _counted(self, method, call):
        @functools.wraps(call)
        def counted(*args, **kwargs):
            if _inside.get():  # a method of the client's that calls another
                return call(*args, **kwargs)
            self.called[method] += 1
            with _Call(self, method):
                got = call(*args, **kwargs)
            return self._followed(method, got)

        return counted

    def _followed(self, method, got):
        """Iterators and coroutines do their work later."""
        if inspect.isawaitable(got):
            return self._awaited(method, got)
        if inspect.isgenerator(got):
            return self._drawn(method, got)
        if inspect.isasyncgen(got):
            return self._drawn_later(method, got)
        return got

    async def _awaited(self, method, got):
        with _Call(self, method):
            value = await got
        return self._followed(method, value)

    def _drawn(self, method, got):
        done = object()
        while True:
            with _Call(self, method):
                item = next(got, done)
            if item is done:
                return
            yield item

    async def _drawn_later(self, method, got):
        done = object()
        while True:
            with _Call(self, method):
                item = await anext(got, done)
            if item is done:
                return
            yield item

    def _hear_answers(self):
        """Counts what comes from the server, below the clients: answers and frames."""
        import aiohttp
        import httpx
        import httpx_ws
        import urllib3

        def heard(path):
            if path.startswith("/daytona/") and "/socket.io" not in path:
                self._answers += 1

        def around(owner, name, path_of):
            call = getattr(owner, name)

            def after(*args, **kwargs):
                got = call(*args, **kwargs)
                if not inspect.isawaitable(got):
                    heard(path_of(*args))
                    return got

                async def later():
                    value = await got
                    heard(path_of(*args))
                    return value

                return later()

            self._patch.setattr(owner, name, after)

        def of_url(_self, _method, url, *_rest):
            return re.sub("^[a-z]+://[^/]*", "", str(url))

        around(urllib3.connectionpool.HTTPConnectionPool, "urlopen", of_url)
        around(aiohttp.ClientSession, "_request", of_url)
        for owner, name in (
            (httpx.HTTPTransport, "handle_request"),
            (httpx.AsyncHTTPTransport, "handle_async_request"),
        ):
            around(owner, name, lambda _self, request: request.url.path)
        for name in ("send", "receive"):
            around(httpx_ws.WebSocketSession, name, lambda *_: "/daytona/")
        for name in ("send_bytes", "send_str", "receive"):
            around(
                aiohttp.ClientWebSocketResponse, name, lambda socket, *_: socket._response.url.path
            )


class _Call:
    def __init__(self, recorder, method):
        self.recorder, self.method = recorder, method

    def __enter__(self):
        self.before, self.token = self.recorder._answers, _inside.set(True)

    def __exit__(self, *_):
        _inside.reset(self.token)
        if self.recorder._answers > self.before:
            self.recorder.reached[self.method] += 1
