// Files, commands, sessions, terminals and contexts of Python.
import assert from "node:assert/strict";
import { Readable } from "node:stream";

import { all, text } from "./world.mjs";

export async function files({ box: { fs } }) {
  await fs.createFolder("f", "755");
  await fs.uploadFiles([
    { source: Buffer.from("alpha\nbeta\n"), destination: "f/a.py" },
    { source: Buffer.from("gamma\n"), destination: "f/inner/b.md" },
  ]);
  const got = await fs.downloadFiles([{ source: "f/a.py" }, { source: "f/none" }]);
  assert.equal(text(got[0].result), "alpha\nbeta\n");
  assert.ok(got[1].error && !got[1].result);
  const whole = "progress ".repeat(40_000);
  const sent = [];
  const came = [];
  await fs.uploadFileStream(Readable.from(Buffer.from(whole)), "f/s", {
    onProgress: (one) => sent.push(one.bytesSent),
  });
  const stream = await fs.downloadFileStream("f/s", {
    onProgress: (one) => came.push(one.bytesReceived),
  });
  assert.equal(Buffer.concat(await all(stream)).toString(), whole);
  assert.deepEqual([sent.at(-1), came.at(-1)], [whole.length, whole.length]);
  const names = (await fs.listFiles("f")).map((one) => one.name);
  assert.deepEqual(names.sort(), ["a.py", "inner", "s"]);
  const info = await fs.getFileDetails("f/a.py");
  assert.deepEqual([info.name, info.size, info.isDir], ["a.py", 11, false]);
  const [found, ...more] = await fs.findFiles("f", "beta");
  assert.deepEqual([found.line, more.length], [2, 0]);
  assert.equal((await fs.searchFiles("f", "*.md")).files.length, 1);
  assert.equal((await fs.replaceInFiles(["f/a.py"], "beta", "BETA"))[0].success, true);
  await fs.setFilePermissions("f/a.py", { mode: "600" });
  assert.match((await fs.getFileDetails("f/a.py")).permissions, /^0?600$/);
  await fs.moveFiles("f/a.py", "f/moved.py");
  assert.equal(text(await fs.downloadFile("f/moved.py")), "alpha\nBETA\n");
  await fs.uploadFile(Buffer.from("alone"), "f/alone");
  await fs.deleteFile("f/alone");
  await fs.deleteFile("f", true);
}

export async function processes({ box: { process: run } }) {
  const got = await run.executeCommand("pwd; echo $W; exit 3", "/tmp", { W: "word" });
  assert.deepEqual([got.exitCode, got.result], [3, "/tmp\nword\n"]);
  assert.equal((await run.codeRun("print(6 * 7)")).result, "42\n");
  const entry = await run.getEntrypointSession();
  assert.deepEqual([entry.sessionId, entry.commands.length], ["entrypoint", 1]);
  assert.equal((await run.getEntrypointLogs()).stdout, "");
}

export async function sessions({ box: { process: run } }) {
  await run.createSession("s");
  assert.deepEqual((await run.getSession("s")).commands, []);
  const command = "read a; echo got $a; echo bad >&2";
  const begun = await run.executeSessionCommand("s", {
    command,
    runAsync: true,
    suppressInputEcho: true,
  });
  assert.equal((await run.getSessionCommand("s", begun.cmdId)).exitCode ?? null, null);
  await run.sendSessionCommandInput("s", begun.cmdId, "input");
  const out = [];
  const err = [];
  const hear = (into) => (one) => into.push(one);
  await run.getSessionCommandLogs("s", begun.cmdId, hear(out), hear(err));
  assert.deepEqual([out.join(""), err.join("")], ["got input\n", "bad\n"]);
  const logs = await run.getSessionCommandLogs("s", begun.cmdId);
  assert.deepEqual([logs.stdout, logs.stderr], ["got input\n", "bad\n"]);
  const line = "for i in 1 2 3; do echo out$i; sleep 0.3; done";
  const slow = await run.executeSessionCommand("s", { command: line, runAsync: true });
  const parts = [];
  await run.getSessionCommandLogs("s", slow.cmdId, hear(parts), hear(err));
  assert.equal(parts.join(""), "out1\nout2\nout3\n");
  assert.ok(parts.length > 1, "the output came while it ran");
  assert.ok((await run.listSessions()).some((one) => one.sessionId === "s"));
  await run.deleteSession("s");
}

export async function terminals({ box: { process: run } }) {
  const seen = [];
  const onData = (data) => seen.push(text(data));
  const envs = { WORD: "given" };
  let handle = await run.createPty({ id: "t", cols: 80, rows: 24, envs, onData });
  const info = await run.getPtySessionInfo("t");
  assert.deepEqual([info.cols, info.rows, info.active], [80, 24, true]);
  assert.equal((await run.resizePtySession("t", 101, 31)).cols, 101);
  assert.ok((await run.listPtySessions()).some((one) => one.id === "t"));
  await handle.waitForConnection();
  assert.ok(handle.isConnected());
  await handle.disconnect();
  handle = await run.connectPty("t", { onData });
  await handle.resize(90, 25);
  await handle.sendInput("echo $WORD-$((40+2)); stty size; exit 7\n");
  assert.equal((await handle.wait()).exitCode, 7);
  const shown = seen.join("");
  assert.ok(shown.includes("given-42") && shown.includes("25 90"), shown);
  for (const [id, kill] of [
    ["k1", (one) => one.kill()],
    ["k2", (one) => run.killPtySession(one.sessionId)],
  ]) {
    const other = await run.createPty({ id, onData });
    const ended = other.wait();
    await kill(other);
    assert.equal((await ended).exitCode, 137);
  }
}

export async function contexts({ box: { codeInterpreter: python } }) {
  const context = await python.createContext("/tmp");
  const has = async () => (await python.listContexts()).some((one) => one.id === context.id);
  assert.ok(await has());
  await python.runCode("x = 41", { context });
  const got = await python.runCode("print(x + 1); raise ValueError('no')", { context });
  assert.deepEqual([got.stdout, got.error.name], ["42\n", "ValueError"]);
  await python.deleteContext(context);
  assert.ok(!(await has()));
}
