// A deepagents agent in a sandbox that Daytona's own client makes. It needs the packages
// @langchain/daytona and deepagents, and `eval "$(cay env)"` for DAYTONA_API_URL and its key.
//   OPENAI_API_KEY=… npx tsx daytona_agent.ts
import { DaytonaSandbox } from "@langchain/daytona";
import { createDeepAgent } from "deepagents";

const sandbox = await DaytonaSandbox.create({ language: "python", timeout: 300 });
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
