"""A deepagents agent in a sandbox that Daytona's own client makes. It needs

pip install daytona langchain-daytona langchain-openai
eval "$(cay env)"        # DAYTONA_API_URL and DAYTONA_API_KEY
OPENAI_API_KEY=… python daytona_agent.py
"""

import os

from daytona import Daytona
from deepagents import create_deep_agent
from langchain_daytona import DaytonaSandbox

sandbox = Daytona().create()
try:
    agent = create_deep_agent(
        model=os.environ.get("MODEL", "openai:gpt-4.1-mini"),
        system_prompt="You are a Python coding assistant with a sandbox.",
        backend=DaytonaSandbox(sandbox=sandbox),
    )
    task = "Create a hello world Python script and run it"
    print(agent.invoke({"messages": [("user", task)]})["messages"][-1].text)
finally:
    sandbox.stop()
