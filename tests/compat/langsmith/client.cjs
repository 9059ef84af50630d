// Drives one version of the npm client, unmodified, against the daemon named by LANGSMITH_ENDPOINT.
// Usage: node client.cjs DIR VERSION ws|http PROXY_URL.  Prints one JSON line for each check.
"use strict";
const { createRequire } = require("node:module");
const { createHash, webcrypto } = require("node:crypto");
const { spawnSync } = require("node:child_process");
const assert = require("node:assert/strict");

globalThis.crypto ??= webcrypto; // Node 18, Debian 12's, lacks it

const [dir, version, transport, proxyUrl] = process.argv.slice(2);
const load = createRequire(`${dir}/index.js`);
const api = load(version === "0.5.22" ? "langsmith/experimental/sandbox" : "langsmith/sandbox");
const newest = version !== "0.5.22";

if (process.argv[6] === "reconnect") {
  // Another process takes the command up by its id.
  (async () => {
    const box = await new api.SandboxClient().getSandbox(process.argv[7]);
    const handle = await box.reconnect(process.argv[8]);
    const got = await handle.result;
    process.stdout.write(got.stdout);
    process.exitCode = got.exit_code;
  })();
  return;
}

const client = new api.SandboxClient();
let snapshotId;
const boxes = [];
const create = async (options = {}) => {
  const box = await client.createSandbox(snapshotId, options);
  boxes.push(box.name);
  return box;
};
const rejects = async (promise, name) => {
  try {
    await promise;
  } catch (error) {
    assert.equal(error.name, name, `${error.name}: ${error.message}`);
    return error;
  }
  assert.fail(`nothing was raised, wanted ${name}`);
};

const checks = {
  async "default snapshot is listed"() {
    const all = await client.listSnapshots();
    snapshotId = all.find((one) => one.name === "default" && one.status === "ready").id;
    assert.ok(snapshotId);
  },
  async "create, list, get, update, delete"() {
    const name = `js-life-${version.replaceAll(".", "-")}-${transport}`;
    const box = await create({ name });
    assert.equal(box.status, "ready");
    assert.ok(box.dataplane_url);
    assert.ok((await client.listSandboxes()).some((one) => one.name === name));
    const renamed = await client.updateSandbox(name, `${name}-2`);
    assert.equal(renamed.name, `${name}-2`);
    assert.equal((await client.getSandbox(`${name}-2`)).id, box.id);
    await client.deleteSandbox(`${name}-2`);
    await rejects(client.getSandbox(`${name}-2`), "LangSmithResourceNotFoundError");
  },
  async "run"() {
    const got = await this.box.run("echo out; echo err >&2; exit 3");
    assert.deepEqual([got.stdout, got.stderr, got.exit_code], ["out\n", "err\n", 3]);
  },
  async "env and cwd"() {
    const got = await this.box.run("echo $A; pwd", { env: { A: "b c" }, cwd: "/usr" });
    assert.equal(got.stdout, "b c\n/usr\n");
  },
  async "files"() {
    await this.box.write("/tmp/dir one/text+1.txt", "h\u00e9llo");
    assert.equal(Buffer.from(await this.box.read("/tmp/dir one/text+1.txt")).toString(), "h\u00e9llo");
    const blob = Buffer.alloc(1 << 20, Buffer.from([...Array(256).keys()]));
    await this.box.write("/tmp/blob", blob);
    assert.ok(blob.equals(Buffer.from(await this.box.read("/tmp/blob"))));
    await rejects(this.box.read("/tmp/none"), "LangSmithResourceNotFoundError");
    await rejects(this.box.read("/tmp"), "LangSmithSandboxOperationError");
  },
  async "typed errors"() {
    await rejects(client.getSandbox("no-such-box"), "LangSmithResourceNotFoundError");
    const stranger = new api.SandboxClient({ apiKey: "cay_wrong" });
    await rejects(stranger.listSandboxes(), "LangSmithSandboxAuthenticationError");
    const tooMuch = { memory: { memBytes: 10 * 2 ** 40 } };
    if (newest) Object.assign(tooMuch, { cpu: { vCpus: 1000 }, storage: { fsCapacityBytes: 10 * 2 ** 40 } });
    for (const [kind, options] of Object.entries(tooMuch)) {
      assert.equal((await rejects(create(options), "LangSmithQuotaExceededError")).quotaType, kind);
    }
    const other = await create();
    await rejects(client.updateSandbox(other.name, this.box.name), "LangSmithResourceNameConflictError");
    const dead = await client.getSandbox(process.env.CAY_FAILED_BOX); // its keeper was killed
    await rejects(dead.read("/etc/hostname"), "LangSmithSandboxNotReadyError");
    await rejects(create({ name: "No Such Name!" }), "LangSmithValidationError");
    if (newest) await rejects(create({ idleTtlSeconds: 61 }), "LangSmithValidationError");
  },
  async "stop, start, wake on request"() {
    await this.box.run("echo kept > /root/kept");
    await client.stopSandbox(this.box.name);
    assert.equal((await client.getSandboxStatus(this.box.name)).status, "stopped");
    await client.startSandbox(this.box.name);
    assert.equal((await this.box.run("cat /root/kept")).stdout, "kept\n");
  },
};

const wsChecks = {
  async "callbacks"() {
    let out = "";
    const got = await this.box.run("for i in 1 2 3; do echo $i; done", { onStdout: (data) => (out += data) });
    assert.equal(out, "1\n2\n3\n");
    assert.equal(got.stdout, out);
  },
  async "wait false and stdin"() {
    const options = { wait: false, ...(newest ? { closeInput: false } : {}) };
    const handle = await this.box.run('printf Name:; read name; echo "Hello $name"', options);
    assert.ok(handle.commandId && handle.pid > 0);
    handle.sendInput("World\n");
    assert.equal((await handle.result).stdout, "Name:Hello World\n");
  },
  async "a command that reads input ends, and later input is a typed error"() {
    // The newest client closes the input of a command unless told otherwise, the oldest leaves it open.
    const handle = await this.box.run("cat; echo ended", { wait: false });
    if (!newest) handle.kill();
    const got = await handle.result;
    assert.deepEqual([got.stdout, got.exit_code], newest ? ["ended\n", 0] : ["", 137]);
    if (newest) assert.throws(() => handle.sendInput("x"), { name: "LangSmithSandboxOperationError", message: /stdin is closed/ });
  },
  async "output of many bytes a character"() {
    const got = await this.box.run("for i in $(seq 1000); do printf '\u2615%.0s' $(seq 100); done");
    assert.equal(Buffer.byteLength(got.stdout), 300_000);
    assert.ok(!got.stdout.includes("\ufffd"));
  },
  async "kill"() {
    const handle = await this.box.run("echo started; exec sleep 98762", { wait: false });
    for await (const chunk of handle) if (chunk.data.includes("started")) handle.kill();
    assert.equal((await handle.result).exit_code, 137);
  },
  async "timeout"() {
    await rejects(this.box.run("sleep 60", { timeout: 1 }), "LangSmithCommandTimeoutError");
  },
  async "pty"() {
    const got = await this.box.run("test -t 0 && echo tty", { pty: true });
    assert.ok(got.stdout.includes("tty\r\n"));
  },
  async "reconnect from another process"() {
    const handle = await this.box.run("for i in $(seq 1 20); do echo line $i; sleep 0.05; done; exit 4", { wait: false });
    const args = [...process.argv.slice(1, 6), "reconnect", this.box.name, handle.commandId];
    const done = spawnSync(process.execPath, args, { encoding: "utf8" });
    const want = Array.from({ length: 20 }, (_, i) => `line ${i + 1}\n`).join("");
    assert.deepEqual([done.status, done.stdout], [4, want], done.stderr);
    assert.equal((await handle.result).stdout, want);
  },
  async "automatic reconnect through a cutting proxy"() {
    const cut = new api.SandboxClient({ apiEndpoint: `${proxyUrl}/v2/sandboxes` });
    const box = await cut.getSandbox(this.box.name);
    const handle = await box.run("seq 1 100000", { wait: false });
    const got = await handle.result;
    const want = Array.from({ length: 100000 }, (_, i) => `${i + 1}\n`).join("");
    const hash = (text) => createHash("sha256").update(text).digest("hex");
    assert.equal(hash(got.stdout), hash(want));
  },
  async "operation errors"() {
    await rejects(this.box.run("true", { shell: "/bin/no-such-shell" }), "LangSmithSandboxOperationError");
  },
  async "stat, range, glob, grep"() {
    if (!newest) return;
    await this.box.run("mkdir -p /tmp/w/sub; echo needle > /tmp/w/a.py; echo hay > /tmp/w/sub/b.py");
    await this.box.write("/tmp/digits", "0123456789");
    assert.equal((await this.box.stat("/tmp/digits")).size_bytes, 10);
    const part = await this.box.readRange("/tmp/digits", { start: 2, end: 4 });
    assert.equal(Buffer.from(part.content).toString(), "234");
    const found = await this.box.glob("**/*.py", "/tmp/w");
    assert.deepEqual(found.matches.map((m) => m.path).sort(), ["/tmp/w/a.py", "/tmp/w/sub/b.py"]);
    const hits = await this.box.grep("needle", "/tmp/w");
    assert.deepEqual(hits.matches.map((m) => [m.path, m.line]), [["/tmp/w/a.py", 1]]);
    const listed = await this.box.ls("/tmp/w");
    assert.deepEqual(listed.matches.map((m) => [m.path, m.is_dir]).sort(), [["/tmp/w/a.py", false], ["/tmp/w/sub", true]]);
  },
};

(async () => {
  const all = transport === "ws" ? { ...checks, ...wsChecks } : checks;
  const context = {};
  for (const [name, check] of Object.entries(all)) {
    if (!context.box && snapshotId) context.box = await create();
    let error = null;
    try {
      await check.call(context);
    } catch (caught) {
      error = caught.stack ?? String(caught);
    }
    console.log(JSON.stringify({ name, error }));
  }
  for (const name of boxes) await client.deleteSandbox(name).catch(() => {});
  process.exit(0);
})();
