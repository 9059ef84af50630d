// Sandboxes, their copies, and the stores beside them.
import assert from "node:assert/strict";

import { all, ask, refused, text, until } from "./world.mjs";

export async function life({ client, box, name }) {
  assert.equal(box.state, "started");
  assert.equal((await client.get(box.id)).name, name);
  const listed = await all(client.list({ labels: { suite: name } }));
  assert.deepEqual([listed.length, listed[0].id], [1, box.id]);
  assert.equal((await box.setLabels({ suite: name, step: "two" })).step, "two");
  await box.setAutostopInterval(30);
  await box.setAutoPauseInterval(0);
  await box.setAutoArchiveInterval(60);
  await box.setAutoDeleteInterval(-1);
  await box.setTtl(600);
  await box.refreshData();
  assert.deepEqual([box.autoStopInterval, box.autoArchiveInterval], [30, 60]);
  assert.ok(box.autoDestroyAt);
  await box.refreshActivity();
  await box.fs.uploadFile(Buffer.from("kept"), "kept.txt");
  const other = await client.get(box.id); // knows nothing of the changes, so its waits ask
  await client.stop(box);
  assert.equal(box.state, "stopped");
  await other.waitUntilStopped();
  await box.resize({ cpu: 1, memory: 3 });
  await box.waitForResizeComplete();
  assert.equal(box.memory, 3);
  await box.archive();
  await client.start(box);
  await other.waitUntilStarted();
  assert.equal(other.state, "started");
  await box.stop();
  await box.start();
  await box.pause();
  assert.equal(box.state, "paused");
  await box.start();
  assert.equal(text(await box.fs.downloadFile("kept.txt")), "kept");
  await box.updateEnv({ FROM_ENV: "seen" });
  assert.equal((await box.process.executeCommand("echo $FROM_ENV")).result, "seen\n");
  await box.updateNetworkSettings({ domainAllowList: "pypi.org,*.pypi.org" });
  assert.equal((await client.get(box.id)).domainAllowList, "pypi.org,*.pypi.org");
}

export async function failure_is_recovered({ client, name }) {
  const box = await client.create({ name: `${name}-failed` });
  await box.fs.uploadFile(Buffer.from("whole"), "whole.txt");
  await refused(box.recover(), /error state/);
  await ask("kill", box.id);
  await until(async () => {
    await box.refreshData();
    return box.state === "error";
  }, "the sandbox failed");
  await box.recover();
  assert.equal(box.state, "started");
  assert.equal(text(await box.fs.downloadFile("whole.txt")), "whole");
  await box.delete();
}

export async function copies({ client, box, name, Image }) {
  for (const [nth, make] of [
    (to) => box.fork({ name: to }),
    (to) => client.fork(box, { name: to }),
  ].entries()) {
    const fork = await make(`${name}-fork-${nth}`);
    assert.equal(text(await fork.fs.downloadFile("kept.txt")), "kept");
    await client.delete(fork);
    assert.equal((await refused(client.get(fork.id))).statusCode, 404);
  }
  await box.createSnapshot(`${name}-copy`);
  const snapshot = await client.snapshot.get(`${name}-copy`);
  assert.equal(snapshot.state, "active");
  assert.equal((await client.snapshot.activate(snapshot)).name, snapshot.name);
  const { items } = await client.snapshot.list(1, 100);
  assert.ok(items.some((one) => one.name === snapshot.name));
  await client.snapshot.delete(snapshot);
  const image = Image.base("default").runCommands("echo built >/built.txt");
  const lines = [];
  const made = await client.snapshot.create(
    { name: `${name}-built`, image },
    { onLogs: (one) => lines.push(one) },
  );
  assert.equal(made.state, "active");
  const other = await client.create({ snapshot: made.name });
  assert.equal(text(await other.fs.downloadFile("/built.txt")), "built\n");
  await client.delete(other);
  await client.snapshot.delete(made);
  const logged = await client.create(
    { image, resources: { cpu: 1, memory: 1 } },
    { timeout: 120, onSnapshotCreateLogs: (one) => lines.push(one) },
  );
  assert.equal(text(await logged.fs.downloadFile("/built.txt")), "built\n");
  await client.delete(logged);
}

export async function stores({ client, box, name }) {
  const volume = await client.volume.create(name);
  assert.equal((await client.volume.get(name)).id, volume.id);
  assert.ok((await client.volume.list()).some((one) => one.name === name));
  await client.volume.delete(volume);
  const hosts = ["api.example.com"];
  const secret = await client.secret.create({ name, value: "hush-hush-1", hosts });
  assert.equal((await client.secret.get(secret.id)).name, name);
  assert.ok((await client.secret.list()).items.some((one) => one.name === name));
  assert.equal((await client.secret.update(secret.id, { value: "hush-hush-2" })).id, secret.id);
  await box.updateSecrets({ TOKEN: name });
  const seen = (await box.process.executeCommand("echo $TOKEN")).result.trim();
  assert.ok(seen && !seen.includes("hush"));
  await box.updateSecrets({});
  await client.secret.delete(secret.id);
  assert.deepEqual(await client.warmPool.list(), []);
  await refused(client.warmPool.create({ snapshot: "default", pool: 2 }), /pool/);
  await refused(client.warmPool.update("none", { pool: 2 }), /pool/);
  await refused(client.warmPool.delete("none"), /pool/);
}

export async function links_and_facts({ client, box }) {
  const home = await box.getUserHomeDir();
  assert.deepEqual([await box.getWorkDir(), await box.getUserRootDir()], [home, home]);
  const latest = await box.getMetricsLatest();
  assert.ok(latest.memTotal > 0 && latest.timestamp instanceof Date);
  assert.ok((await box.getMetrics()).at(-1).memTotal > 0);
  const link = await box.getPreviewLink(8123);
  assert.ok(link.token && link.url.startsWith("http"));
  const signed = await box.getSignedPreviewUrl(8123, 60);
  assert.ok(signed.token);
  await box.expireSignedPreviewUrl(8123, signed.token);
  const body = new FormData();
  body.append("file", new Blob(["sent up"]), "up.txt");
  const up = await fetch(await box.uploadUrl("up.txt"), { method: "POST", body });
  assert.equal(up.status, 200);
  const other = await client.get(box.id); // has no signing key yet
  const down = await other.downloadUrl("up.txt", 60);
  assert.equal(await (await fetch(down)).text(), "sent up");
  await box.rotateSigningKey();
  assert.ok([401, 403].includes((await fetch(down)).status));
  await refused(box.createSshAccess(5), /SSH/);
  await refused(box.revokeSshAccess("none"), /SSH/);
  await refused(box.validateSshAccess("none"), /SSH/);
}
