"""A LangChain agent that runs what it writes, in a sandbox of Cay's for each run. It needs

    pip install httpx langchain langchain-openai
    CAY_URL=http://127.0.0.1:8787 CAY_API_KEY=… OPENAI_API_KEY=… python langchain_code_sandbox.py
"""
import os

import httpx
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_openai import ChatOpenAI

key = {"X-Api-Key": os.environ["CAY_API_KEY"]}
cay = httpx.Client(base_url=os.environ["CAY_URL"], headers=key, timeout=120)


@tool
def run_code(language: str, code: str) -> str:
    """Runs a program in python, java, javascript, cpp, go, ruby or bash. Returns its output."""
    return cay.post("/api/v1/code", json={"language": language, "code": code}).text


agent = create_agent(ChatOpenAI(model=os.environ.get("MODEL", "gpt-4.1-mini")), [run_code])
for question in (
    "Estimate pi with a Monte Carlo simulation",
    "Calculate the factorial of 20",
    "Print the first 10 Fibonacci numbers",
    "Sum the first 10,000 numbers",
):
    print(agent.invoke({"messages": [("user", question)]})["messages"][-1].content)
