"""The native API with nothing but an HTTP client: one round trip writes, runs and reads.

    CAY_URL=http://127.0.0.1:8787 CAY_API_KEY=… python native_api.py
"""
import os

import httpx

with httpx.Client(
    base_url=os.environ["CAY_URL"], headers={"X-Api-Key": os.environ["CAY_API_KEY"]}, timeout=60
) as cay:
    box = (
        cay.post("/api/v1/sandboxes", json={"labels": {"example": "native"}})
        .raise_for_status()
        .json()
    )
    try:
        got = (
            cay.post(
                f"/api/v1/sandboxes/{box['id']}/batch",
                json={
                    "writes": [{"path": "/app/in.txt", "content": "3\n1\n2\n"}],
                    "command": {"command": "sort /app/in.txt > /app/out.txt"},
                    "reads": ["/app/out.txt"],
                },
            )
            .raise_for_status()
            .json()
        )
        print(got["command"]["state"], got["command"]["exit_code"])
        print(got["reads"][0]["content"], end="")
    finally:
        cay.delete(f"/api/v1/sandboxes/{box['id']}")
