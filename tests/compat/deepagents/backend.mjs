// npm/cay-deepagents, installed from the tree, against the daemon named by CAY_URL.
// Usage: node backend.mjs DIR.  Prints one JSON line for each check.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const load = createRequire(`${process.argv[2]}/index.js`);
const { createDeepAgent, isSandboxBackend } = await import(
  pathToFileURL(load.resolve("deepagents"))
);
const here = `${process.argv[2]}/node_modules/cay-deepagents/dist/index.js`;
const { CaySandbox } = await import(pathToFileURL(here));

const box = await CaySandbox.create({ create: { labels: { for: "test" } } });
const text = (n) => Array.from({ length: n }, (_, i) => `line ${i + 1}\n`).join("");

const checks = {
  async execute() {
    assert.ok(isSandboxBackend(box) && box.isRunning);
    const got = await box.execute("for i in 1 2; do echo out $i; echo err $i >&2; done; exit 3");
    assert.deepEqual(got, {
      output: "out 1\nerr 1\nout 2\nerr 2\n",
      exitCode: 3,
      truncated: false,
    });
    assert.equal((await box.execute("[[ a == a ]] && echo bash")).output, "bash\n");
    const late = await box.execute("echo begun; sleep 1000", { timeout: 1 });
    assert.equal(late.exitCode, 124);
    assert.equal(late.output, "begun\nError: Command timed out after 1 seconds.");
  },
  async read() {
    await box.write("/r/a.txt", text(300));
    const got = await box.read("/r/a.txt", 99, 2);
    assert.equal(got.content, "line 100\nline 101"); // raw: the tool numbers the lines
    assert.deepEqual(
      [got.startLine, got.endLine, got.totalLines, got.nextOffset],
      [100, 101, 300, 101],
    );
    const last = await box.read("/r/a.txt", 299, 50);
    assert.deepEqual([last.content, last.nextOffset], ["line 300", undefined]);
    assert.equal((await box.read("/r/a.txt", 0, 0)).content, "");
    assert.equal((await box.read("/r/a.txt", 300)).content, "");
    await box.uploadFiles([["/r/large", Buffer.from("y\n".repeat(2_000_000))]]);
    const page = await box.read("/r/large", 10, 2);
    assert.deepEqual([page.content, page.totalLines, page.nextOffset], ["y\ny", undefined, 12]);
    assert.match((await box.read("/r/none")).error, /not found/);
    assert.match((await box.read("/r")).error, /is_a_directory/);
    const raw = await box.readRaw("/r/a.txt");
    assert.deepEqual([raw.data.content, raw.data.mimeType], [text(300), "text/plain"]);
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    await box.uploadFiles([
      ["/r/a.png", bytes],
      ["/r/latin", bytes],
    ]);
    for (const [name, type] of [
      ["/r/a.png", "image/png"],
      ["/r/latin", "application/octet-stream"],
    ]) {
      const binary = await box.read(name);
      assert.equal(binary.mimeType, type);
      assert.ok(Buffer.from(bytes).equals(binary.content));
    }
  },
  async "ls, glob and grep"() {
    await box.uploadFiles(
      ["a.py", "sub/b.py", ".hidden"].map((one) => [`/t/${one}`, Buffer.from("needle\nx\n")]),
    );
    const names = (got) => got.map((one) => one.path).sort();
    assert.deepEqual(names((await box.ls("/t")).files), ["/t/.hidden", "/t/a.py", "/t/sub/"]);
    assert.deepEqual((await box.ls("/none")).files, []);
    assert.deepEqual(names((await box.glob("**/*.py", "/t")).files), ["a.py", "sub/b.py"]);
    assert.deepEqual(names((await box.glob("*", "/t")).files), ["a.py", "sub"]);
    const { matches, truncated } = await box.grep("needle", "/t", "*.py");
    assert.deepEqual(matches, [
      { path: "/t/a.py", line: 1, text: "needle" },
      { path: "/t/sub/b.py", line: 1, text: "needle" },
    ]);
    assert.equal(truncated, false);
    assert.equal((await box.grep("needle", "/t", null, 1)).truncated, true);
    assert.deepEqual((await box.grep("n..dle", "/t")).matches, []);
  },
  async "edit and delete"() {
    await box.write("/e/a", "apple pear apple\n");
    assert.match((await box.edit("/e/a", "apple", "fig")).error, /Multiple occurrences/);
    assert.equal((await box.edit("/e/a", "pear", "$& $1")).occurrences, 1);
    assert.equal((await box.edit("/e/a", "apple", "fig", true)).occurrences, 2);
    assert.equal((await box.execute("cat /e/a")).output, "fig $& $1 fig\n");
    assert.match((await box.edit("/e/a", "apple", "x")).error, /not found/);
    assert.match((await box.edit("/e/none", "a", "b")).error, /not found/);
    await box.uploadFiles([["/e/crlf", Buffer.from("one\r\ntwo\r\n")]]);
    await box.edit("/e/crlf", "one\ntwo", "1\n2");
    assert.equal(
      (await box.execute("od -c /e/crlf | head -1")).output.split(/\s+/).join(" "),
      "0000000 1 \\r \\n 2 \\r \\n ",
    );
    const long = "a".repeat(70_000);
    await box.write("/e/long", `<${long}>`);
    assert.equal((await box.edit("/e/long", long, "b")).occurrences, 1);
    assert.equal((await box.execute("cat /e/long")).output, "<b>");
    assert.equal((await box.delete("/e")).path, "/e");
    assert.match((await box.delete("/e")).error, /not found/);
  },
  async "uploads and downloads"() {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    const large = Buffer.alloc(10 << 20, bytes);
    const up = await box.uploadFiles([
      ["/in/bytes", bytes],
      ["relative", bytes],
      ["/in/large", large],
    ]);
    assert.deepEqual(
      up.map((one) => one.error),
      [null, "invalid_path", null],
    );
    const down = await box.downloadFiles(["/in/large", "/in", "/in/none", "relative", "/in/bytes"]);
    assert.deepEqual(
      down.map((one) => one.error),
      [null, "is_directory", "file_not_found", "invalid_path", null],
    );
    assert.ok(large.equals(down[0].content) && Buffer.from(bytes).equals(down[4].content));
  },
  async "failures of the infrastructure"() {
    await assert.rejects(CaySandbox.attach("no-such-sandbox"), { reason: "sandbox_not_found" });
    await assert.rejects(CaySandbox.create({ key: "wrong" }), { code: "unauthenticated" });
    const same = await CaySandbox.attach(box.id);
    await same.close();
    assert.deepEqual([same.isRunning, (await box.execute("true")).exitCode], [false, 0]);
    const gone = await CaySandbox.create();
    await gone.close();
    await assert.rejects(async () => gone.execute("true"), { code: "not_found" });
  },
  async "a sandbox for each thread"() {
    const turns = await Promise.all([1, 2, 3].map(() => CaySandbox.ensure("thread:in node")));
    assert.equal(new Set(turns.map((one) => one.id)).size, 1);
    assert.equal(turns.filter((one) => one.created).length, 1);
    await Promise.all(turns.map((one) => one.close()));
    const later = await CaySandbox.ensure("thread:in node");
    assert.deepEqual([later.id, later.created], [turns[0].id, false]);
  },
  async "an agent finishes a task with all tools"() {
    const agent = createDeepAgent({ model: process.env.MODEL, backend: box });
    const { messages } = await agent.invoke({ messages: [{ role: "user", content: "sum it up" }] });
    const results = messages.filter((one) => one.tool_call_id);
    console.log(
      JSON.stringify({
        agent: results.map((one) => [one.name, one.text]),
        last: messages.at(-1).text,
      }),
    );
  },
};

for (const [name, check] of Object.entries(checks)) {
  let error = null;
  try {
    await check();
  } catch (caught) {
    error = caught.stack ?? String(caught);
  }
  console.log(JSON.stringify({ name, error }));
}
await box.close();
process.exit(0);
