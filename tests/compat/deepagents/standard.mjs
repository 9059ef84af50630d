// deepagents' suite for sandboxes in JavaScript, unmodified, on npm/cay-deepagents. The suite takes
// the words of a test runner: those here run its tests one after the other.
// Usage: node standard.mjs TREE SUITE OUT.  Prints one JSON line for each test. SUITE is the package
// as npm has it, or its sources, which become programs in OUT.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , tree, suite, out] = process.argv;
const load = createRequire(`${tree}/index.js`);
const { CaySandbox } = await import(
  pathToFileURL(`${tree}/node_modules/cay-deepagents/dist/index.js`)
);
const { expect } = load("expect");

function transpiled(folder) {
  const ts = load("typescript");
  const options = { module: "esnext", target: "es2022", verbatimModuleSyntax: true };
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!name.endsWith(".ts")) continue;
    const made = ts.transpileModule(readFileSync(join(folder, name), "utf8"), {
      compilerOptions: options,
    });
    const path = join(out, name.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, made.outputText);
  }
  return join(out, "index.js");
}

const built = join(suite, "dist/index.js");
const entry = existsSync(built) ? built : transpiled(join(suite, "src"));
const { sandboxStandardTests } = await import(pathToFileURL(entry));

const root = { path: [], before: [], after: [], tests: [], parts: [] };
let current = root;

function describe(name, fill) {
  const part = { path: [...current.path, name], before: [], after: [], tests: [], parts: [] };
  current.parts.push(part);
  const outer = current;
  current = part;
  fill();
  current = outer;
}
const it = (name, run, timeout) => current.tests.push({ name, run, timeout });
const skipped = (name) => current.tests.push({ name });
describe.skipIf = (condition) => (condition ? () => {} : describe);
it.skipIf = (condition) => (condition ? skipped : it);

async function within(run, timeout) {
  let clock;
  const late = new Promise((_, reject) => {
    clock = setTimeout(() => reject(new Error(`not within ${timeout} ms`)), timeout);
  });
  try {
    await Promise.race([run(), late]);
  } finally {
    clearTimeout(clock);
  }
}

async function play(part) {
  for (const run of part.before) await run();
  for (const { name, run, timeout } of part.tests) {
    const row = { name: [...part.path, name].join(" > "), skipped: !run };
    try {
      if (run) await within(run, timeout);
    } catch (caught) {
      row.error = caught.stack ?? String(caught);
    }
    console.log(JSON.stringify(row));
  }
  for (const one of part.parts) await play(one);
  for (const run of part.after) await run();
}

sandboxStandardTests({
  name: "CaySandbox",
  runner: {
    describe,
    it,
    expect,
    beforeAll: (run) => current.before.push(run),
    afterAll: (run) => current.after.push(run),
  },
  timeout: 60_000,
  async createSandbox(options) {
    const box = await CaySandbox.create({ create: { labels: { for: "standard tests" } } });
    const files = Object.entries(options?.initialFiles ?? {});
    if (files.length > 0) {
      await box.uploadFiles(files.map(([path, text]) => [path, Buffer.from(text)]));
    }
    return box;
  },
  // Without createUninitializedSandbox: no CaySandbox exists before its sandbox.
  closeSandbox: (box) => box.close(),
  resolvePath: (name) => `/tmp/${name}`,
});
await play(root);
process.exit(0);
