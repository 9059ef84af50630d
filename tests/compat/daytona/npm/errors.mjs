// Each exception of Daytona's npm client that Cay can cause, once, by its own class.
// Usage: node errors.mjs SETTINGS.  Tells one JSON line for each check, and last the names of the
// classes that there are, and of those that were raised: a class's bases count as raised, too.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";

import { WHO } from "./git.mjs";
import { ask, run, settings, tell, until } from "./world.mjs";

const sdk = await import(`${settings.package}/esm/index.js`);
const client = new sdk.Daytona();
const box = await client.create({ language: "python" });
const { fs, git, process: shell } = box;
const seen = new Set();

function lineage(kind) {
  const of = [];
  for (let one = kind; one?.prototype instanceof Error; one = Object.getPrototypeOf(one))
    of.push(one.name);
  return of;
}

/** The promise fails with exactly this class. Returns the error. */
async function raises(kind, promise) {
  const error = await promise.then(
    () => assert.fail(`nothing was raised, wanted ${kind}`),
    (caught) => caught,
  );
  assert.equal(error.constructor.name, kind, `${error.constructor.name}: ${error.message}`);
  for (const one of lineage(sdk[kind])) seen.add(one);
  return error;
}

/** A client of another daemon, or by another key. */
const there = (config) => new sdk.Daytona({ apiUrl: process.env.DAYTONA_API_URL, ...config });

async function the_callers_faults() {
  const fault = await raises("DaytonaValidationError", shell.executeCommand(""));
  assert.deepEqual([fault.statusCode, fault.code], [400, "INVALID_REQUEST_BODY"]);
  assert.equal(fault.source, sdk.SOURCE_DAEMON);
  const name = `none-${box.id}`;
  const missing = await raises("DaytonaNotFoundError", client.get(name));
  assert.deepEqual([missing.statusCode, missing.source], [404, sdk.SOURCE_API]);
  assert.ok(missing.message.includes(name));
  const volume = await client.volume.create(name);
  await raises("DaytonaConflictError", client.volume.create(name));
  await client.volume.delete(volume);
  await raises("DaytonaAuthenticationError", there({ apiKey: "dtn_wrong" }).get(box.id));
  const reader = there({ apiKey: settings.reader });
  assert.equal((await reader.get(box.id)).id, box.id);
  await raises("DaytonaAuthorizationError", reader.create());
}

async function faults_of_files() {
  await raises("DaytonaFileNotFoundError", fs.downloadFile("none.txt"));
  await raises("DaytonaFileNotFoundError", fs.getFileDetails("none.txt"));
  await raises("DaytonaFileAccessDeniedError", fs.listFiles("/proc/1/fd"));
  await raises("DaytonaInvalidFilePathError", fs.downloadFile("/tmp"));
}

async function faults_of_processes() {
  const slow = shell.executeCommand("sleep 30", undefined, undefined, 1);
  const fault = await raises("DaytonaProcessExecutionTimeoutError", slow);
  assert.deepEqual([fault.statusCode, fault.code], [408, "PROCESS_EXECUTION_TIMEOUT"]);
  await raises("DaytonaProcessNotFoundError", shell.getSession("none"));
  await raises("DaytonaProcessNotFoundError", shell.getPtySessionInfo("none"));
  await shell.createSession("s");
  await raises("DaytonaConflictError", shell.createSession("s"));
  const done = await shell.executeSessionCommand("s", { command: "true" });
  const late = shell.sendSessionCommandInput("s", done.cmdId, "late");
  await raises("DaytonaCommandAlreadyCompletedError", late);
  await shell.executeSessionCommand("s", { command: "exit 3" });
  const more = shell.executeSessionCommand("s", { command: "true" });
  await raises("DaytonaSessionEndedError", more);
  // This client takes the server's "interrupted" for an end, as of the vendor's own server.
  const cut = await box.codeInterpreter.runCode("while 1: pass", { timeout: 1 });
  assert.deepEqual([cut.stdout, cut.stderr], ["", ""]);
  await raises("DaytonaTimeoutError", box.waitUntilStopped(0.5));
  const server = await box.createLspServer("python", "p");
  await raises("DaytonaLspServerNotInitializedError", server.documentSymbols("p/a.py"));
}

async function faults_of_screens() {
  const { accessibility, recording } = box.computerUse;
  await raises("DaytonaA11yUnavailableError", accessibility.getTree());
  await raises("DaytonaRecordingFfmpegNotFoundError", recording.start());
}

async function committed(copy, content) {
  await fs.uploadFile(Buffer.from(content), `${copy}/a.txt`);
  await git.add(copy, ["a.txt"]);
  await git.commit(copy, "change", ...WHO);
}

async function faults_of_a_repository() {
  await git.configureUser(...WHO);
  await git.init("e/seed", false, "main");
  await committed("e/seed", "one\n");
  await shell.executeCommand("git clone -q --bare e/seed e/origin.git");
  const home = await box.getWorkDir();
  for (const copy of ["e/one", "e/two"]) await git.clone(`file://${home}/e/origin.git`, copy);
  await raises("DaytonaGitRepoNotFoundError", git.status("/tmp"));
  await raises("DaytonaGitBranchNotFoundError", git.checkoutBranch("e/one", "none"));
  await git.createBranch("e/one", "there");
  await raises("DaytonaGitBranchExistsError", git.createBranch("e/one", "there"));
  await committed("e/one", "other\n");
  await git.checkoutBranch("e/one", "main");
  await fs.uploadFile(Buffer.from("by hand\n"), "e/one/a.txt");
  await raises("DaytonaGitDirtyWorktreeError", git.checkoutBranch("e/one", "there"));
  await git.restore("e/one", ["a.txt"]);
}

async function faults_of_a_remote() {
  await committed("e/one", "of one\n");
  await git.push("e/one");
  await committed("e/two", "of two\n");
  await raises("DaytonaGitPushRejectedError", git.push("e/two"));
  await raises("DaytonaGitMergeConflictError", git.pull("e/two"));
  await shell.executeCommand("git -C e/two reset -q --hard origin/main");
  await fs.uploadFile(Buffer.from("#!/bin/sh\nexit 1\n"), "e/origin.git/hooks/pre-receive");
  await fs.setFilePermissions("e/origin.git/hooks/pre-receive", { mode: "755" });
  await committed("e/two", "again\n");
  await raises("DaytonaGitRemoteRejectedError", git.push("e/two"));
  const nowhere = git.clone("http://127.0.0.1:9/none.git", "e/none");
  await raises("DaytonaGitTransportFailedError", nowhere);
  await fs.uploadFile(Buffer.from(settings.refusing), "e/refuse.py");
  await shell.executeCommand(settings.begin_refusing);
  const secret = git.clone(`${settings.refuser}/x.git`, "e/secret", undefined, undefined, "u", "p");
  await raises("DaytonaGitAuthFailedError", secret);
}

async function too_many_requests() {
  const limited = there(settings.limited);
  const many = Array.from({ length: 40 }, () => limited.get("none"));
  const reasons = (await Promise.allSettled(many)).map((one) => one.reason);
  const refused = reasons.find((one) => one.statusCode === 429);
  const fault = await raises("DaytonaRateLimitError", Promise.reject(refused ?? reasons[0]));
  assert.equal(fault.statusCode, 429);
}

async function a_drained_host() {
  const fault = await raises("DaytonaServiceUnavailableError", there(settings.drained).create());
  assert.equal(fault.statusCode, 503);
}

async function a_server_that_is_silent_or_gone() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const config = { apiKey: "k", apiUrl: `http://127.0.0.1:${server.address().port}/daytona` };
  const silent = there({ ...config, requestTimeoutMs: 1000 });
  await raises("DaytonaConnectionTimeoutError", silent.get("none"));
  server.close();
  await raises("DaytonaConnectionError", there(config).get("none"));
}

async function a_sandbox_that_stops_or_is_lost() {
  for (const [kind, end] of [
    ["DaytonaInternalServerError", (one) => ask("kill", one.id)],
    ["DaytonaGoneError", (one) => one.stop()],
  ]) {
    const other = await client.create();
    const running = other.process.executeCommand("touch /tmp/begun; sleep 600");
    const raised = raises(kind, running);
    raised.catch(() => {}); // awaited below
    const begun = async () =>
      (await other.process.executeCommand("test -e /tmp/begun")).exitCode === 0;
    await until(begun, "the command's file");
    await end(other);
    await raised;
    await other.delete();
  }
}

const checks = [the_callers_faults, faults_of_files, faults_of_processes, faults_of_screens];
checks.push(faults_of_a_repository, faults_of_a_remote, too_many_requests, a_drained_host);
checks.push(a_server_that_is_silent_or_gone, a_sandbox_that_stops_or_is_lost);
await run(checks);
await box.delete();
const kinds = Object.keys(sdk).filter((one) => lineage(sdk[one]).includes("DaytonaError"));
tell({ kinds, seen: [...seen] });
process.exit(); // what the silent server accepted is open
