// Drives Daytona's npm client, unmodified, against the daemon named by DAYTONA_API_URL.
// Usage: node client.mjs DIR.  Prints one JSON line for each check.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { Readable } from "node:stream";

const { Daytona, Image, ...sdk } = createRequire(`${process.argv[2]}/index.js`)("@daytonaio/sdk");
const client = new Daytona();
const box = await client.create({ language: "python", labels: { suite: "javascript" } });
const text = (bytes) => Buffer.from(bytes).toString();
const rejects = async (promise, kind, code) => {
  const error = await promise.then(
    () => assert.fail(`nothing was raised, wanted ${kind}`),
    (error) => error,
  );
  assert.equal(error.constructor.name, kind, `${error.constructor.name}: ${error.message}`);
  if (code) assert.equal(error.code, code);
  return error;
};

const checks = {
  async "life of a sandbox"() {
    assert.equal(box.state, "started");
    assert.equal((await client.get(box.id)).name, box.name);
    const listed = [];
    for await (const one of client.list({ labels: { suite: "javascript" } })) listed.push(one.id);
    assert.deepEqual(listed, [box.id]);
    assert.equal((await box.setLabels({ suite: "javascript", two: "2" })).two, "2");
    await box.setAutostopInterval(30);
    await box.setAutoArchiveInterval(60);
    await box.setAutoDeleteInterval(-1);
    await box.refreshData();
    assert.equal(box.autoStopInterval, 30);
    await box.refreshActivity();
    await box.fs.uploadFile(Buffer.from("kept"), "kept.txt");
    await box.stop();
    assert.equal(box.state, "stopped");
    await box.archive();
    await box.start();
    assert.equal(box.state, "started");
    assert.equal(text(await box.fs.downloadFile("kept.txt")), "kept");
    await client.stop(box);
    await client.start(box);
  },
  async "a fork has the disk"() {
    const fork = await box.fork({ name: `${box.name}-fork` });
    assert.equal(text(await fork.fs.downloadFile("kept.txt")), "kept");
    await client.delete(fork);
    await rejects(client.get(fork.id), "DaytonaNotFoundError");
  },
  async "files"() {
    await box.fs.createFolder("js", "755");
    await box.fs.uploadFiles([
      { source: Buffer.from("a one"), destination: "js/a.txt" },
      { source: Buffer.from("b two"), destination: "js/deep/b.txt" },
    ]);
    const got = await box.fs.downloadFiles([{ source: "js/a.txt" }, { source: "js/none" }]);
    assert.equal(text(got[0].result), "a one");
    assert.ok(got[1].error && !got[1].result);
    const sent = [];
    const whole = "streamed ".repeat(40_000);
    await box.fs.uploadFileStream(Readable.from(Buffer.from(whole)), "js/s", {
      onProgress: (one) => sent.push(one.bytesSent),
    });
    assert.equal(sent.at(-1), whole.length);
    const chunks = [];
    for await (const one of await box.fs.downloadFileStream("js/s")) chunks.push(one);
    assert.equal(Buffer.concat(chunks).toString(), whole);
    assert.deepEqual((await box.fs.listFiles("js")).map((one) => one.name).sort(), [
      "a.txt",
      "deep",
      "s",
    ]);
    assert.equal((await box.fs.getFileDetails("js/a.txt")).size, 5);
    assert.equal((await box.fs.findFiles("js", "two"))[0].line, 1);
    assert.equal((await box.fs.searchFiles("js", "*.txt")).files.length, 2);
    assert.equal((await box.fs.replaceInFiles(["js/a.txt"], "one", "1"))[0].success, true);
    await box.fs.setFilePermissions("js/a.txt", { mode: "600" });
    await box.fs.moveFiles("js/a.txt", "js/moved.txt");
    await box.fs.deleteFile("js/moved.txt");
    await rejects(box.fs.getFileDetails("js/moved.txt"), "DaytonaFileNotFoundError");
    await box.fs.deleteFile("js", true);
  },
  async "commands and programs"() {
    const got = await box.process.executeCommand("pwd; echo $W; exit 3", "/tmp", { W: "word" });
    assert.equal(got.exitCode, 3);
    assert.equal(got.result, "/tmp\nword\n");
    assert.equal((await box.process.codeRun("print(6 * 7)")).result, "42\n");
    await rejects(
      box.process.executeCommand("sleep 20", undefined, undefined, 1),
      "DaytonaProcessExecutionTimeoutError",
      "PROCESS_EXECUTION_TIMEOUT",
    );
    await rejects(box.process.executeCommand(""), "DaytonaValidationError", "INVALID_REQUEST_BODY");
  },
  async "a session is followed"() {
    await box.process.createSession("s");
    assert.deepEqual((await box.process.getSession("s")).commands, []);
    const line = "for i in 1 2 3; do echo out$i; echo err$i >&2; sleep 0.3; done";
    const begun = await box.process.executeSessionCommand("s", { command: line, runAsync: true });
    const out = [];
    const err = [];
    await box.process.getSessionCommandLogs(
      "s",
      begun.cmdId,
      (one) => out.push(one),
      (one) => err.push(one),
    );
    assert.equal(out.join(""), "out1\nout2\nout3\n");
    assert.equal(err.join(""), "err1\nerr2\nerr3\n");
    assert.ok(out.length > 1, "the output came while it ran");
    assert.equal((await box.process.getSessionCommand("s", begun.cmdId)).exitCode, 0);
    const input = await box.process.executeSessionCommand("s", { command: "cat", runAsync: true });
    await box.process.sendSessionCommandInput("s", input.cmdId, "line\n");
    assert.ok((await box.process.listSessions()).some((one) => one.sessionId === "s"));
    await box.process.deleteSession("s");
    await rejects(box.process.getSession("s"), "DaytonaProcessNotFoundError", "PROCESS_NOT_FOUND");
    assert.equal((await box.process.getEntrypointSession()).sessionId, "entrypoint");
    assert.equal(typeof (await box.process.getEntrypointLogs()).stdout, "string");
  },
  async "a terminal"() {
    const seen = [];
    const handle = await box.process.createPty({
      id: "t",
      cols: 70,
      rows: 20,
      onData: (data) => seen.push(text(data)),
    });
    await handle.resize(90, 25);
    const info = await box.process.getPtySessionInfo("t");
    assert.deepEqual([info.cols, info.rows, info.active], [90, 25, true]);
    await handle.sendInput("stty size; exit 5\n");
    assert.equal((await handle.wait()).exitCode, 5);
    assert.ok(seen.join("").includes("25 90"));
    await handle.disconnect();
  },
  async "a context keeps its variables"() {
    const context = await box.codeInterpreter.createContext();
    await box.codeInterpreter.runCode("x = 41", { context });
    const got = await box.codeInterpreter.runCode("print(x + 1); raise ValueError('no')", {
      context,
    });
    assert.equal(got.stdout, "42\n");
    assert.equal(got.error.name, "ValueError");
    assert.ok((await box.codeInterpreter.listContexts()).some((one) => one.id === context.id));
    await box.codeInterpreter.deleteContext(context);
  },
  async "Git"() {
    await box.git.init("repo", false, "main");
    await box.fs.uploadFile(Buffer.from("one\n"), "repo/a.txt");
    await box.git.add("repo", ["a.txt"]);
    const { sha } = await box.git.commit("repo", "first", "A. Writer", "a@example.com");
    assert.match(sha, /^[0-9a-f]{40}$/);
    await box.git.createBranch("repo", "next");
    await box.git.checkoutBranch("repo", "next");
    assert.equal((await box.git.status("repo")).currentBranch, "next");
    await rejects(
      box.git.checkoutBranch("repo", "none"),
      "DaytonaGitBranchNotFoundError",
      "GIT_BRANCH_NOT_FOUND",
    );
  },
  async "volumes, snapshots and secrets"() {
    const name = `js-${box.id.slice(0, 8)}`;
    const volume = await client.volume.get(name, true);
    assert.ok((await client.volume.list()).some((one) => one.id === volume.id));
    await client.volume.delete(volume);
    const { items, total } = await client.snapshot.list(1, 5);
    assert.ok(total >= 1 && (await client.snapshot.get(items[0].name)).state === "active");
    const secret = await client.secret.create({ name, value: "hush-hush", hosts: ["a.example.com"] });
    assert.equal((await client.secret.get(secret.id)).name, name);
    await client.secret.delete(secret.id);
  },
  async "links"() {
    assert.match((await box.getPreviewLink(8080)).url, /^http/);
    assert.ok((await box.getSignedPreviewUrl(8080, 60)).token);
    await box.fs.uploadFile(Buffer.from("by link"), "link.txt");
    assert.equal(await (await fetch(await box.downloadUrl("link.txt"))).text(), "by link");
    const metrics = await box.getMetricsLatest();
    assert.ok(metrics.memTotal > 0 && metrics.timestamp instanceof Date);
  },
  async "an image is built, with its log"() {
    const lines = [];
    const image = Image.base("default").runCommands("echo built >/built.txt");
    const made = await client.create(
      { image, resources: { cpu: 1, memory: 1 } },
      { timeout: 120, onSnapshotCreateLogs: (one) => lines.push(one) },
    );
    assert.equal(text(await made.fs.downloadFile("/built.txt")), "built\n");
    await client.delete(made);
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  let error = null;
  try {
    await check();
  } catch (caught) {
    error = caught.stack ?? String(caught);
    failed += 1;
  }
  console.log(JSON.stringify({ name, error }));
}
await client.delete(box);
process.exit(failed ? 1 : 0);
