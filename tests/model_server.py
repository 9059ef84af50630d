"""A model server that follows a script. It speaks OpenAI's Chat Completions and Responses and
Anthropic's Messages, streamed and whole, and rejects what the vendors reject.

A script is a list of turns, or a function that returns the turn for a request:

    def script(request):
        if not request.results:
            return Turn(calls=[Call("execute", {"command": "echo hello"})])
        return Turn(f"It printed {request.results[0].text}")

    with model_server(script) as model:
        subprocess.run(["cay", "agent", "Say hello"], env={**os.environ, **model.env})

Of a list, a conversation gets the turn whose number is that of the model's messages in it. So a
repeated request gets the same turn, and conversations need no order among each other. The first
requests of a turn meet its faults, one each.

`python3 tests/model_server.py FILE.py` serves the `script` of a file, and prints the settings.
"""
import contextlib
import dataclasses
import hashlib
import http.server
import importlib.util
import json
import re
import socket
import struct
import sys
import threading
import time


@dataclasses.dataclass
class Call:
    name: str
    arguments: object = dataclasses.field(default_factory=dict)  # text is sent as it is
    id: str = ""  # empty: the server makes one of the conversation

    @property
    def text(self):
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclasses.dataclass
class Fault:
    """A trouble that one request meets. The functions below make the usual ones."""

    status: int = 200
    headers: dict = dataclasses.field(default_factory=dict)
    error: tuple = ()  # (type, code, message) of an error response
    content_type: str = ""  # replaces the right one
    body: bytes = None  # replaces the whole body
    insert: bytes = None  # the data of an event more, after the first one of a stream
    cut_at: int = None  # the connection ends after so many bytes of the body
    cut_by_reset: bool = False
    unfinished: bool = False  # the stream ends in good order, but without its last events
    pause: float = 0  # seconds before each event
    silent_after: int = None  # events; then nothing comes until the client leaves
    endless: bool = False  # the text never ends
    error_in_stream: bool = False  # `error` comes as an event, after half of the answer
    hold: threading.Event = None  # no response before it is set


def rate_limited(after=None):
    headers = {} if after is None else {"Retry-After": str(after)}
    return Fault(429, headers, error=("rate_limit_error", "rate_limit_exceeded", "Slow down."))


def out_of_quota():
    return Fault(429, error=("insufficient_quota", "insufficient_quota", "No credit is left."))


def failing(status=500, after=None):
    kind = "overloaded_error" if status == 529 else "server_error"
    headers = {} if after is None else {"Retry-After": str(after)}
    return Fault(status, headers, error=(kind, kind, "The server failed."))


def overflow(limit=8192, used=9000, style="openai"):
    message = {
        "openai": f"This model's maximum context length is {limit} tokens. However, your messages "
        f"resulted in {used} tokens. Please reduce the length of the messages.",
        "anthropic": f"prompt is too long: {used} tokens > {limit} maximum",
        "llama.cpp": f"request ({used} tokens) exceeds the available context size ({limit} tokens),"
        " try increasing it",
    }[style]
    kind, code = "invalid_request_error", "context_length_exceeded"
    if style == "llama.cpp":
        kind, code = "exceed_context_size_error", 400
    return Fault(400, error=(kind, code, message))


def cut(at=200, reset=False):
    return Fault(cut_at=at, cut_by_reset=reset)


def unfinished():
    return Fault(unfinished=True)


def malformed(data=b'{"choices": [{"delta": {"con'):
    """A stream has an event of `data`, and a whole answer is cut JSON."""
    return Fault(insert=data)


def wrong_type(content_type="text/html", body=b"<html><body>Bad gateway</body></html>"):
    return Fault(content_type=content_type, body=body)


def slow(seconds):
    return Fault(pause=seconds)


def silent(after=1):
    return Fault(silent_after=after)


def endless():
    return Fault(endless=True)


def error_in_stream(kind="overloaded_error", message="Overloaded"):
    return Fault(error=(kind, kind, message), error_in_stream=True)


def held(event):
    return Fault(hold=event)


@dataclasses.dataclass
class Turn:
    """One answer of the model."""

    text: str = ""
    calls: list = dataclasses.field(default_factory=list)
    thinking: str = ""
    usage: tuple = None  # (input, output, read from the cache); absent: by the number of characters
    stop: str = ""  # "length" or "refusal"; empty: by the calls
    faults: list = dataclasses.field(default_factory=list)
    piece: int = 16  # characters of one delta

    @property
    def tokens(self):
        return (len(self.text) + len(self.thinking) + sum(len(one.text) for one in self.calls)) // 4


@dataclasses.dataclass
class Said:
    """A message of a request, in the form that no vendor owns."""

    role: str  # system, user, assistant or tool
    text: str = ""
    calls: list = dataclasses.field(default_factory=list)
    call_id: str = ""
    failed: bool = False
    media: list = dataclasses.field(default_factory=list)  # the MIME types
    thinking: list = dataclasses.field(default_factory=list)  # (text, signature)


def signature_of(thinking):
    return "signed-" + hashlib.sha256(thinking.encode()).hexdigest()[:24]


class Request:
    """A request that the server got. `body` is its JSON, and `messages` have the neutral form."""

    def __init__(self, wire, path, headers, body):
        self.wire, self.path, self.headers, self.body = wire, path, headers, body
        self.at = self.done = time.monotonic()  # its first line came; the whole answer was sent
        self.model, self.stream = body.get("model", ""), bool(body.get("stream"))
        self.size = len(json.dumps(body))
        self.messages = READERS[wire](body)
        tools = body.get("tools") or []
        self.tools = [(one.get("function") or one).get("name") for one in tools]
        text = repr([dataclasses.astuple(one) for one in self.messages])
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        self.attempt = 0  # the number of earlier requests with the same messages

    @property
    def turn(self):
        return sum(one.role == "assistant" for one in self.messages)

    @property
    def system(self):
        return "\n".join(one.text for one in self.messages if one.role == "system")

    @property
    def users(self):
        return [one for one in self.messages if one.role == "user"]

    @property
    def task(self):
        """The text of the first message of the user."""
        return self.users[0].text if self.users else ""

    @property
    def results(self):
        """The results of tools that came after the model's last message."""
        found = []
        for one in reversed(self.messages):
            if one.role != "tool":
                break
            found.insert(0, one)
        return found

    @property
    def tokens(self):
        return self.size // 4

    @property
    def key(self):
        bearer = self.headers.get("Authorization", "")
        return self.headers.get("X-Api-Key") or bearer.removeprefix("Bearer ")

    def __repr__(self):
        return f"Request({self.wire}, turn {self.turn}, attempt {self.attempt}, {self.task[:60]!r})"


def _parts(content):
    """Returns (text, media) of a message's content in any of the three formats."""
    if isinstance(content, str) or content is None:
        return content or "", []
    text, media = [], []
    for part in content:
        kind = part.get("type")
        if kind in ("text", "input_text", "output_text"):
            text.append(part["text"])
        elif kind in ("image_url", "input_image"):
            url = part["image_url"]
            url = url["url"] if isinstance(url, dict) else url
            media.append(url.partition(":")[2].partition(";")[0])
        elif kind in ("image", "document"):
            media.append(part["source"].get("media_type", "url"))
        elif kind not in ("tool_use", "tool_result", "thinking", "redacted_thinking", "refusal"):
            media.append(str(kind))
    return "".join(text), media


def _read_chat(body):
    found = []
    for one in body["messages"]:
        text, media = _parts(one.get("content"))
        role = "system" if one["role"] == "developer" else one["role"]
        calls = [
            Call(call["function"]["name"], call["function"]["arguments"], call["id"])
            for call in one.get("tool_calls") or []
        ]
        thinking = one.get("reasoning_content")
        found.append(
            Said(
                role,
                text,
                calls,
                one.get("tool_call_id", ""),
                media=media,
                thinking=[(thinking, "")] if thinking else [],
            )
        )
    return found


def _read_responses(body):
    found = []
    if body.get("instructions"):
        found.append(Said("system", body["instructions"]))
    given = body["input"]
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]

    def answer():
        if not found or found[-1].role != "assistant":
            found.append(Said("assistant"))
        return found[-1]

    for one in given:
        kind = one.get("type", "message")
        if kind == "function_call":
            answer().calls.append(Call(one["name"], one["arguments"], one["call_id"]))
        elif kind == "function_call_output":
            text, media = _parts(one["output"])
            found.append(Said("tool", text, call_id=one["call_id"], media=media))
        elif kind == "reasoning":
            text = "".join(part["text"] for part in one.get("summary", []))
            answer().thinking.append((text, one.get("encrypted_content") or ""))
        elif kind == "message" and one["role"] == "assistant":
            answer().text += _parts(one["content"])[0]
        elif kind == "message":
            text, media = _parts(one["content"])
            role = "system" if one["role"] == "developer" else one["role"]
            found.append(Said(role, text, media=media))
    return found


def _read_anthropic(body):
    found = []
    if body.get("system"):
        found.append(Said("system", _parts(body["system"])[0]))
    for one in body["messages"]:
        content = one["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for block in blocks:
            if block.get("type") == "tool_result":
                text, media = _parts(block.get("content"))
                failed = bool(block.get("is_error"))
                found.append(Said("tool", text, [], block["tool_use_id"], failed, media))
        text, media = _parts(blocks)
        calls = [
            Call(block["name"], block["input"], block["id"])
            for block in blocks
            if block.get("type") == "tool_use"
        ]
        thinking = [
            (block["thinking"], block.get("signature", ""))
            for block in blocks
            if block.get("type") == "thinking"
        ]
        if text or media or calls or thinking:
            found.append(Said(one["role"], text, calls, media=media, thinking=thinking))
    return found


READERS = {"chat": _read_chat, "responses": _read_responses, "anthropic": _read_anthropic}


def complaint_about(request):
    """Returns the reason for which the vendors would reject the request, or an empty text."""
    body = request.body
    if not request.model:
        return "model is missing"
    if request.wire == "anthropic":
        if not body.get("max_tokens"):
            return "max_tokens: Field required"
        if not request.headers.get("anthropic-version"):
            return "anthropic-version: header is required"
        roles = [one["role"] for one in body["messages"]]
        if set(roles) - {"user", "assistant"}:
            return f"messages: unexpected roles {sorted(set(roles))}"
        if not roles or roles[0] != "user":
            return "messages: first message must use the user role"
    for one in body.get("tools") or []:
        tool = one.get("function") or one
        schema = tool.get("input_schema" if request.wire == "anthropic" else "parameters")
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool.get("name") or ""):
            return f"tools: bad name {tool.get('name')!r}"
        if not isinstance(schema, dict) or schema.get("type") != "object":
            return f"tools: {tool['name']} has no schema of type object"
    if len(set(request.tools)) != len(request.tools):
        return "tools: tool names must be unique"
    return _pairing(request) or _thinking(request)


def _pairing(request):
    """Each call has one result, and the results come right after their calls."""
    open_calls, results_only = set(), False
    for one in request.messages:
        if one.role == "tool":
            if one.call_id not in open_calls:
                return f"unexpected result for the call {one.call_id!r}"
            open_calls.remove(one.call_id)
            continue
        if open_calls:
            return f"the calls {sorted(open_calls)} have no result"
        if one.role == "assistant":
            open_calls = {call.id for call in one.calls}
            if len(open_calls) != len(one.calls):
                return "two calls have the same id"
            for call in one.calls:
                if request.wire == "anthropic":
                    if not isinstance(call.arguments, dict):
                        return f"tool_use.input of {call.id} is no object"
                elif not isinstance(call.arguments, str) or not _is_object(call.arguments):
                    return f"the arguments of the call {call.id} are no JSON object"
            if not (one.text or one.calls or one.thinking):
                return "a message of the assistant is empty"
        elif one.role == "user" and not (one.text or one.media):
            return "a message of the user is empty"
    if open_calls:
        return f"the calls {sorted(open_calls)} have no result"
    return ""


def _is_object(text):
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _thinking(request):
    for one in request.messages:
        for text, signature in one.thinking:
            if request.wire != "chat" and signature != signature_of(text):
                return f"the signature of the thinking {text[:40]!r} was changed"
    return ""


def _pieces(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


class _Answer:
    """A turn in the words of one wire format: whole(), or the events of a stream."""

    def __init__(self, request, turn, number):
        self.request, self.turn = request, turn
        self.id, self.model = f"{number:06d}", request.model
        given = turn.usage or (request.tokens, max(1, turn.tokens), 0)
        self.input, self.output, self.cached = given
        prefix = "toolu" if request.wire == "anthropic" else "call"
        self.calls = [
            Call(call.name, call.text, call.id or f"{prefix}_{request.digest[:12]}_{at}")
            for at, call in enumerate(turn.calls)
        ]

    def texts(self, endless):
        """The pieces of the text. An endless answer repeats its first ones."""
        pieces = _pieces(self.turn.text, self.turn.piece)
        yield from pieces
        while endless:
            yield from pieces or ["more and more "]


class ChatAnswer(_Answer):
    delta_event = b""

    def usage(self):
        return {
            "prompt_tokens": self.input,
            "completion_tokens": self.output,
            "total_tokens": self.input + self.output,
            "prompt_tokens_details": {"cached_tokens": self.cached},
        }

    def finish(self):
        stops = {"length": "length", "refusal": "content_filter"}
        return stops.get(self.turn.stop) or ("tool_calls" if self.calls else "stop")

    def whole(self):
        message = {"role": "assistant", "content": self.turn.text or None}
        if self.turn.thinking:
            message["reasoning_content"] = self.turn.thinking
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.text},
                }
                for call in self.calls
            ]
        return {
            "id": f"chatcmpl-{self.id}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self.model,
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish()}],
            "usage": self.usage(),
        }

    def chunk(self, delta, finish=None, **more):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        head = {"id": f"chatcmpl-{self.id}", "object": "chat.completion.chunk", "created": 1}
        return "", {**head, "model": self.model, "choices": [choice], **more}

    def begin(self, endless):
        yield self.chunk({"role": "assistant", "content": ""})
        for piece in _pieces(self.turn.thinking, self.turn.piece):
            yield self.chunk({"reasoning_content": piece})
        for piece in self.texts(endless):
            yield self.chunk({"content": piece})
        for at, call in enumerate(self.calls):
            head = {"index": at, "id": call.id, "type": "function"}
            yield self.chunk(
                {"tool_calls": [{**head, "function": {"name": call.name, "arguments": ""}}]}
            )
            for piece in _pieces(call.text, self.turn.piece):
                yield self.chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})

    def end(self):
        yield self.chunk({}, self.finish())
        if (self.request.body.get("stream_options") or {}).get("include_usage"):
            _, event = self.chunk({})
            yield "", {**event, "choices": [], "usage": self.usage()}
        yield "", "[DONE]"

    @staticmethod
    def error(error):
        kind, code, message = error
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def failed(self, error):
        return "", self.error(error)


class ResponsesAnswer(_Answer):
    delta_event = b"event: response.output_text.delta\n"
    error = staticmethod(ChatAnswer.error)

    def items(self):
        found = []
        if self.turn.thinking:
            found.append(
                {
                    "id": f"rs_{self.id}",
                    "type": "reasoning",
                    "summary": [{"type": "summary_text", "text": self.turn.thinking}],
                    "encrypted_content": signature_of(self.turn.thinking),
                }
            )
        if self.turn.text:
            part = {"type": "output_text", "text": self.turn.text, "annotations": []}
            found.append(
                {
                    "id": f"msg_{self.id}",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "content": [part],
                }
            )
        for at, call in enumerate(self.calls):
            found.append(
                {
                    "id": f"fc_{self.id}_{at}",
                    "type": "function_call",
                    "status": "completed",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": call.text,
                }
            )
        return found

    def whole(self, status=None, error=None):
        incomplete = {"length": "max_output_tokens", "refusal": "content_filter"}.get(
            self.turn.stop
        )
        done = status in (None, "completed")
        if status is None:
            status = "incomplete" if incomplete else "completed"
        return {
            "id": f"resp_{self.id}",
            "object": "response",
            "created_at": int(time.time()),
            "status": status,
            "error": error,
            "incomplete_details": {"reason": incomplete} if incomplete and done else None,
            "model": self.model,
            "output": self.items() if done else [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": self.request.body.get("tools") or [],
            "usage": {
                "input_tokens": self.input,
                "input_tokens_details": {"cached_tokens": self.cached},
                "output_tokens": self.output,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": self.input + self.output,
            }
            if done
            else None,
        }

    def event(self, kind, **members):
        self.number = getattr(self, "number", -1) + 1
        return kind, {"type": kind, "sequence_number": self.number, **members}

    def begin(self, endless):
        yield self.event("response.created", response=self.whole("in_progress"))
        yield self.event("response.in_progress", response=self.whole("in_progress"))
        items = self.items()
        if endless and not self.turn.text:
            self.turn = dataclasses.replace(self.turn, text="more and more ")
            items = self.items()
        for at, item in enumerate(items):
            empty = {"content": []} if item["type"] == "message" else {}
            empty |= {"arguments": ""} if item["type"] == "function_call" else {}
            empty |= {"summary": []} if item["type"] == "reasoning" else {}
            added = {**item, **empty, "status": "in_progress"}
            yield self.event("response.output_item.added", output_index=at, item=added)
            place = {"item_id": item["id"], "output_index": at}
            if item["type"] == "message":
                yield from self.text(place, item["content"][0], endless)
            elif item["type"] == "function_call":
                yield from self.arguments(place, item)
            else:
                yield from self.summary(place, item["summary"][0])
            yield self.event("response.output_item.done", output_index=at, item=item)

    def text(self, place, part, endless):
        place = {**place, "content_index": 0}
        yield self.event("response.content_part.added", **place, part={**part, "text": ""})
        for piece in self.texts(endless):
            yield self.event("response.output_text.delta", **place, delta=piece, logprobs=[])
        yield self.event("response.output_text.done", **place, text=part["text"], logprobs=[])
        yield self.event("response.content_part.done", **place, part=part)

    def arguments(self, place, item):
        for piece in _pieces(item["arguments"], self.turn.piece):
            yield self.event("response.function_call_arguments.delta", **place, delta=piece)
        done = {"arguments": item["arguments"], "name": item["name"]}
        yield self.event("response.function_call_arguments.done", **place, **done)

    def summary(self, place, part):
        place = {**place, "summary_index": 0}
        empty = {**part, "text": ""}
        yield self.event("response.reasoning_summary_part.added", **place, part=empty)
        for piece in _pieces(part["text"], self.turn.piece):
            yield self.event("response.reasoning_summary_text.delta", **place, delta=piece)
        yield self.event("response.reasoning_summary_text.done", **place, text=part["text"])
        yield self.event("response.reasoning_summary_part.done", **place, part=part)

    def end(self):
        kind = "incomplete" if self.turn.stop else "completed"
        yield self.event(f"response.{kind}", response=self.whole())

    def failed(self, error):
        _, code, message = error
        failure = {"code": code, "message": message}
        return self.event("response.failed", response=self.whole("failed", failure))


class AnthropicAnswer(_Answer):
    delta_event = b"event: content_block_delta\n"

    def usage(self):
        return {
            "input_tokens": self.input - self.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": self.cached,
            "output_tokens": self.output,
        }

    def finish(self):
        stops = {"length": "max_tokens", "refusal": "refusal"}
        return stops.get(self.turn.stop) or ("tool_use" if self.calls else "end_turn")

    def blocks(self):
        found = []
        if self.turn.thinking:
            signature = signature_of(self.turn.thinking)
            found.append(
                {"type": "thinking", "thinking": self.turn.thinking, "signature": signature}
            )
        if self.turn.text:
            found.append({"type": "text", "text": self.turn.text})
        for call in self.calls:
            given = json.loads(call.text) if _is_object(call.text) else {}
            found.append({"type": "tool_use", "id": call.id, "name": call.name, "input": given})
        return found

    def whole(self):
        return {
            "id": f"msg_{self.id}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": self.blocks(),
            "stop_reason": self.finish(),
            "stop_sequence": None,
            "usage": self.usage(),
        }

    @staticmethod
    def event(kind, **members):
        return kind, {"type": kind, **members}

    def begin(self, endless):
        usage = {**self.usage(), "output_tokens": 1}
        empty = {**self.whole(), "content": [], "stop_reason": None, "usage": usage}
        yield self.event("message_start", message=empty)
        yield self.event("ping")
        calls = iter(self.calls)
        blocks = self.blocks()
        if endless and not self.turn.text:
            blocks.insert(0, {"type": "text", "text": ""})
        for at, block in enumerate(blocks):
            kind = block["type"]
            first = {"text": {"text": ""}, "tool_use": {"input": {}}}.get(
                kind, {"thinking": "", "signature": ""}
            )
            yield self.event("content_block_start", index=at, content_block={**block, **first})
            if kind == "text":
                deltas = ({"type": "text_delta", "text": one} for one in self.texts(endless))
            elif kind == "tool_use":
                # The stream has malformed arguments as they are.
                text = next(calls).text
                pieces = [""] + _pieces(text, self.turn.piece)
                deltas = ({"type": "input_json_delta", "partial_json": one} for one in pieces)
            else:
                pieces = _pieces(block["thinking"], self.turn.piece)
                deltas = [{"type": "thinking_delta", "thinking": one} for one in pieces]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            for delta in deltas:
                yield self.event("content_block_delta", index=at, delta=delta)
            yield self.event("content_block_stop", index=at)

    def end(self):
        delta = {"stop_reason": self.finish(), "stop_sequence": None}
        yield self.event("message_delta", delta=delta, usage={"output_tokens": self.output})
        yield self.event("message_stop")

    @staticmethod
    def error(error):
        kind, _, message = error
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}

    def failed(self, error):
        return "error", self.error(error)


ANSWERS = {"chat": ChatAnswer, "responses": ResponsesAnswer, "anthropic": AnthropicAnswer}
PATHS = {"/chat/completions": "chat", "/responses": "responses", "/messages": "anthropic"}


class _Gone(Exception):
    """The connection ends here, by the script or by the client."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def do_GET(self):
        if not self.path.endswith("/models"):
            self.whole(404, {"error": {"message": "not found", "type": "not_found"}})
            return
        models = [{"id": one, "object": "model", "owned_by": "script"} for one in ("scripted",)]
        self.whole(200, {"object": "list", "data": models})

    def parse_request(self):
        self.began = time.monotonic()
        return super().parse_request()

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0].removeprefix("/v1")
        wire = PATHS.get(path)
        if wire is None:
            self.whole(404, ChatAnswer.error(("not_found", "not_found", f"no such path: {path}")))
            return
        try:
            request = Request(wire, self.path, self.headers, json.loads(raw))
            request.at = self.began
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self.server.script_server.rejected.append((raw, repr(error)))
            self.whole(400, ANSWERS[wire].error(("invalid_request_error", None, repr(error))))
            return
        try:
            self.respond(request)
            request.done = time.monotonic()
        except (_Gone, ConnectionError, TimeoutError):
            self.close_connection = True
            self.server.script_server.left(request)

    def respond(self, request):
        owner, words = self.server.script_server, ANSWERS[request.wire]
        rejection = owner.take(request)
        if rejection:
            status, error = rejection
            self.whole(status, words.error(error))
            return
        turn = owner.turn_for(request)
        fault = turn.faults[request.attempt] if request.attempt < len(turn.faults) else Fault()
        if fault.hold:
            owner.wait(fault.hold)
        if fault.status != 200:
            self.whole(fault.status, words.error(fault.error), fault)
            return
        answer = words(request, turn, len(owner.requests))
        if request.stream:
            self.stream(answer, fault)
        else:
            self.whole(200, answer.whole(), fault)

    def head(self, status, content_type, fault, length=None):
        self.send_response(status)
        self.send_header("Content-Type", (fault and fault.content_type) or content_type)
        for name, value in (fault.headers if fault else {}).items():
            self.send_header(name, value)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def whole(self, status, value, fault=None):
        body = json.dumps(value).encode()
        if fault and fault.body is not None:
            body = fault.body
        if fault and fault.insert is not None:
            body = body[: len(body) // 2]
        if fault and (fault.pause or fault.silent_after is not None or fault.endless):
            self.server.script_server.wait(None, fault.pause or None, self.connection)
        self.head(status, "application/json", fault, len(body))
        if fault and fault.cut_at is not None and fault.cut_at < len(body):
            self.wfile.write(body[: fault.cut_at])
            self.cut(fault)
        self.wfile.write(body)
        self.wfile.flush()

    def cut(self, fault):
        self.wfile.flush()
        if fault.cut_by_reset:
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
        else:
            self.connection.shutdown(socket.SHUT_RDWR)
        raise _Gone

    def stream(self, answer, fault):
        if fault.body is not None:
            self.whole(200, None, fault)
            return
        self.head(200, "text/event-stream; charset=utf-8", fault)
        self.sent = 0
        number = 0
        events = answer.begin(fault.endless)
        if fault.error_in_stream:
            events = list(events)
            events = [*events[: (len(events) + 1) // 2], answer.failed(fault.error)]
        elif not fault.unfinished:
            events = _chain(events, answer.end)
        for number, (kind, value) in enumerate(events):
            if fault.silent_after is not None and number >= fault.silent_after:
                self.wfile.flush()
                self.server.script_server.wait(None, None, self.connection)
            if fault.pause:
                self.wfile.flush()
                self.server.script_server.wait(None, fault.pause, self.connection)
            text = value if isinstance(value, str) else json.dumps(value)
            self.piece((f"event: {kind}\n" if kind else "") + f"data: {text}\n\n", fault)
            if number == 0 and fault.insert is not None:
                self.piece(answer.delta_event + b"data: " + fault.insert + b"\n\n", fault)
            if number == 0 or fault.endless:
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def piece(self, data, fault):
        data = data.encode() if isinstance(data, str) else data
        room = len(data) if fault.cut_at is None else fault.cut_at - self.sent
        kept = data[: max(0, room)]
        if kept:
            self.wfile.write(f"{len(kept):x}\r\n".encode() + kept + b"\r\n")
        self.sent += len(kept)
        if len(kept) < len(data):
            self.cut(fault)

    def log_message(self, *_):
        pass


def _chain(first, then):
    yield from first
    yield from then()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512
    script_server = None

    def handle_error(self, request, client_address):
        error = sys.exc_info()[1]
        if not isinstance(error, (ConnectionError, TimeoutError, ValueError)):
            self.script_server.errors.append(repr(error))


class ModelServer:
    """`requests` are those that it got, and `rejected` those that a vendor would reject.

    `context_tokens`: the window, at four characters a token. A longer request is a context
    overflow. `key`: every other key is refused.
    """

    def __init__(self, script, *, context_tokens=None, key=None, port=0):
        self.script, self.context_tokens, self.key = script, context_tokens, key
        self.requests, self.rejected, self.errors, self.gone = [], [], [], []
        self.attempts = {}
        self.changed = threading.Condition()
        self.closing = threading.Event()
        self.server = _Server(("127.0.0.1", port), _Handler)
        self.server.script_server = self
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def env(self):
        """The settings by which every vendor's clients find the server."""
        key = self.key or "scripted-key"
        return {
            "OPENAI_BASE_URL": self.url + "/v1",
            "OPENAI_API_KEY": key,
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": key,
        }

    def take(self, request):
        """Records the request. Returns (status, error) for one that is rejected."""
        complaint = complaint_about(request)
        with self.changed:
            request.attempt = self.attempts.get(request.digest, 0)
            self.attempts[request.digest] = request.attempt + 1
            self.requests.append(request)
            if complaint:
                self.rejected.append((request, complaint))
            self.changed.notify_all()
        if self.key and request.key != self.key:
            return 401, ("authentication_error", "invalid_api_key", "Incorrect API key provided")
        if complaint:
            return 400, ("invalid_request_error", None, complaint)
        if self.context_tokens and request.tokens > self.context_tokens:
            style = "anthropic" if request.wire == "anthropic" else "openai"
            return 400, overflow(self.context_tokens, request.tokens, style).error
        return None

    def turn_for(self, request):
        turn = self.script(request) if callable(self.script) else _of_list(self.script, request)
        return Turn(turn) if isinstance(turn, str) else turn

    def left(self, request):
        with self.changed:
            self.gone.append(request)
            self.changed.notify_all()

    def wait(self, event, seconds=None, connection=None):
        """Waits for the event, or the seconds, or until the client leaves or the server closes."""
        end = None if seconds is None else time.monotonic() + seconds
        while not self.closing.is_set():
            left = 0.1 if end is None else min(0.1, end - time.monotonic())
            if left <= 0 or (event is not None and event.wait(left)):
                return
            if event is None:
                self.closing.wait(left)
            if connection is not None and _has_left(connection):
                raise _Gone
        raise _Gone

    def wait_for(self, condition, what="a request", limit=30):
        """Waits until condition(self) holds. It is looked at after each request."""
        with self.changed:
            if not self.changed.wait_for(lambda: condition(self), limit):
                raise AssertionError(f"not within {limit} s: {what}; there are {self.requests}")

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()


def _has_left(connection):
    with contextlib.suppress(BlockingIOError):
        connection.setblocking(False)
        try:
            return connection.recv(1, socket.MSG_PEEK) == b""
        except (ConnectionError, OSError) as error:
            return not isinstance(error, BlockingIOError)
        finally:
            with contextlib.suppress(OSError):
                connection.setblocking(True)
    return False


def _of_list(turns, request):
    if request.turn < len(turns):
        turn = turns[request.turn]
        return turn(request) if callable(turn) else turn
    return Turn("The script has no more turns.")


def by_word(scripts):
    """The script of the first word that is in the user's first message."""

    def script(request):
        for word, turns in scripts.items():
            if word in request.task:
                return turns(request) if callable(turns) else _of_list(turns, request)
        return Turn(f"No script has a word of this task: {request.task[:200]}")

    return script


def looping(call):
    """A model that requests the same call again and again."""
    return lambda request: Turn(calls=[call])


@contextlib.contextmanager
def model_server(script, **settings):
    server = ModelServer(script, **settings)
    try:
        yield server
    finally:
        server.close()
    assert not server.errors, server.errors


def main(path):
    spec = importlib.util.spec_from_file_location("script", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with model_server(module.script) as server:
        for name, value in server.env.items():
            print(f"export {name}={value}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
