// The driver of a JavaScript context: keeps variables between evaluations. It needs Node.js 18.
//
// Requests come as JSON lines on stdin. Events leave as JSON lines on stdout. The ledger, where each
// evaluation begins and how it ends, leaves on stderr. Code under evaluation runs in a child process
// with pipes as its descriptors 1 and 2, so the output of its own child processes is caught, too.
// The child reports values and errors on descriptor 3. Only the parent has the descriptors of the
// protocol. Cay reads every event as a claim.
//
// The child evaluates by V8's inspector in the mode of a console. There `const`, `let` and `class`
// may be declared anew, and `await` works at the top level. A thread of the child ends loops that
// never return to the event loop. Nothing else can: Node.js runs handlers of signals in that loop.
(() => {
  "use strict";
  const fs = require("node:fs");
  const net = require("node:net");

  const TEXT_MOST = 32 * 1024; // bytes of output in one event
  const PART_MOST = 4 * 1024 * 1024; // characters of one MIME part
  const VALUE_MOST = 32 * 1024; // characters of an error's message
  const DRAIN_MOST = 1024 * 1024; // more than a pipe holds
  const UNLISTED_MOST = 8 * 1024; // bytes of events that the ledger may be behind
  const REMEMBERED = 10000; // ids of evaluations, so that a repeated request runs once
  const NUMBERS = 3; // that the threads of the child share, by these names
  const STATE = 0; // of the evaluation under way: OPEN, TERMINATING or CLOSED
  const SENT = 1; // the last evaluation whose end was sent
  const OPEN = 0;
  const TERMINATING = 1;
  const CLOSED = 2;

  // Writes all of it, also to a pipe that is full and does not block.
  function writeAll(fd, text) {
    let data = Buffer.from(text);
    const size = data.length;
    while (data.length > 0) {
      try {
        data = data.subarray(fs.writeSync(fd, data));
      } catch (error) {
        if (error.code !== "EAGAIN") throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      }
    }
    return size;
  }

  // Calls `take` with each line. JSON may have other line ends than \n inside of strings.
  function eachLine(stream, take) {
    let pieces = [];
    stream.on("data", (bytes) => {
      let begin = 0;
      for (let end; (end = bytes.indexOf(10, begin)) >= 0; begin = end + 1) {
        pieces.push(bytes.subarray(begin, end));
        const line = Buffer.concat(pieces).toString("utf8");
        pieces = [];
        take(line);
      }
      if (begin < bytes.length) pieces.push(bytes.subarray(begin));
    });
  }

  // The thread that interrupts. Main answers by itself if it waits. Else its loop is terminated.
  // A request to terminate that comes late may end main's next step, so it is poked until it sent
  // the end, and main does not send that while a request is on its way.
  function interruptAlways(names) {
    const { workerData, parentPort } = require("node:worker_threads");
    const { Session } = require("node:inspector");
    const { state, STATE, SENT, OPEN, TERMINATING } = { state: workerData, ...names };
    const session = new Session();
    session.connectToMainThread();
    // Child processes that main waits for get the signal too, also those that began after the
    // interrupt: they are of the driver's process group.
    const poke = (run, times = 1) => {
      if (Atomics.load(state, SENT) >= run) return;
      parentPort.postMessage(run);
      if (times % 8 === 0) process.kill(0, "SIGINT");
      setTimeout(() => {
        const sent = Atomics.load(state, SENT) >= run;
        if (!sent && Atomics.compareExchange(state, STATE, OPEN, TERMINATING) === OPEN) {
          session.post("Runtime.terminateExecution", () => {
            Atomics.compareExchange(state, STATE, TERMINATING, OPEN);
          });
        }
        setTimeout(poke, 20, run, times + 1);
      }, 50);
    };
    let text = "";
    let newest = 0;
    const interrupts = new (require("node:net").Socket)({ fd: 5 }).setEncoding("utf8");
    interrupts.on("data", (more) => {
      const lines = (text + more).split("\n");
      text = lines.pop();
      for (const run of lines.map(Number)) {
        if (run <= newest) continue;
        newest = run;
        poke(run);
      }
    });
    // Without its parent it ends, whatever main does.
    interrupts.on("close", () => process.kill(process.pid, "SIGKILL"));
  }

  // Returns a function that gives the code with its imports as calls of `name`: the inspector has
  // no modules. The parser is Node.js's own. What it cannot parse is left as it is.
  function importRewriter(name) {
    let parse;
    const load = () => {
      const module = { exports: {} };
      const text = process.binding("natives")["internal/deps/acorn/acorn/dist/acorn"];
      new Function("module", "exports", text)(module, module.exports);
      return module.exports.parse;
    };
    const names = (declaration) => {
      const whole = declaration.specifiers.find((one) => one.type === "ImportNamespaceSpecifier");
      const parts = declaration.specifiers
        .filter((one) => one !== whole)
        .map((one) => {
          const imported = one.imported ? one.imported.name ?? one.imported.raw : "default";
          return `${imported}: ${one.local.name}`;
        });
      const from = `await ${name}(${declaration.source.raw})`;
      if (whole === undefined) return parts.length > 0 ? `const {${parts}} = ${from};` : `${from};`;
      const rest = parts.length > 0 ? `, {${parts}} = ${whole.local.name}` : "";
      return `const ${whole.local.name} = ${from}${rest};`;
    };
    const find = (node, found) => {
      if (node === null || typeof node !== "object") return;
      if (node.type === "ImportDeclaration") found.push([node.start, node.end, names(node)]);
      if (node.type === "ImportExpression") found.push([node.start, node.start + 6, name]);
      for (const key of Object.keys(node)) find(node[key], found);
    };
    return (code) => {
      if (!/\bimport\b/.test(code)) return code;
      const found = [];
      try {
        parse ??= load();
        find(parse(code, { ecmaVersion: "latest", sourceType: "module" }), found);
      } catch {
        return code;
      }
      found.sort((a, b) => b[0] - a[0]);
      for (const [begin, end, text] of found) {
        const lines = "\n".repeat(code.slice(begin, end).split("\n").length - 1);
        code = code.slice(0, begin) + text + lines + code.slice(end);
      }
      return code;
    };
  }

  // True for what JSON keeps as it is. Throws what a getter throws.
  function isPlain(value, depth = 0) {
    if (value === null || typeof value === "string" || typeof value === "boolean") return true;
    if (typeof value === "number") return Number.isFinite(value);
    if (typeof value !== "object" || depth > 64) return false;
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; ++i) if (!isPlain(value[i], depth + 1)) return false;
      return true;
    }
    const kind = Object.getPrototypeOf(value);
    if (kind !== null && kind !== Object.prototype) return false;
    if (Object.getOwnPropertySymbols(value).length > 0) return false;
    return Object.keys(value).every((key) => isPlain(value[key], depth + 1));
  }

  // The child: evaluates one request after the other.
  function evaluateAlways() {
    const util = require("node:util");
    const path = require("node:path");
    const { pathToFileURL } = require("node:url");
    const { Worker } = require("node:worker_threads");
    const { Session } = require("node:inspector");
    const MIME = Symbol.for("Jupyter.display");
    const state = new Int32Array(new SharedArrayBuffer(4 * NUMBERS));
    const inspect = util.inspect;
    const exit = process.reallyExit.bind(process);
    const session = new Session();
    session.connect();
    process.argv.length = 1;
    process.execArgv = [];
    let signalled = false; // during this evaluation. The parent passes the interrupt on
    process.on("SIGINT", () => {
      signalled = true;
    });

    const names = JSON.stringify({ STATE, SENT, OPEN, TERMINATING });
    const thread = new Worker(`(${interruptAlways})(${names})`, {
      eval: true,
      workerData: state,
      execArgv: [],
    });
    thread.unref();

    let current = 0; // the evaluation under way, which has not been settled
    let status = ""; // how the last one was settled
    let last = 0; // the newest that came
    let stopped = 0; // interrupts came for it and all before
    let cells = 0;
    let lines = []; // of the code under evaluation

    // A termination may cut off a line. So each begins with a line end.
    const send = (message) => writeAll(3, "\n" + JSON.stringify(message) + "\n");
    // The same, and waits until the parent has it. So output that follows comes behind it.
    let sent = 0;
    const answer = new Int32Array(1);
    function sendInOrder(message) {
      const number = (sent = (sent + 1) | 0);
      send({ ...message, answer: number });
      while (fs.readSync(6, answer) > 0 && answer[0] !== number);
    }
    const wellFormed = (text) => Buffer.from(text, "utf8").toString("utf8");

    function partsOf(value) {
      const found = {};
      if (value !== null && typeof value === "object") {
        try {
          if (typeof value[MIME] === "function") Object.assign(found, value[MIME]());
          else if (isPlain(value)) found["application/json"] = value;
        } catch {
          // the text counts
        }
      }
      if (!("text/plain" in found)) found["text/plain"] = inspect(value, { maxStringLength: null });
      const data = {};
      const omitted = {};
      for (const [mime, raw] of Object.entries(found)) {
        let part = raw;
        if (part instanceof Uint8Array) part = Buffer.from(part).toString("base64");
        if (typeof part !== "string") part = JSON.stringify(part) ?? "null";
        if (part.length > PART_MOST) omitted[mime] = part.length;
        else data[mime] = wellFormed(part);
      }
      return Object.keys(omitted).length > 0 ? { data, omitted } : { data };
    }

    // A stack without the driver's own frames, and those of the event loop.
    const isOwnFrame = (line) => /^\s+at .*(\[eval\]|node:inspector|node:internal)/.test(line);
    function stackOf(error, depth = 0) {
      const words = `${error.name}: ${error.message}`;
      const stack = typeof error.stack === "string" ? error.stack : words;
      const out = [stack.split("\n").filter((line) => !isOwnFrame(line)).join("\n")];
      const inner = [...(error.cause === undefined ? [] : [error.cause]), ...(error.errors ?? [])];
      for (const one of depth < 8 ? inner : []) {
        const text = one instanceof Error ? stackOf(one, depth + 1) : inspect(one);
        out.push(`Caused by ${text}`);
      }
      return out.join("\n");
    }
    function fail(error, place = "", to = send) {
      let name = "Uncaught";
      let value = "";
      let text = "an error without words";
      try {
        const isError = util.types.isNativeError(error) || error instanceof Error;
        if (isError) name = String(error.name);
        value = isError ? String(error.message) : inspect(error);
        text = isError ? stackOf(error) : `${name}: ${value}`;
      } catch {
        // what there is so far
      }
      if (!/^\s+at .*cell-\d+:/m.test(text)) text = place + text;
      to({
        type: "error",
        name: wellFormed(name),
        value: wellFormed(value.slice(0, VALUE_MOST)),
        traceback: wellFormed(text.slice(0, PART_MOST)) + "\n",
      });
    }

    // Where an error of the syntax is, as Node.js shows it.
    function placeOf(details, file) {
      if (details.exception?.className !== "SyntaxError") return "";
      const line = lines[details.lineNumber];
      if (line === undefined) return "";
      return `${file}:${details.lineNumber + 1}\n${line}\n${" ".repeat(details.columnNumber)}^\n`;
    }

    // The value behind what the inspector answers.
    let taken;
    let receiver = "";
    function take(remote) {
      if (remote.type === "undefined") return undefined;
      const { objectId, value, unserializableValue } = remote;
      if (objectId === undefined && unserializableValue === undefined) return value;
      session.post("Runtime.callFunctionOn", {
        objectId: receiver,
        functionDeclaration: "function (value) { this(value) }",
        arguments: [objectId === undefined ? { unserializableValue } : { objectId }],
      });
      const got = taken;
      taken = undefined;
      return got;
    }

    // Sends the end of a settled evaluation. Safe to repeat.
    function finish(run) {
      if (current !== 0 || last !== run || Atomics.load(state, SENT) >= run) return;
      const was = Atomics.compareExchange(state, STATE, OPEN, CLOSED);
      if (was === TERMINATING) {
        setImmediate(finish, run);
        return;
      }
      session.post("Runtime.releaseObjectGroup", { objectGroup: "cell" });
      session.post("Runtime.discardConsoleEntries");
      if (signalled && status === "error") status = "interrupted"; // a child process got it, too
      send({ type: "done", status, number: run });
      Atomics.store(state, SENT, run);
    }
    // Rejections that nobody handles are reported after this step, and so before the end.
    function settle(run, how) {
      if (current !== run) return;
      current = 0;
      status = how;
      setImmediate(finish, run);
    }

    function interrupted(run) {
      stopped = Math.max(stopped, run);
      signalled ||= last === run;
      if (current === run) {
        const value = "the evaluation was interrupted";
        current = 0;
        status = "interrupted";
        send({ type: "error", name: "Interrupted", value, traceback: `Interrupted: ${value}\n` });
      }
      finish(run);
    }
    thread.on("message", interrupted);

    function arrived(run, file, error, got) {
      if (current !== run) return;
      if (error) {
        // A termination: the thread pokes once more, and interrupted() settles.
        if (!/promise was collected/i.test(error.message)) return;
        fail(new Error("the code awaits a promise that nothing can settle"));
        settle(run, "error");
        return;
      }
      try {
        const value = take(got.exceptionDetails ? got.exceptionDetails.exception : got.result);
        if (got.exceptionDetails) {
          fail(value, placeOf(got.exceptionDetails, file));
          settle(run, "error");
          return;
        }
        if (value !== undefined) {
          Object.defineProperty(globalThis, "_", { value, writable: true, configurable: true });
          send({ type: "result", ...partsOf(value) });
        }
        settle(run, "ok");
      } catch (failure) {
        fail(failure);
        settle(run, "error");
      }
    }

    const rewritten = importRewriter("__cay_import");
    function evaluate(run, code) {
      Atomics.store(state, STATE, OPEN);
      current = run;
      last = run;
      signalled = false;
      if (stopped >= run) {
        interrupted(run);
        return;
      }
      const file = `cell-${++cells}`;
      const expression = rewritten(code);
      lines = expression.split("\n");
      session.post(
        "Runtime.evaluate",
        {
          expression: `${expression}\n//# sourceURL=${file}`,
          replMode: true,
          awaitPromise: true,
          objectGroup: "cell",
        },
        (error, got) => arrived(run, file, error, got),
      );
    }

    const hide = (name, value) =>
      Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
    const show = (value) => sendInOrder({ type: "display", ...partsOf(value) });
    const display = (...values) => values.forEach(show);
    const mime = (data) => show({ [MIME]: () => data });
    const plain = (what) => ({ "text/plain": `<${what}>` });
    display.mime = mime;
    display.html = (text) => mime({ ...plain("HTML"), "text/html": String(text) });
    display.markdown = (text) => mime({ "text/plain": text, "text/markdown": text });
    display.svg = (text) => mime({ ...plain("SVG"), "image/svg+xml": String(text) });
    display.png = (bytes) => mime({ ...plain("PNG"), "image/png": bytes });
    display.jpeg = (bytes) => mime({ ...plain("JPEG"), "image/jpeg": bytes });
    display.json = (value) => mime({ "text/plain": inspect(value), "application/json": value });
    hide("display", display);
    hide("__cay_import", (name, options) => {
      const isPath = /^\.{0,2}\//.test(String(name));
      const url = isPath ? pathToFileURL(path.resolve(String(name))).href : name;
      return options === undefined ? import(url) : import(url, options);
    });
    process.exit = (code) => {
      const error = new Error(`process.exit(${code ?? ""}) does not end a context`);
      error.name = "Exit";
      throw error;
    };
    process.on("uncaughtException", (error) => fail(error, "", sendInOrder));
    process.on("unhandledRejection", (error) => fail(error, "", sendInOrder));

    hide("__cay_receiver", (value) => {
      taken = value;
    });
    session.post("Runtime.evaluate", { expression: "__cay_receiver" }, (_, got) => {
      receiver = got.result.objectId;
    });
    delete globalThis.__cay_receiver;
    const requests = new net.Socket({ fd: 4, readable: true, writable: false });
    // In a step of its own: a termination in the middle of an event of a stream would damage it.
    eachLine(requests, (line) => {
      const { run, code } = JSON.parse(line);
      setImmediate(evaluate, run, code);
    });
    requests.on("close", () => exit(0));
  }

  // The parent: passes requests on, and writes events.
  function forwardAlways(source) {
    const { spawn } = require("node:child_process");
    const known = new Set();
    const waiting = []; // requests
    let run = ""; // the id of the evaluation under way
    let number = 0; // and its number
    Error.stackTraceLimit = 0;
    let sent = 0; // bytes of events
    let idleFrom = 0; // those at the end of the evaluation before
    // Cay reads the last events for what the ledger has not. So lines of the ledger wait while they
    // are of so few bytes of events, and many are one write.
    let unlisted = ""; // lines of the ledger that wait
    let noted = 0; // the place of the last line
    let listed = 0; // the place of the last one that is out
    const listBefore = (more) => {
      if (unlisted === "" || sent + more - listed <= UNLISTED_MOST) return;
      writeAll(2, unlisted);
      unlisted = "";
      listed = noted;
    };
    const emit = (rest) => {
      const line = Buffer.from(`{"run":${JSON.stringify(run)},${rest}}\n`);
      listBefore(line.length);
      sent += writeAll(1, line);
    };
    const note = (at, members) => {
      unlisted += JSON.stringify({ run, ...members, at }) + "\n";
      noted = at;
      listBefore(0);
    };
    writeAll(2, '{"run":"","type":"ledger"}\n');
    // Bytes that are no UTF-8 come a second time, as base64.
    const emitText = (type, bytes) => {
      if (bytes.length === 0) return;
      const text = bytes.toString("utf8");
      const isExact = Buffer.from(text, "utf8").equals(bytes);
      const exact = isExact ? "" : `,"base64":"${bytes.toString("base64")}"`;
      emit(`"type":"${type}","text":${JSON.stringify(text)}${exact}`);
    };
    // How many bytes at the end are the beginning of a character.
    const unfinished = (bytes) => {
      for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
        const byte = bytes[bytes.length - back];
        if (byte < 0x80 || byte > 0xf4) return 0;
        if (byte < 0xc2) continue;
        return back < (byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4) ? back : 0;
      }
      return 0;
    };

    const child = spawn(
      process.execPath,
      ["--no-force-async-hooks-checks", "-e", source, "child"],
      { stdio: ["ignore", "pipe", "pipe", "pipe", "pipe", "pipe", "pipe"] },
    );
    const [, , , events, requests, interrupts, answers] = child.stdio;
    for (const pipe of [requests, interrupts, answers]) pipe.on("error", () => {}); // it has ended

    const drains = ["stdout", "stderr"].map((type, i) => {
      const stream = child.stdio[i + 1];
      const piece = Buffer.alloc(TEXT_MOST);
      let rest = Buffer.alloc(0);
      const forward = (bytes) => {
        for (let at = 0; at < bytes.length; at += TEXT_MOST) {
          const all = Buffer.concat([rest, bytes.subarray(at, at + TEXT_MOST)]);
          const end = all.length - unfinished(all);
          rest = all.subarray(end);
          emitText(type, all.subarray(0, end));
        }
      };
      stream.on("data", forward);
      // Forwards every byte that was written before this call.
      return (isLast) => {
        for (let most = DRAIN_MOST; most > 0 && stream._handle; ) {
          let got = 0;
          try {
            got = fs.readSync(stream._handle.fd, piece);
          } catch {
            break; // nothing is there
          }
          if (got === 0) break;
          most -= got;
          forward(piece.subarray(0, got));
        }
        if (!isLast) return;
        emitText(type, rest);
        rest = Buffer.alloc(0);
      };
    });
    const drain = (isLast) => {
      for (const one of drains) one(isLast);
    };

    function next() {
      while (run === "" && waiting.length > 0) {
        const request = waiting.shift();
        if (known.has(request.run)) continue;
        known.add(request.run);
        if (known.size > REMEMBERED) known.delete(known.values().next().value);
        drain(true);
        run = request.run;
        number += 1;
        const tag = String(request.tag ?? "");
        note(sent, { type: "begin", tag, from: idleFrom });
        emit(`"type":"begin","tag":${JSON.stringify(tag)}`);
        requests.write(JSON.stringify({ run: number, code: request.code }) + "\n");
      }
    }

    eachLine(events, (line) => {
      let event;
      try {
        event = JSON.parse(line);
      } catch {
        return; // the line between two, or one that was cut off
      }
      if (event === null || typeof event !== "object" || Array.isArray(event)) return;
      const isEnd = event.type === "done";
      if (isEnd && event.number !== number) return;
      drain(isEnd);
      emit(line.slice(line.indexOf("{") + 1, line.lastIndexOf("}")));
      if (Number.isInteger(event.answer))
        answers.write(Buffer.from(Int32Array.of(event.answer).buffer));
      if (!isEnd) return;
      idleFrom = sent;
      note(sent, { type: "done", status: event.status });
      run = "";
      next();
    });

    process.on("SIGINT", () => {
      if (run !== "") interrupts.write(`${number}\n`);
    });
    child.on("exit", (code, signal) => {
      drain(true);
      if (signal) {
        process.removeAllListeners("SIGINT");
        process.kill(process.pid, signal);
      }
      process.exit(code ?? 1);
    });
    child.on("error", (error) => {
      writeAll(2, `${error}\n`);
      process.exit(1);
    });
    eachLine(process.stdin, (line) => {
      try {
        const request = JSON.parse(line);
        if (typeof request.run !== "string" || typeof request.code !== "string") return;
        waiting.push(request);
      } catch {
        return; // the part of a request that was cut off
      }
      setImmediate(setImmediate, next); // after a signal that came before the request
    });
    process.stdin.on("end", () => requests.end());
  }

  if (process.argv[1] === "child") evaluateAlways();
  else forwardAlways(process.execArgv[process.execArgv.length - 1]);
})();
