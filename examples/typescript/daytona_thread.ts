// One sandbox for each conversation, by Daytona's client: whoever comes first makes it, and all
// others find it. It needs the package @daytonaio/sdk, and `eval "$(cay env)"`.
//   npx tsx daytona_thread.ts THREAD
import { Daytona } from "@daytonaio/sdk";

const labels = { thread_id: process.argv[2] ?? "thread-1" };
// The sandbox goes once it has been stopped for an hour.
const sandbox = await new Daytona().create({ labels, autoDeleteInterval: 60 });
await sandbox.fs.uploadFile(Buffer.from("print(6 * 7)\n"), "/src/index.py");
const files = [{ source: "/src/index.py" }, { source: "/output.txt" }];
for (const file of await sandbox.fs.downloadFiles(files)) {
  console.log(file.source, file.result?.toString().trim() ?? file.error);
}
const { result } = await sandbox.process.executeCommand("python3 /src/index.py");
console.log(sandbox.id, result.trim());
