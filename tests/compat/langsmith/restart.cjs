// Runs one command through the daemon's death: node restart.cjs DIR VERSION SANDBOX LINE.
// Says "begun" at the first output, so that the test knows when to kill; then prints the result as JSON.
"use strict";
const { createRequire } = require("node:module");
const { webcrypto } = require("node:crypto");
globalThis.crypto ??= webcrypto; // Node 18, Debian 12's, lacks it

const [dir, version, sandbox, line] = process.argv.slice(2);
const load = createRequire(`${dir}/index.js`);
const api = load(version === "0.5.22" ? "langsmith/experimental/sandbox" : "langsmith/sandbox");

(async () => {
  const box = await new api.SandboxClient().getSandbox(sandbox);
  let begun = false;
  const got = await box.run(line, {
    timeout: 120,
    onStdout: () => {
      if (!begun) process.stdout.write("begun\n");
      begun = true;
    },
  });
  process.stdout.write(JSON.stringify({ stdout: got.stdout, code: got.exit_code }) + "\n");
  process.exit(0);
})();
