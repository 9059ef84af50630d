// Drives every method of Daytona's npm client, unmodified, against the daemon named by
// DAYTONA_API_URL. Usage: node every_method.mjs SETTINGS.  Tells one JSON line for each check, and
// last the calls of each method.
import { createRequire } from "node:module";

import { counts, listen, watch } from "./recorder.mjs";
import { everything, run, settings, tell } from "./world.mjs";
import { failure_is_recovered, copies, life, links_and_facts, stores } from "./sandboxes.mjs";
import { contexts, files, processes, sessions, terminals } from "./toolbox.mjs";
import { git_work } from "./git.mjs";
import { language_servers } from "./language.mjs";
import { no_desktop } from "./desktop.mjs";

const sdk = await everything();
listen(createRequire(`${settings.package}/`)("isomorphic-ws"));
watch(sdk, settings.surface);
const client = new sdk.Daytona();
const name = `every-npm-${Date.now()}`;
const box = await client.create({ name, language: "python", labels: { suite: name } });
const world = { client, box, name, Image: sdk.Image };
const checks = [life, failure_is_recovered, copies, stores, links_and_facts, files, processes];
checks.push(sessions, terminals, contexts, git_work, language_servers, no_desktop);
await run(checks, world);
await box.delete();
tell(counts());
// An answer that nobody read to its end keeps Node alive until the daemon ends the connection.
process.exit();
