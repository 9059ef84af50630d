// The official TypeScript client of MCP against the real daemon: client.mjs TREE http|stdio
// It prints "ok" once the whole story has passed.
import assert from "node:assert/strict";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [tree, transport] = process.argv.slice(2);
const load = (name) =>
  import(pathToFileURL(path.join(tree, "node_modules/@modelcontextprotocol/sdk/dist/esm", name)));
const { Client } = await load("client/index.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const { StdioClientTransport } = await load("client/stdio.js");

const connection = () =>
  transport === "http"
    ? new StreamableHTTPClientTransport(new URL("/mcp", process.env.CAY_URL), {
        requestInit: { headers: { Authorization: `Bearer ${process.env.CAY_API_KEY}` } },
      })
    : new StdioClientTransport({
        command: process.env.CAY_PROGRAM,
        args: ["mcp"],
        env: { CAY_URL: process.env.CAY_URL, CAY_API_KEY: process.env.CAY_API_KEY },
      });

const client = new Client({ name: "cay-test", version: "1" });
await client.connect(connection());
const use = (name, args, options) =>
  client.callTool({ name, arguments: args }, undefined, options);
const text = (result) => result.content[0].text;

const { tools } = await client.listTools();
assert.ok(tools.some((tool) => tool.name === "run" && tool.annotations.destructiveHint));
assert.ok(tools.some((tool) => tool.name === "read_file" && tool.annotations.readOnlyHint));

const sandbox = (await use("create_sandbox", {})).structuredContent.sandbox.name;
try {
  const program = "print(sum(range(101)))\n";
  await use("write_file", { sandbox, path: "/root/p.py", content: program });
  const seen = [];
  const ran = await use(
    "run",
    {
      sandbox,
      command: "python3 /root/p.py | tee /root/out; until [ -e /root/go ]; do sleep 0.05; done",
    },
    {
      onprogress: (progress) => {
        seen.push(progress.message);
        use("write_file", { sandbox, path: "/root/go", content: "1" });
      },
    },
  );
  assert.equal(text(ran), "5050\n");
  assert.deepEqual(seen, ["5050\n"]);
  assert.equal(text(await use("read_file", { sandbox, path: "/root/out" })), "5050\n");
  const failed = await use("run", { sandbox, command: "exit 4" });
  assert.equal(failed.isError, true);
  assert.equal(failed.structuredContent.exit_code, 4);
  const copy = (await use("fork", { sandbox })).structuredContent.sandboxes[0].name;
  assert.equal(text(await use("read_file", { sandbox: copy, path: "/root/out" })), "5050\n");
  await use("delete_sandbox", { sandbox: copy });
  await assert.rejects(use("run", { sandbox: 1 }), { code: -32602 });

  // A cancellation ends the command: the file that it makes at its end is not there.
  const controller = new AbortController();
  const cancelled = use(
    "run",
    { sandbox, command: "echo up; sleep 1000" },
    { signal: controller.signal, onprogress: () => controller.abort() },
  );
  await assert.rejects(cancelled);
  for (;;) {
    const left = await use("run", { sandbox, command: "pgrep -x sleep || true" });
    if (text(left).startsWith("[no output")) break;
  }
} finally {
  await use("delete_sandbox", { sandbox });
}
await client.close();
console.log("ok");
