// What the programs share: the client's modules, what they tell the test, and their checks.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

/** What the test gave: {package, surface, ...}. */
export const settings = JSON.parse(readFileSync(process.argv[2]));
const lines = createInterface({ input: process.stdin });
lines.pause();

/** Tells the test one JSON line. */
export const tell = (one) => console.log(JSON.stringify(one));

/** Has the test do `what` to the sandbox `id`, and waits until it is done. */
export async function ask(what, id) {
  tell({ ask: what, id });
  lines.resume();
  await once(lines, "line");
  lines.pause();
}

/** Runs each check and tells how it ended. Returns when all are done. */
export async function run(checks, ...given) {
  for (const check of checks) {
    const begun = performance.now();
    let error = null;
    try {
      await check(...given);
    } catch (caught) {
      error = caught?.stack ?? String(caught);
    }
    tell({ name: check.name, error, ms: Math.round(performance.now() - begun) });
  }
  lines.close();
}

/** Returns what all modules of the client export, by name. The package itself exports less. */
export async function everything() {
  const folder = `${settings.package}/esm`;
  const files = readdirSync(folder).filter((one) => one.endsWith(".js"));
  const modules = await Promise.all(files.map((one) => import(`${folder}/${one}`)));
  return Object.assign({}, ...modules);
}

export const text = (bytes) => Buffer.from(bytes).toString();

export async function all(iterator) {
  const out = [];
  for await (const one of iterator) out.push(one);
  return out;
}

/** The promise fails. Returns the error, whose message `pattern` matches. */
export async function refused(promise, pattern = /./) {
  const error = await promise.then(
    () => assert.fail(`nothing was raised, wanted ${pattern}`),
    (caught) => caught,
  );
  assert.match(String(error.message), pattern);
  return error;
}

export async function until(look, what) {
  for (let left = 300; left > 0; left -= 1) {
    if (await look()) return;
    await sleep(100);
  }
  assert.fail(`never: ${what}`);
}
