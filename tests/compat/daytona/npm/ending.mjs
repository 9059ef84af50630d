// A program that does not end its client, as most are written.
// Usage: node ending.mjs MODULE.  Prints when its last call returned.
const { Daytona } = await import(process.argv[2]);
const client = new Daytona();
const box = await client.create();
await box.stop();
await box.start();
const { result } = await box.process.executeCommand("echo done");
await client.delete(box);
console.log(result.trim(), Date.now() / 1000);
