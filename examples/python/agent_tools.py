"""Sandbox as tool: the tools an agent loop needs, over the unmodified LangSmith client.

    LANGSMITH_ENDPOINT=http://127.0.0.1:8787 LANGSMITH_API_KEY=… python agent_tools.py
"""
from langsmith.sandbox import SandboxClient


class Tools:
    """What the model may call. Keys and the conversation stay here; only code goes into the box."""

    def __init__(self, box):
        self.box = box

    def execute(self, command):
        got = self.box.run(command, timeout=30)
        return f"exit {got.exit_code}\n{got.stdout}{got.stderr}"

    def write(self, path, text):
        self.box.write(path, text)
        return f"wrote {len(text)} characters to {path}"

    def read(self, path):
        return self.box.read(path).decode()

    def grep(self, text, path):
        return "\n".join(f"{hit.path}:{hit.line}: {hit.text}" for hit in self.box.grep(text, path))


with SandboxClient() as client, client.sandbox() as box:
    tools = Tools(box)
    print(
        tools.write(
            "/app/fib.py", "a, b = 0, 1\nfor _ in range(10):\n    print(a)\n    a, b = b, a + b\n"
        )
    )
    print(tools.execute("python3 /app/fib.py | tail -1"))
    print(tools.grep("range", "/app"))
