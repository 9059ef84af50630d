# The driver of a Python context: keeps variables between evaluations.
#
# Requests come as JSON lines on stdin. Events leave as JSON lines on a private copy of stdout. The
# ledger, where each evaluation begins and how it ends, leaves on a private copy of stderr.
# Code under evaluation has pipes as its descriptors 1 and 2, and the driver forwards what comes out
# of them. So the output of child processes is caught, too. Cay reads every event as a claim.
import ast
import atexit
import base64
import builtins
import codecs
import fcntl
import gc
import inspect
import io
import json
import linecache
import math
import os
import select
import signal
import socket
import sys
import termios
import threading
import traceback
import types
import warnings

TEXT_MOST = 32 * 1024  # bytes of output in one event
PART_MOST = 4 * 1024 * 1024  # characters of one MIME part
REMEMBERED = 10_000  # ids of evaluations, so that a repeated request runs once
UNLISTED_MOST = 8 * 1024  # bytes of events that the ledger may be behind
EVENT_MEMBERS = ("data", "omitted", "name", "value", "traceback")  # that a fork may give

# The method of an object that returns a MIME part, as notebooks call it.
METHODS = {
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "text/latex": "_repr_latex_",
    "image/svg+xml": "_repr_svg_",
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "application/json": "_repr_json_",
}


class Events:
    """Writes events, each as one whole line, and the ledger.

    Cay reads the last events for what the ledger has not. So lines of the ledger wait while they
    are of so few bytes of events, and many are one write."""

    def __init__(self, fd, ledger):
        self.fd = fd
        self.ledger = ledger
        self.lock = threading.RLock()
        self.run = ""
        self.sent = 0
        self.held = b""  # goes out with the next event
        self.idle_from = 0  # the end of the evaluation before
        self.unlisted = b""  # lines of the ledger that wait
        self.noted = 0  # the place of the last line
        self.listed = 0  # the place of the last one that is out
        self.write(self.ledger, self.line("ledger", {}))

    def line(self, kind, members):
        event = {"run": self.run, "type": kind, **members}
        text = json.dumps(event, ensure_ascii=False, separators=(",", ":"), default=str)
        return memoryview(text.encode("utf-8", "replace") + b"\n")

    def write(self, fd, data):
        while data:
            data = data[os.write(fd, data) :]

    def hold(self, kind, **members):
        """Emits an event that another one follows at once: one write for both."""
        with self.lock:
            self.held += self.line(kind, members)

    def note(self, kind, at, members):
        """Adds a line to the ledger."""
        self.unlisted += self.line(kind, {**members, "at": at})
        self.noted = at
        self.list_before(0)

    def list_before(self, more):
        """Writes the ledger if it would be too far behind with so many bytes of events more."""
        if self.unlisted and self.sent + more - self.listed > UNLISTED_MOST:
            self.write(self.ledger, memoryview(self.unlisted))
            self.unlisted = b""
            self.listed = self.noted

    def emit(self, kind, **members):
        with self.lock:
            data = memoryview(self.held + bytes(self.line(kind, members)))
            self.held = b""
            self.list_before(len(data))
            self.write(self.fd, data)
            self.sent += len(data)

    def begin(self, run, tag):
        with self.lock:
            self.run = run
            self.note("begin", self.sent, {"tag": tag, "from": self.idle_from})
            self.emit("begin", tag=tag)

    def end(self, status):
        with self.lock:
            self.emit("done", status=status)
            self.idle_from = self.sent
            self.note("done", self.sent, {"status": status})
            self.run = ""


class EventsOfFork:
    """Hands the events of a forked process to the driver. Each waits until it is out, so that
    events and output come in their order."""

    def __init__(self, channel):
        self.channel = channel
        self.lock = threading.RLock()

    def emit(self, kind, **members):
        data = json.dumps([kind, members], default=str).encode("ascii")
        with self.lock:
            self.channel.sendall(len(data).to_bytes(8, "little") + data)
            self.channel.recv(1)

    hold = emit


class Fork:
    """A process that was forked off the driver and evaluates one request."""

    def __init__(self, pid, channel):
        self.pid = pid
        self.channel = channel
        self.ended = os.pidfd_open(pid)
        self.data = b""

    def events(self):
        """Yields its events until it ends."""
        poll = select.poll()
        poll.register(self.channel, select.POLLIN)
        poll.register(self.ended, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            if self.channel.fileno() in ready:
                got = self.received()
                if not got:
                    poll.unregister(self.channel)  # nobody has its other end
                yield from self.whole(got)
            elif self.ended in ready:
                return

    def received(self):
        try:
            return self.channel.recv(1 << 20)
        except OSError:
            return b""

    def whole(self, got):
        self.data += got
        while len(self.data) >= 8:
            size = int.from_bytes(self.data[:8], "little")
            if len(self.data) < 8 + size:
                return
            text, self.data = self.data[8 : 8 + size], self.data[8 + size :]
            kind, members = json.loads(text)
            yield kind, {name: members[name] for name in EVENT_MEMBERS if name in members}
            try:
                self.channel.sendall(b".")  # it is out
            except OSError:
                pass  # the process is gone

    def end(self):
        """Returns how it ended, in words. Empty: with code 0. None: nobody can know."""
        self.channel.close()
        os.close(self.ended)
        try:
            _, status = os.waitpid(self.pid, 0)
        except ChildProcessError:  # the context's own code waits for all its children
            return None
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            return f"died of signal {-code}"
        return f"exited with code {code}" if code else ""


class Interrupts:
    """Turns SIGINT into KeyboardInterrupt while code is under evaluation, and at no other time."""

    def __init__(self):
        self.beginning = False  # its begin is out, and its code does not run yet
        self.evaluating = False
        self.fork = None  # the pid of a process that evaluates, and that is to be interrupted
        self.shielded = 0
        self.pending = False
        signal.signal(signal.SIGINT, self.arrived)

    def begin(self):
        """The code runs from here on. An interrupt that came early is one of it."""
        self.evaluating = True
        self.beginning = False
        if self.pending:
            self.pending = False
            raise KeyboardInterrupt

    def pass_on(self, fork):
        """The process `fork` runs the code from here on (None: it ended)."""
        self.fork = fork
        self.beginning = False
        if self.pending:
            self.interrupt_fork()
        self.pending = False

    def interrupt_fork(self):
        try:
            if self.fork is not None:
                os.kill(self.fork, signal.SIGINT)
        except ProcessLookupError:
            pass  # it ended

    def arrived(self, number, frame):
        if self.fork is not None:
            self.interrupt_fork()
            return
        if self.beginning:
            self.pending = True
            return
        if not self.evaluating:
            return
        if self.shielded:
            self.pending = True
            return
        raise KeyboardInterrupt

    def __enter__(self):
        self.shielded += 1

    def __exit__(self, *_):
        self.shielded -= 1
        if self.pending and not self.shielded:
            self.pending = False
            if self.evaluating:
                raise KeyboardInterrupt


class Output:
    """One of descriptors 1 and 2 of the code under evaluation."""

    def __init__(self, kind, fd, events):
        self.kind = kind
        self.events = events
        self.is_of_fork = False  # then the driver forwards
        self.lock = threading.Lock()
        self.rest = b""  # the beginning of a character
        self.reader, writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.dup2(writer, fd, inheritable=True)
        os.close(writer)
        raw = io.FileIO(fd, "w", closefd=False)
        self.text = io.TextIOWrapper(
            io.BufferedWriter(raw), encoding="utf-8", errors="replace", line_buffering=True
        )

    def forward(self, most):
        """Forwards what is there, at most `most` bytes."""
        with self.lock:
            while most > 0:
                try:
                    got = os.read(self.reader, min(most, TEXT_MOST))
                except BlockingIOError:
                    return
                if not got:
                    return
                most -= len(got)
                self.emit(self.rest + got, False)

    def drain(self, last=False):
        """Forwards every byte that was written before this call."""
        try:
            self.text.flush()
        except (OSError, ValueError):
            pass  # closed by the code under evaluation
        if self.is_of_fork:
            return
        waiting = bytearray(4)
        fcntl.ioctl(self.reader, termios.FIONREAD, waiting)
        self.forward(int.from_bytes(waiting, sys.byteorder))
        if last:
            with self.lock:
                self.emit(self.rest, True)

    def emit(self, data, last):
        exact = {}
        try:
            text, size = codecs.utf_8_decode(data, "strict", last)
        except UnicodeDecodeError:
            text, size = codecs.utf_8_decode(data, "replace", last)
            exact["base64"] = base64_text(data[:size])
        self.rest = data[size:]
        if text:
            self.events.emit(self.kind, text=text, **exact)


def forward_always(outputs):
    by_fd = {one.reader: one for one in outputs}
    poll = select.poll()
    for fd in by_fd:
        poll.register(fd, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            by_fd[fd].forward(TEXT_MOST)


def base64_text(data):
    return base64.b64encode(data).decode("ascii")


def figure_png(figure):
    out = io.BytesIO()
    figure.savefig(out, format="png", bbox_inches="tight")
    return out.getvalue()


def is_figure(value):
    figures = sys.modules.get("matplotlib.figure")
    return figures is not None and isinstance(value, figures.Figure)


def is_plain(value, depth=0):
    """True for what JSON keeps as it is."""
    kind = type(value)
    if value is None or kind in (str, bool, int):
        return True
    if kind is float:
        return math.isfinite(value)
    if depth > 64:
        return False
    if kind is list:
        return all(is_plain(one, depth + 1) for one in value)
    return kind is dict and all(
        type(key) is str and is_plain(one, depth + 1) for key, one in value.items()
    )


class Parts:
    """A value that has exactly the given MIME parts."""

    def __init__(self, parts):
        self.parts = parts

    def _repr_mimebundle_(self):
        return self.parts


def parts_of(value):
    """Returns the MIME parts of a value, and the sizes of those that are too large."""
    found = {}
    if not isinstance(value, type):
        bundle = getattr(value, "_repr_mimebundle_", None)
        if callable(bundle):
            try:
                got = bundle()
                found.update(got[0] if isinstance(got, tuple) else got)
            except Exception:
                found.clear()
        for mime, name in METHODS.items():
            method = getattr(value, name, None)
            if mime in found or not callable(method):
                continue
            try:
                got = method()
            except Exception:
                continue  # as in a notebook: the other parts count
            if isinstance(got, tuple):
                got = got[0]  # the value and its metadata
            if got is not None:
                found[mime] = got
    if is_figure(value):
        found["image/png"] = figure_png(value)
    if "text/plain" not in found:
        found["text/plain"] = repr(value)
    if type(value) in (list, dict) and is_plain(value):
        found["application/json"] = value
    parts, omitted = {}, {}
    for mime, part in found.items():
        if isinstance(part, (bytes, bytearray)):
            part = base64_text(part)
        elif not isinstance(part, str):
            part = json.dumps(part, default=str)
        if len(part) > PART_MOST:
            omitted[str(mime)] = len(part)
        else:
            parts[str(mime)] = part
    return parts, omitted


class Driver:
    def __init__(self):
        self.requests = os.fdopen(os.dup(0), "rb")
        self.events = Events(os.dup(1), os.dup(2))
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0, inheritable=True)
        os.close(nothing)
        self.interrupts = Interrupts()
        self.outputs = [Output("stdout", 1, self.events), Output("stderr", 2, self.events)]
        sys.stdout, sys.stderr = (one.text for one in self.outputs)
        sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
        self.pid = os.getpid()
        self.is_fork = False
        self.count = 0
        self.known = {}
        self.loop = None
        self.main = types.ModuleType("__main__")
        self.main.__builtins__ = builtins
        sys.modules["__main__"] = self.main
        sys.argv = [""]
        builtins.display = self.display_verb()
        self.offer_plots()
        threading.Thread(target=forward_always, args=(self.outputs,), daemon=True).start()

    def offer_plots(self):
        """Sets a backend of matplotlib whose figures become events."""
        module = types.ModuleType("cay_context_plots")

        def lazily(name):
            from matplotlib.backends import backend_agg

            for one, value in vars(backend_agg).items():
                if not one.startswith("__"):
                    vars(module).setdefault(one, value)  # matplotlib copies the module's members
            return getattr(backend_agg, name)

        module.__getattr__ = lazily
        module.show = lambda *_, **__: self.show_plots()
        sys.modules[module.__name__] = module
        os.environ.setdefault("MPLBACKEND", "module://" + module.__name__)

    def show_plots(self):
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            self.display(pyplot.figure(number))
        pyplot.close("all")

    def show(self, kind, value):
        parts, omitted = parts_of(value)
        with self.interrupts:
            for one in self.outputs:
                one.drain()
            send = self.events.hold if kind == "result" else self.events.emit
            send(kind, data=parts, **({"omitted": omitted} if omitted else {}))

    def display(self, *values):
        for value in values:
            self.show("display", value)

    def display_verb(self):
        """Returns display(), with display.html() and others for values of one MIME type."""

        def display(*values):
            self.display(*values)

        def of(mime, what=None):
            def show(part):
                text = what or (part if isinstance(part, str) else repr(part))
                self.display(Parts({"text/plain": text, mime: part}))

            return show

        display.mime = lambda parts: self.display(Parts(parts))
        display.html = of("text/html", "<HTML>")
        display.svg = of("image/svg+xml", "<SVG>")
        display.png = of("image/png", "<PNG>")
        display.jpeg = of("image/jpeg", "<JPEG>")
        display.markdown = of("text/markdown")
        display.json = of("application/json")
        return display

    def awaited(self, value):
        import asyncio

        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(value)

    def step(self, node, name, mode):
        code = compile(node, name, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        value = eval(code, self.main.__dict__)
        return self.awaited(value) if code.co_flags & inspect.CO_COROUTINE else value

    def evaluate(self, source):
        self.count += 1
        name = f"<cell {self.count}>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        tree = ast.parse(source, name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        if tree.body:
            self.step(tree, name, "exec")
        if last is not None:
            value = self.step(last, name, "eval")
            if is_figure(value):
                return  # it is shown with the others that are open
            if value is not None:
                builtins._ = value
                self.show("result", value)

    def fail(self, error):
        """Sends an error, without the frames of this driver."""
        frames = error.__traceback__
        while frames is not None and not frames.tb_frame.f_code.co_filename.startswith("<cell "):
            frames = frames.tb_next
        try:
            told = traceback.TracebackException(type(error), error, frames)
            if told.stack and told.stack[-1].name == "arrived":
                told.stack.pop()  # Interrupts.arrived
            text = "".join(told.format())
            value = str(error)
        except Exception:
            text, value = "", "an exception without words"
        for one in self.outputs:
            one.drain()
        self.events.emit(
            "error", name=type(error).__name__, value=value[:TEXT_MOST], traceback=text[-PART_MOST:]
        )

    def guarded(self, source):
        """Evaluates, and returns how it ended. Only here SIGINT is an exception."""
        status = "ok"
        try:
            try:
                self.interrupts.begin()
                self.evaluate(source)
                self.show_plots()
                if self.is_fork:
                    self.join_threads()
            finally:
                self.interrupts.evaluating = False
        except KeyboardInterrupt as error:
            self.interrupts.evaluating = False
            status = "interrupted"
            self.fail(error)
        except BaseException as error:
            status = "error"
            self.fail(error)
        self.interrupts.pending = False
        return status

    def become_fork(self, channel):
        """Turns this process, a child of the driver, into one whose events the driver writes."""
        self.pid = os.getpid()
        self.is_fork = True
        self.events = EventsOfFork(channel)
        for one in self.outputs:
            one.is_of_fork = True
        self.loop = None  # both processes would wait at one poller
        atexit._clear()
        gc.freeze()  # a collection looks at what is made from here on

    def join_threads(self):
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()

    def fork_off(self, source):
        """Begins to evaluate in a child process. It has this one's variables, as copies."""
        if not hasattr(os, "pidfd_open"):
            raise RuntimeError("a fork needs Python 3.9 or newer")
        mine, its = socket.socketpair()
        locks = [self.events.lock, *(one.lock for one in self.outputs)]
        for one in self.outputs:
            one.drain()
        for lock in locks:
            lock.acquire()  # so that no thread, which the child has not, holds one
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the thread that forwards
                pid = os.fork()
        finally:
            for lock in locks:
                lock.release()
        if pid != 0:
            its.close()
            return self.forked(pid, mine)
        mine.close()
        self.become_fork(its)
        before = dict(self.main.__dict__)
        status = self.guarded(source)
        if os.getpid() == self.pid:  # else a child of the code came back here
            self.finish_fork(before, status)
        os._exit(0)

    def finish_fork(self, before, status):
        """Ends as a program does: exit handlers run, and files that its variables hold are written.
        The interpreter is not taken down, which touches all memory. What the context's own code
        had open or registered is its own."""
        atexit._run_exitfuncs()
        for name, value in list(self.main.__dict__.items()):
            if name not in before or before[name] is not value:
                del self.main.__dict__[name]
        value = None
        builtins._ = None
        gc.collect()
        for one in self.outputs:
            one.drain()
        self.events.emit("done", value=status)

    def forked(self, pid, channel):
        try:
            return Fork(pid, channel)
        except OSError:  # no descriptor is free: nobody could wait for it
            os.kill(pid, signal.SIGKILL)
            channel.close()
            raise

    def guarded_in_fork(self, source):
        """Evaluates in a child process, and returns how it ended."""
        self.count += 1
        try:
            fork = self.fork_off(source)
        except (OSError, RuntimeError) as error:
            self.interrupts.pass_on(None)
            self.fail(error)
            return "error"
        self.interrupts.pass_on(fork.pid)
        status = None
        for kind, members in fork.events():
            for one in self.outputs:
                one.drain()
            if kind == "done":
                status = members["value"]
            else:
                self.events.emit(kind, **members)
        self.interrupts.pass_on(None)
        how = fork.end()
        if status is not None and not how:
            return status
        for one in self.outputs:
            one.drain()
        how = how or "ended before the code did"
        self.events.emit("error", name="ForkEnded", value="the process " + how, traceback="")
        return "error"

    def serve(self, request):
        run = request["run"]
        if run in self.known:
            return
        self.known[run] = True
        if len(self.known) > REMEMBERED:
            self.known.pop(next(iter(self.known)))
        for one in self.outputs:
            one.drain(last=True)
        self.interrupts.beginning = True
        self.events.begin(run, str(request.get("tag", "")))
        evaluate = self.guarded_in_fork if request.get("fork") else self.guarded
        status = evaluate(request["code"])
        if os.getpid() != self.pid:
            os._exit(0)  # a child that the code forked, and that came back here
        for one in self.outputs:
            one.drain(last=True)
        self.events.end(status)

    def main_loop(self):
        for line in self.requests:
            try:
                request = json.loads(line)
                good = isinstance(request["run"], str) and isinstance(request["code"], str)
            except (ValueError, KeyError, TypeError):
                good = False
            if good:
                self.serve(request)


Driver().main_loop()
