"""A deepagents agent whose computer is a sandbox of Cay's. It needs

    pip install ./python/cay_client ./python/cay_deepagents langchain-openai
    CAY_URL=http://127.0.0.1:8787 CAY_API_KEY=… OPENAI_API_KEY=… python deep_agent.py
"""
import os

from cay_deepagents import CaySandbox
from deepagents import create_deep_agent

with CaySandbox() as sandbox:
    agent = create_deep_agent(
        model=os.environ.get("MODEL", "openai:gpt-4.1-mini"),
        system_prompt="You are a Python coding assistant with a sandbox.",
        backend=sandbox,
    )
    task = "Create a hello world Python script and run it"
    print(agent.invoke({"messages": [("user", task)]})["messages"][-1].text)
