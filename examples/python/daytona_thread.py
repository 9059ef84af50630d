"""One sandbox for each conversation, by Daytona's client: whoever comes first makes it, all others
find it, however many come at once. It needs

    pip install daytona langchain-daytona
    eval "$(cay env)"        # DAYTONA_API_URL and DAYTONA_API_KEY
    python daytona_thread.py THREAD
"""

import sys

from daytona import CreateSandboxFromSnapshotParams, Daytona
from langchain_daytona import DaytonaSandbox

thread = sys.argv[1] if len(sys.argv) > 1 else "thread-1"
# The sandbox goes once it has been stopped for an hour.
params = CreateSandboxFromSnapshotParams(labels={"thread_id": thread}, auto_delete_interval=60)
sandbox = Daytona().create(params)
backend = DaytonaSandbox(sandbox=sandbox)
backend.upload_files([("/src/index.py", b"print(6 * 7)\n")])
for file in backend.download_files(["/src/index.py", "/output.txt"]):
    print(file.path, file.content.decode().strip() if file.content else file.error)
print(sandbox.id, backend.execute("python3 /src/index.py").output.strip())
