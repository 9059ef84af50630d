"""A server of chat completions as OpenAI's clients speak them, which follows a script: for a
question it calls a tool, and it answers with what the tool returned."""
import contextlib
import http.server
import json
import threading

# By a word of the question: the language and the program that the model writes.
PROGRAMS = {
    "pi": (
        "python",
        "import random\nrandom.seed(7)\n"
        "inside = sum(random.random() ** 2 + random.random() ** 2 < 1 for _ in range(100_000))\n"
        "print(4 * inside / 100_000)",
    ),
    "factorial": ("python", "import math\nprint(math.factorial(20))"),
    "Fibonacci": (
        "bash",
        "a=0 b=1\nfor _ in 1 2 3 4 5 6 7 8 9 10; do echo $a; set -- $b $((a + b)); a=$1 b=$2; done",
    ),
    "10,000": ("python", "print(sum(range(1, 10_001)))"),
}


def answer_to(messages):
    """The next message. It knows nothing but the output of the tool."""
    last = messages[-1]
    if last["role"] == "tool":
        result = json.loads(last["content"])
        return {"role": "assistant", "content": " ".join(result["stdout"].split())}
    [(language, code)] = [row for word, row in PROGRAMS.items() if word in last["content"]]
    call = {
        "id": f"call_{len(messages)}",
        "type": "function",
        "function": {
            "name": "run_code",
            "arguments": json.dumps({"language": language, "code": code}),
        },
    }
    return {"role": "assistant", "content": None, "tool_calls": [call]}


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        message = answer_to(asked["messages"])
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
        }
        body = json.dumps(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": asked["model"],
                "choices": [choice],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def scripted_model():
    """The server; `asked` has its requests, and `env` what a client finds it by."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.daemon_threads = True
    server.asked = []
    server.env = {
        "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1",
        "OPENAI_API_KEY": "none",
    }
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
