"""The model of the code-sandbox tutorial: for a question it writes a program, and it answers with
what the program printed."""
import json
import re

from model_server import Call, Turn, model_server

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
# The tutorial's four inputs.
QUESTIONS = (
    "Estimate pi with a Monte Carlo simulation",
    "Calculate the factorial of 20",
    "Print the first 10 Fibonacci numbers",
    "Sum the first 10,000 numbers",
)
STATUS = re.compile(r"^\[Command (succeeded|failed) with exit code \d+\]$", re.M)


def printed(result):
    """What a program printed, by the text of its tool's result."""
    text = result.text
    if text.startswith("{"):
        text = json.loads(text)["stdout"]
    return STATUS.sub("", text).strip()


def tutorial(request):
    """The next turn. The model has nothing but the output of the tool."""
    if request.results:
        return Turn(" ".join(printed(request.results[0]).split()))
    question = request.users[-1].text
    [(language, code)] = [row for word, row in PROGRAMS.items() if word in question]
    return Turn(calls=[Call("run_code", {"language": language, "code": code})])


def hello(request):
    """The model of the examples: the program that they ask for, and its real output."""
    if not request.results:
        line = "echo 'print(\"Hello, world!\")' >hello.py && python3 hello.py"
        return Turn(calls=[Call("execute", {"command": line})])
    return Turn(f"It printed: {request.results[0].text}")


def scripted_model():
    """The server. `requests` has what it got, and `env` the settings by which a client finds it."""
    return model_server(tutorial)
