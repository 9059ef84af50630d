"""python/cay_deepagents, installed from the tree, against the real daemon."""
import pytest


@pytest.fixture(autouse=True)
def addressed(daemon, monkeypatch):
    """The package finds this daemon as any program does: by its environment."""
    monkeypatch.setenv("CAY_URL", daemon.url)
    monkeypatch.setenv("CAY_API_KEY", daemon.key)
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    monkeypatch.delenv("CAY_CA_FILE", raising=False)


@pytest.fixture(scope="module")
def backend(daemon):
    from cay_client import Cay
    from cay_deepagents import CaySandbox

    with Cay(daemon.url, daemon.key) as cay, CaySandbox(cay=cay) as made:
        yield made
