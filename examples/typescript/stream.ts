// Streaming output from the unmodified LangSmith client.
//   LANGSMITH_ENDPOINT=http://127.0.0.1:8787 LANGSMITH_API_KEY=… npx tsx stream.ts
import { webcrypto } from "node:crypto";
import { SandboxClient } from "langsmith/sandbox";

// Node 18 (Debian 12's) lacks the global `crypto` that the client takes for granted.
globalThis.crypto ??= webcrypto as Crypto;

const client = new SandboxClient();
const box = await client.createSandbox();
try {
  const result = await box.run("for i in 1 2 3; do echo step $i; done; exit 2", {
    onStdout: (data: string) => process.stdout.write(data),
  });
  console.log("exit", result.exit_code);
} finally {
  await client.deleteSandbox(box.name);
}
