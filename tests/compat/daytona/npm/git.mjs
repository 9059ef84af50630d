// Git, with a remote that is a folder of the sandbox.
import assert from "node:assert/strict";

import { text } from "./world.mjs";

export const WHO = ["A. Writer", "a@example.com"];

export async function git_work({ box }) {
  const { git, fs } = box;
  const home = await box.getWorkDir();
  const staging = async () => (await git.status("copy")).fileStatus[0];
  await git.configureUser(...WHO);
  await git.init("origin.git", true, "main");
  await git.init("seed", false, "main");
  await git.setConfig("core.abbrev", "12", "local", "seed");
  assert.equal(await git.getConfig("core.abbrev", "local", "seed"), "12");
  await fs.uploadFile(Buffer.from("one\n"), "seed/a.txt");
  await git.add("seed", ["a.txt"]);
  assert.match((await git.commit("seed", "first", ...WHO)).sha, /^[0-9a-f]{40}$/);
  await git.remoteAdd("seed", "origin", `${home}/origin.git`);
  assert.equal(await git.remoteGet("seed", "origin"), `${home}/origin.git`);
  const { remotes } = await git.remotes("seed");
  assert.deepEqual(remotes.map((one) => one.name), ["origin"]);
  await git.push("seed", undefined, undefined, "main", "origin", true);
  await git.clone(`file://${home}/origin.git`, "copy", "main");
  await git.createBranch("copy", "next");
  await git.checkoutBranch("copy", "next");
  assert.deepEqual((await git.branches("copy")).branches.sort(), ["main", "next"]);
  await fs.uploadFile(Buffer.from("two\n"), "copy/a.txt");
  assert.equal((await git.status("copy")).currentBranch, "next");
  assert.equal((await staging()).worktree, "Modified");
  await git.restore("copy", ["a.txt"]);
  assert.equal(text(await fs.downloadFile("copy/a.txt")), "one\n");
  await fs.uploadFile(Buffer.from("new\n"), "copy/b.txt");
  await git.add("copy", ["b.txt"]);
  await git.reset("copy");
  assert.equal((await staging()).staging, "Untracked");
  await git.checkoutBranch("copy", "main");
  await git.deleteBranch("copy", "next");
  await git.commit("seed", "second", ...WHO, true);
  await git.push("seed");
  await git.pull("copy");
  const log = await box.process.executeCommand("git -C copy log -1 --format=%s");
  assert.equal(log.result, "second\n");
  await git.dangerouslyAuthenticate("user", "pass", "git.example.com", "https");
}
