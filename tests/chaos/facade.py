"""One or two of the chaos test's clients: the unmodified Python client of LangSmith."""
from checker import Seen
from native import GaveUp


class Langsmith:
    def __init__(self, url, key):
        from langsmith.sandbox import SandboxClient

        self.client = SandboxClient(api_endpoint=f"{url}/v2/sandboxes", api_key=key)
        self.known = {}

    def run(self, box, asked):
        """What the client's user sees: a result, or an error. An error says nothing about the
        command."""
        import httpx2
        import websockets
        from langsmith.sandbox import CommandTimeoutError, SandboxClientError

        line = " ".join(["exec", "/root/payload", asked.id, str(asked.seed), *asked.script])
        timeout = max(1, round(asked.timeout_ms / 1000)) if asked.timeout_ms else 0
        asked.timeout_ms = timeout * 1000
        options = {"timeout": timeout, "ttl_seconds": -1}
        try:
            if box not in self.known:
                self.known[box] = self.client.get_sandbox(box)
            sandbox = self.known[box]
            if asked.stdin:
                handle = sandbox.run(line, wait=False, close_input=False, **options)
                asked.accepted = "yes"
                handle.send_input(asked.expected(1, asked.stdin).decode())
                handle.close_input()
                got = handle.result
            else:
                got = sandbox.run(line, **options)
        except CommandTimeoutError:
            asked.accepted = "yes"
            return [Seen(observer="langsmith", shell_code=124)]
        except (
            SandboxClientError,
            OSError,
            httpx2.HTTPError,
            websockets.WebSocketException,
        ) as trouble:
            return trouble
        if not isinstance(got.exit_code, int):
            raise GaveUp(f"a result without an exit code: {got!r}")
        asked.accepted = "yes"
        return [
            Seen(
                observer="langsmith", shell_code=got.exit_code, text={1: got.stdout, 2: got.stderr}
            )
        ]
