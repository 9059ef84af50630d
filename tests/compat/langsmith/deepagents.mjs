// Drives npm's deepagents, unmodified, by its own LangSmith backend against the daemon named by LANGSMITH_ENDPOINT.
// Usage: node deepagents.mjs DIR.  Prints one JSON line for each check.
import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { createRequire } from "node:module";

globalThis.crypto ??= webcrypto; // Node 18, Debian 12's, lacks it

const load = createRequire(`${process.argv[2]}/index.js`);
const { LangSmithSandbox, createDeepAgent } = load("deepagents");
const { FakeListChatModel } = load("@langchain/core/utils/testing");
const { AIMessage, HumanMessage } = load("@langchain/core/messages");

// Answers with one message of its script after the other.
class Scripted extends FakeListChatModel {
  constructor(script) {
    super({ responses: [""] });
    this.script = script;
  }
  bindTools() {
    return this;
  }
  async _generate() {
    const message = this.script.shift();
    return { generations: [{ text: message.text, message }] };
  }
}

const box = await LangSmithSandbox.create({ templateName: "default" });

const checks = {
  async execute() {
    const got = await box.execute("cat; echo out; echo err >&2; exit 3", { timeout: 60 });
    assert.deepEqual([got.output, got.exitCode], ["out\n\nerr\n", 3]);
  },
  async files() {
    assert.equal((await box.write("/srv/agent/src/a.py", "one\ntwo\nthree\n")).error, undefined);
    assert.equal((await box.edit("/srv/agent/src/a.py", "two", "2 \u2615")).occurrences, 1);
    assert.match((await box.read("/srv/agent/src/a.py", 1, 1)).content, /2 \u2615/);
    assert.equal((await box.readRaw("/srv/agent/src/a.py")).data.content, "one\n2 \u2615\nthree\n");
    assert.match((await box.edit("/srv/agent/src/a.py", "nowhere", "x")).error, /not found/);
    assert.deepEqual((await box.ls("/srv/agent")).files.map((one) => [one.path, one.is_dir]), [["/srv/agent/src/", true]]);
    assert.deepEqual((await box.glob("**/*.py", "/srv/agent")).files.map((one) => one.path), ["src/a.py"]);
    const hits = (await box.grep("three", "/srv/agent")).matches;
    assert.deepEqual(hits.map((one) => [one.path, one.line, one.text]), [["/srv/agent/src/a.py", 3, "three"]]);
    assert.equal((await box.delete("/srv/agent/src")).error, undefined);
    assert.match((await box.read("/srv/agent/src/a.py")).error, /not found/);
  },
  async "uploads and downloads"() {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    const large = Buffer.alloc(10 << 20, bytes);
    const up = await box.uploadFiles([["/in/bytes", bytes], ["/in/large", large]]);
    assert.deepEqual(up.map((one) => [one.path, one.error]), [["/in/bytes", null], ["/in/large", null]]);
    const down = await box.downloadFiles(["/in/large", "/in", "/in/none", "/in/bytes"]);
    assert.deepEqual(down.map((one) => one.error), [null, "is_directory", "file_not_found", null]);
    assert.ok(large.equals(down[0].content) && Buffer.from(bytes).equals(down[3].content));
  },
  async "an agent works with its tools"() {
    const calls = [
      ["write_file", { file_path: "/job/sum.py", content: "print(sum(range(10)))\n" }],
      ["edit_file", { file_path: "/job/sum.py", old_string: "10", new_string: "11" }],
      ["execute", { command: "cd /job && python3 sum.py" }],
      ["read_file", { file_path: "/job/sum.py" }],
      ["grep", { pattern: "range", path: "/job" }],
    ];
    const script = calls.map(([name, args]) => new AIMessage({ content: "", tool_calls: [{ name, args, id: name }] }));
    const agent = createDeepAgent({ model: new Scripted([...script, new AIMessage("done")]), backend: box });
    const { messages } = await agent.invoke({ messages: [new HumanMessage("sum it up")] });
    const told = Object.fromEntries(messages.filter((one) => one.tool_call_id).map((one) => [one.tool_call_id, one.text]));
    assert.deepEqual(Object.keys(told), calls.map(([name]) => name));
    assert.match(told.execute, /^55\n/);
    assert.match(told.read_file, /range\(11\)/);
    assert.match(told.grep, /\/job\/sum\.py/);
    assert.equal(messages.at(-1).text, "done");
  },
  async "stop and start"() {
    await box.stop();
    await box.start();
    assert.equal((await box.execute("cat /job/sum.py")).output, "print(sum(range(11)))\n");
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
