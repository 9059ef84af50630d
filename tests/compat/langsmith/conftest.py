import os

import pytest


@pytest.fixture(scope="session")
def client(daemon):
    """The unmodified Python client; only URL and key are ours."""
    os.environ.update(
        LANGSMITH_ENDPOINT=daemon.url, LANGSMITH_API_KEY=daemon.key, LANGSMITH_TRACING="false"
    )
    from langsmith.sandbox import SandboxClient

    with SandboxClient() as made:
        yield made


@pytest.fixture
def sandbox(client):
    with client.sandbox() as made:
        yield made
