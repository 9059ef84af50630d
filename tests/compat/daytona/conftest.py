import os
import uuid

import pytest


@pytest.fixture(scope="session")
def client(daemon):
    """The unmodified Python client. Only URL and key are ours."""
    os.environ.update(daemon.env)
    from daytona import Daytona

    return Daytona()


@pytest.fixture(scope="module")
def sandbox(client):
    made = client.create()
    yield made
    client.delete(made)


@pytest.fixture
def name():
    """A name that nothing else has."""
    return f"d-{uuid.uuid4().hex[:10]}"
