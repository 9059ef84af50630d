"""The scripted model server, by the vendors' own clients: what they accept is their wire format."""
import json
import socket
import threading

import anthropic
import httpx
import openai
import pytest

import model_server as ms
from model_server import Call, Turn, model_server

WIRES = ("chat", "responses", "anthropic")
ADD = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
TWO_CALLS = [Call("add", {"a": 1, "b": 2}), Call("add", {"a": 30, "b": 40})]


def talk(request):
    """Two calls at once, and then a sentence with their results."""
    if not request.results:
        return Turn("Let me add.", TWO_CALLS, thinking="Two sums are needed.", usage=(90, 12, 40))
    return Turn("The sums are " + " and ".join(one.text for one in request.results))


class Speaker:
    """A conversation by the client of one wire format."""

    def __init__(self, model, retries=0):
        self.model, self.log = model, []
        settings = {"api_key": model.env["OPENAI_API_KEY"], "max_retries": retries, "timeout": 20}
        self.openai = openai.OpenAI(base_url=model.env["OPENAI_BASE_URL"], **settings)
        self.anthropic = anthropic.Anthropic(base_url=model.env["ANTHROPIC_BASE_URL"], **settings)

    def chat(self, text, stream):
        """Returns (text, [(name, arguments)], stop, (input, output, cached)) of one answer."""
        if isinstance(text, str):
            self.log.append({"role": "user", "content": text})
        else:
            self.log += [
                {"role": "tool", "tool_call_id": call.id, "content": result}
                for call, result in zip(self.calls, text)
            ]
        tool = {"type": "function", "function": {"name": "add", "parameters": ADD}}
        request = {"model": "m", "messages": self.log, "tools": [tool]}
        completions = self.openai.chat.completions
        if stream:
            usage = {"include_usage": True}
            with completions.stream(**request, stream_options=usage) as events:
                answer = events.get_final_completion()
        else:
            answer = completions.create(**request)
        [choice] = answer.choices
        self.calls = choice.message.tool_calls or []
        self.log.append(choice.message.model_dump(include={"role", "content", "tool_calls"}))
        if not self.calls:
            self.log[-1].pop("tool_calls", None)
        usage = answer.usage
        return (
            choice.message.content,
            [(one.function.name, json.loads(one.function.arguments)) for one in self.calls],
            choice.finish_reason,
            (
                usage.prompt_tokens,
                usage.completion_tokens,
                usage.prompt_tokens_details.cached_tokens,
            ),
        )

    def responses(self, text, stream):
        if isinstance(text, str):
            self.log.append({"role": "user", "content": text})
        else:
            self.log += [
                {"type": "function_call_output", "call_id": call.call_id, "output": result}
                for call, result in zip(self.calls, text)
            ]
        tool = {"type": "function", "name": "add", "parameters": ADD, "strict": False}
        request = {"model": "m", "input": self.log, "tools": [tool]}
        if stream:
            with self.openai.responses.stream(**request) as events:
                answer = events.get_final_response()
        else:
            answer = self.openai.responses.create(**request)
        self.log += [one.model_dump(exclude={"parsed_arguments"}) for one in answer.output]
        self.calls = [one for one in answer.output if one.type == "function_call"]
        usage = answer.usage
        return (
            answer.output_text,
            [(one.name, json.loads(one.arguments)) for one in self.calls],
            "tool_calls" if self.calls else "stop",
            (usage.input_tokens, usage.output_tokens, usage.input_tokens_details.cached_tokens),
        )

    def anthropic_messages(self, text, stream):
        if isinstance(text, str):
            self.log.append({"role": "user", "content": text})
        else:
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": result}
                for call, result in zip(self.calls, text)
            ]
            self.log.append({"role": "user", "content": results})
        tool = {"name": "add", "input_schema": ADD}
        request = {"model": "m", "max_tokens": 1000, "messages": self.log, "tools": [tool]}
        if stream:
            with self.anthropic.messages.stream(**request) as events:
                answer = events.get_final_message()
        else:
            answer = self.anthropic.messages.create(**request)
        self.calls = [one for one in answer.content if one.type == "tool_use"]
        kept = {"type", "text", "thinking", "signature", "id", "name", "input"}
        content = [one.model_dump(include=kept) for one in answer.content]
        self.log.append({"role": "assistant", "content": content})
        usage = answer.usage
        return (
            "".join(one.text for one in answer.content if one.type == "text"),
            [(one.name, one.input) for one in self.calls],
            {"tool_use": "tool_calls", "end_turn": "stop"}[answer.stop_reason],
            (
                usage.input_tokens + usage.cache_read_input_tokens,
                usage.output_tokens,
                usage.cache_read_input_tokens,
            ),
        )

    def say(self, wire, text, stream=True):
        return getattr(self, "anthropic_messages" if wire == "anthropic" else wire)(text, stream)


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_vendors_client_holds_a_conversation_with_parallel_calls(wire, stream):
    with model_server(talk) as model:
        speaker = Speaker(model)
        text, calls, stop, usage = speaker.say(wire, "What are 1 + 2 and 30 + 40?", stream)
        assert (text, stop, usage) == ("Let me add.", "tool_calls", (90, 12, 40))
        assert calls == [("add", {"a": 1, "b": 2}), ("add", {"a": 30, "b": 40})]
        text, calls, stop, _ = speaker.say(wire, ["3", "70"], stream)
        assert (text, calls, stop) == ("The sums are 3 and 70", [], "stop")
        first, second = model.requests
    assert model.rejected == []
    assert (first.wire, first.stream, first.turn, second.turn) == (wire, stream, 0, 1)
    assert first.task == "What are 1 + 2 and 30 + 40?" and first.tools == ["add"]
    assert [one.text for one in second.results] == ["3", "70"]
    if wire != "chat":
        thoughts = [one for said in second.messages for one in said.thinking]
        assert [text for text, _ in thoughts] == ["Two sums are needed."]


@pytest.mark.parametrize("wire", WIRES)
def test_each_request_of_a_turn_meets_one_fault(wire):
    faults = [ms.rate_limited(0), ms.failing(529), ms.failing(500)]
    with model_server([Turn("at last", faults=faults)]) as model:
        speaker = Speaker(model)
        for expected in (429, 529, 500):
            with pytest.raises((openai.APIStatusError, anthropic.APIStatusError)) as refused:
                speaker.say(wire, "hello")
            assert refused.value.status_code == expected
            assert ("retry-after" in refused.value.response.headers) == (expected == 429)
            speaker.log.pop()
        assert speaker.say(wire, "hello")[0] == "at last"
        assert [one.attempt for one in model.requests] == [0, 1, 2, 3]


@pytest.mark.parametrize("wire", WIRES)
def test_broken_answers_are_errors_of_the_clients(wire):
    faults = [ms.cut(150), ms.cut(150, reset=True), ms.malformed()]
    faults.append(ms.error_in_stream())
    with model_server([Turn("whole " * 50, faults=faults)]) as model:
        speaker = Speaker(model)
        for _ in faults:
            with pytest.raises(Exception):  # of the client's HTTP library, or its own
                speaker.say(wire, "hello")
            speaker.log.pop()
        assert speaker.say(wire, "hello")[0] == "whole " * 50


@pytest.mark.parametrize("wire", WIRES)
def test_too_long_a_conversation_is_refused_as_its_vendor_does(wire):
    with model_server(["short"], context_tokens=1000) as model:
        speaker = Speaker(model)
        with pytest.raises((openai.BadRequestError, anthropic.BadRequestError)) as refused:
            speaker.say(wire, "long " * 2000)
        expected = "prompt is too long" if wire == "anthropic" else "maximum context length"
        assert expected in str(refused.value)
        assert wire == "anthropic" or refused.value.code == "context_length_exceeded"
        speaker.log.pop()
        assert speaker.say(wire, "hello")[0] == "short"


@pytest.mark.parametrize("wire", WIRES)
def test_another_key_is_refused(wire):
    with model_server(["in"], key="right") as model:
        speaker = Speaker(model)
        assert speaker.say(wire, "hello")[0] == "in"
        speaker.openai.api_key = speaker.anthropic.api_key = "wrong"
        speaker.log.clear()
        with pytest.raises((openai.AuthenticationError, anthropic.AuthenticationError)):
            speaker.say(wire, "hello")


def post(model, path, body):
    headers = {"anthropic-version": "2023-06-01"}
    return httpx.post(model.url + path, json=body, headers=headers, timeout=20)


def chat(*messages):
    return {"model": "m", "messages": [{"role": "user", "content": "hello"}, *messages]}


CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "3"}
CUT_CALL = {**CALL, "function": {"name": "add", "arguments": '{"a": 1'}}


@pytest.mark.parametrize(
    "body, complaint",
    [
        (chat(CALLED), "the calls ['c1'] have no result"),
        (chat(CALLED, {"role": "user", "content": "so?"}, RESULT), "have no result"),
        (chat(RESULT), "unexpected result for the call 'c1'"),
        (chat(CALLED, RESULT, RESULT), "unexpected result"),
        (chat({**CALLED, "tool_calls": [CUT_CALL]}, RESULT), "no JSON object"),
        (chat({"role": "assistant", "content": ""}), "assistant is empty"),
        ({**chat(), "model": ""}, "model is missing"),
    ],
)
def test_a_conversation_that_a_vendor_rejects_is_rejected(body, complaint):
    with model_server(["fine"]) as model:
        answer = post(model, "/v1/chat/completions", body)
        assert answer.status_code == 400 and complaint in answer.json()["error"]["message"]
        assert len(model.rejected) == 1
        # The control: the same conversation in order.
        whole = [{**CALLED, "tool_calls": [CALL]}, RESULT]
        assert post(model, "/v1/chat/completions", chat(*whole)).status_code == 200


def test_thinking_must_come_back_as_it_was():
    thought = {"type": "thinking", "thinking": "hm", "signature": ms.signature_of("hm")}
    for text, status in (("hm", 200), ("hmm", 400)):
        said = {"role": "assistant", "content": [{**thought, "thinking": text}]}
        messages = [{"role": "user", "content": "a"}, said, {"role": "user", "content": "b"}]
        body = {"model": "m", "max_tokens": 9, "messages": messages}
        with model_server(["one", "two"]) as model:
            assert post(model, "/v1/messages", body).status_code == status


def test_a_silent_and_an_endless_answer_end_when_the_client_leaves():
    faults = [ms.silent(2), ms.endless()]
    with model_server([Turn("word ", faults=faults)]) as model:
        body = {**chat(), "stream": True}
        for number in (1, 2):
            with httpx.stream("POST", model.url + "/v1/chat/completions", json=body) as answer:
                lines = answer.iter_lines()
                assert next(lines).startswith("data: ")
            model.wait_for(lambda it: len(it.gone) == number, "the client's leave")


def test_a_held_answer_comes_when_the_test_allows_it():
    go, seen = threading.Event(), []
    with model_server([Turn("now", faults=[ms.held(go)])]) as model:
        asking = threading.Thread(
            target=lambda: seen.append(post(model, "/v1/chat/completions", chat()).json())
        )
        asking.start()
        model.wait_for(lambda it: it.requests)
        assert seen == []
        go.set()
        asking.join(20)
    assert seen[0]["choices"][0]["message"]["content"] == "now"


def test_the_wrong_type_and_cut_json_of_a_whole_answer():
    with model_server([Turn("x" * 99, faults=[ms.wrong_type(), ms.malformed()])]) as model:
        page = post(model, "/v1/chat/completions", chat())
        assert page.headers["content-type"] == "text/html" and page.text.startswith("<html>")
        half = post(model, "/v1/chat/completions", chat())
        with pytest.raises(ValueError):
            half.json()


def test_a_closed_server_leaves_no_port_behind():
    with model_server(["x"]) as model:
        port = model.server.server_port
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.1", port))
