// A language server of Python's, from the tests' own environment.
import assert from "node:assert/strict";

import { refused, settings } from "./world.mjs";

export async function language_servers({ box }) {
  await box.fs.createFolder("p", "755");
  const none = await box.createLspServer("typescript", "p");
  await refused(none.start(), /typescript-language-server/);
  await refused(none.documentSymbols("p/a.ts"), /not initialized/);
  await box.fs.uploadFile(settings.pylsp, "/tmp/pylsp.tgz");
  assert.equal((await box.process.executeCommand(settings.unpack)).exitCode, 0);
  await box.fs.uploadFile(Buffer.from(settings.source), "p/a.py");
  const server = await box.createLspServer("python", "p");
  await server.start();
  await server.didOpen("p/a.py");
  const names = (await server.documentSymbols("p/a.py")).map((one) => one.name);
  assert.ok(names.includes("Shape") && names.includes("area"), names.join());
  const { items } = await server.completions("p/a.py", { line: 5, character: 12 });
  assert.ok(items.some((one) => one.label.startsWith("area")));
  for (const look of ["workspaceSymbols", "sandboxSymbols"])
    assert.ok((await server[look]("Shape")).some((one) => one.name === "Shape"));
  await server.didClose("p/a.py");
  await server.stop();
  await refused(server.documentSymbols("p/a.py"), /not initialized|has ended/);
}
