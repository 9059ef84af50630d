// A deepagents agent whose computer is a sandbox of Cay's. Build npm/cay-deepagents first.
//   CAY_URL=http://127.0.0.1:8787 CAY_API_KEY=… OPENAI_API_KEY=… npx tsx deep_agent.ts
import { CaySandbox } from "cay-deepagents";
import { createDeepAgent } from "deepagents";

const sandbox = await CaySandbox.create();
try {
  const agent = createDeepAgent({
    model: process.env.MODEL ?? "openai:gpt-4.1-mini",
    systemPrompt: "You are a Python coding assistant with a sandbox.",
    backend: sandbox,
  });
  const task = "Create a hello world Python script and run it";
  const { messages } = await agent.invoke({ messages: [{ role: "user", content: task }] });
  console.log(messages.at(-1)?.text);
} finally {
  await sandbox.close();
}
