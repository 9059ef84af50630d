// Service URLs and download links through the unmodified npm client: node services.cjs DIR SANDBOX PORT FILE.
// Prints what it saw as one JSON line.
"use strict";
const { createRequire } = require("node:module");
const { webcrypto } = require("node:crypto");
globalThis.crypto ??= webcrypto; // Node 18, Debian 12's, lacks it

const [dir, sandbox, port, file] = process.argv.slice(2);
const api = createRequire(`${dir}/index.js`)("langsmith/sandbox");

(async () => {
  const client = new api.SandboxClient();
  const box = await client.getSandbox(sandbox);
  const service = await client.serviceUrl(sandbox, { port: Number(port), expiresInSeconds: 120 });
  const seen = {};
  seen.expiresAt = await service.expiresAt();
  seen.browserUrl = await service.browserUrl();
  seen.headers = await (await service.fetch("/headers?a=1", { headers: { "X-Own": "yes" } })).json();
  seen.digest = await (await service.fetch("/digest", { method: "POST", body: "some bytes" })).json();
  seen.missing = (await service.fetch("nowhere")).status;
  const short = await client.serviceUrl(sandbox, { port: Number(port), expiresInSeconds: 30 }); // asked for anew at each use
  const tokens = [await short.token(), await short.token()];
  seen.refreshed = tokens[0] !== tokens[1] && (await short.fetch("/headers")).status === 200;
  const link = await box.generateDownloadURL(file, { contentType: "text/plain", contentDisposition: "inline" });
  const got = await fetch(link.download_url);
  seen.download = [got.status, got.headers.get("content-type"), await got.text(), link.expires_at];
  process.stdout.write(JSON.stringify(seen) + "\n");
})();
