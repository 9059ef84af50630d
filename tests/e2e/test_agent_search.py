"""web_search and write_todos: the tools that an option offers."""

import http.server
import json
import threading
import urllib.parse

import pytest

from model_server import Call, Turn, model_server
from test_agent import user  # noqa: F401 (a fixture)


class _Search(http.server.BaseHTTPRequestHandler):
    """A search service that answers for one query, and redirects another one elsewhere."""

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["q"][0]
        if query == "away":
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.server.server_port}/?q=secret")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = json.dumps({"results": [f"found {query}"]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def search():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Search)
    server.daemon_threads = True
    server.asked = []
    server.url = f"http://127.0.0.1:{server.server_port}/?q={{query}}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_web_search_asks_the_service_of_the_user_alone(user, search):
    queries = ["cats & dogs?", "away"]

    def script(request):
        if request.turn < len(queries):
            return Turn(calls=[Call("web_search", {"query": queries[request.turn]})])
        return Turn("done")

    with model_server(script) as model:
        someone = user(model)
        run = someone.run("--search-url", search.url, "Search", env={"CAY_SEARCH_KEY": "k1"})
        assert run.code == 0, run
        tools = model.requests[0].tools
        assert "web_search" in tools and "web_fetch" not in tools
        assert search.asked[0] == ("/?q=cats%20%26%20dogs%3F", "Bearer k1")
        found, away = run.results.values()
        assert "found cats & dogs?" in found
        assert away.startswith("Error: ") and len(search.asked) == 2, away
        assert "k1" not in run.out + run.err
        plain = someone.run("Search")
        assert "web_search" not in model.requests[-1].tools
        assert "not a valid tool" in list(plain.results.values())[0]
        wrong = someone.run("--search-url", "https://search.example.test/", "Search")
        assert wrong.code == 125 and "{query}" in wrong.err, wrong
        # A name never leads to this host.
        named = f"http://search.localhost:{search.server_port}/?q={{query}}"
        refused = someone.run("--search-url", named, "Search")
        assert all(one.startswith("Error: ") for one in refused.results.values()), refused
        assert len(search.asked) == 2


def test_write_todos_is_offered_where_it_is_wanted(user):
    todos = [{"content": "look", "status": "pending"}]

    def script(request):
        if request.turn == 0:
            return Turn(calls=[Call("write_todos", {"todos": todos})])
        return Turn(request.results[0].text)

    with model_server(script) as model:
        someone = user(model)
        run = someone.run("--todos", "Plan")
        assert run.code == 0 and "Updated todo list" in run.text and "look" in run.text, run
        [ended] = run.of("tool_ended")
        assert ended["artifact"]["todos"] == todos
        assert "not a valid tool" in someone.run("Plan").text
