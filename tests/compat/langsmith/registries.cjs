// The npm client, unmodified, with a registry that wants a login.
// Usage: node registries.cjs DIR IMAGE USER PASSWORD.  Prints one JSON line for each check.
"use strict";
const { createRequire } = require("node:module");
const { webcrypto, randomBytes } = require("node:crypto");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

globalThis.crypto ??= webcrypto; // Node 18, Debian 12's, lacks it

const [dir, image, username, password] = process.argv.slice(2);
const api = createRequire(`${dir}/index.js`)("langsmith/sandbox");
const client = new api.SandboxClient();
const name = `npm-${randomBytes(4).toString("hex")}`;
const boxes = [];
const snapshots = [];
let registry;

const checks = {
  async "a registry is kept and shown without its login"() {
    registry = await client.registries.create({
      name,
      url: image.split("/")[0],
      username,
      password,
    });
    const listed = (await client.registries.list()).registries;
    assert.ok(listed.some((one) => one.id === registry.id));
    assert.ok(!JSON.stringify(listed).includes(password));
  },
  async "a snapshot is built with it, installed into and captured"() {
    const made = await client.createSnapshot(name, image, 2 ** 31, {
      registryId: registry.id,
      runConfig: { user: "0" },
    });
    snapshots.push(made.id);
    assert.equal(made.status, "ready");
    const box = await client.createSandbox(made.id);
    boxes.push(box.name);
    await box.write("/bin/greet", "#!/bin/sh\necho installed\n");
    assert.equal((await box.run("chmod +x /bin/greet && greet")).stdout, "installed\n");
    const captured = await client.captureSnapshot(box.name, `${name}-captured`);
    snapshots.push(captured.id);
    const copy = await client.createSandbox(captured.id);
    boxes.push(copy.name);
    assert.equal((await copy.run("greet; cat /srv/note")).stdout, "installed\nof the image\n");
  },
  async "a Dockerfile is built"() {
    const context = fs.mkdtempSync(path.join(os.tmpdir(), "cay-context-"));
    fs.writeFileSync(path.join(context, "Dockerfile"), `FROM ${image}\nENV BUILT=yes\n`);
    const made = await client.createSnapshotFromDockerfile(`${name}-built`, "Dockerfile", {
      context,
      timeout: 120,
    });
    fs.rmSync(context, { recursive: true });
    snapshots.push(made.id);
    const box = await client.createSandbox(made.id);
    boxes.push(box.name);
    assert.equal((await box.run("echo $BUILT; cat /srv/note")).stdout, "yes\nof the image\n");
  },
  async "an image of another host does not get the login"() {
    const building = client.createSnapshot(`${name}-other`, "127.0.0.1:9/x", 2 ** 31, {
      registryId: registry.id,
    });
    await assert.rejects(building, (error) => /is not of the registry/.test(error.message));
  },
};

(async () => {
  for (const [what, check] of Object.entries(checks)) {
    let error = null;
    try {
      await check();
    } catch (caught) {
      error = caught.stack ?? String(caught);
      process.exitCode = 1;
    }
    console.log(JSON.stringify({ name: what, error }));
  }
  for (const box of boxes) await client.deleteSandbox(box);
  for (const id of snapshots) await client.deleteSnapshot(id);
  if (registry) await client.registries.delete(name);
})();
