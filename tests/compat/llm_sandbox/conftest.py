"""Programs that use python/, our package with the shape of llm-sandbox, against the real daemon."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python"))


@pytest.fixture(autouse=True)
def addressed(daemon, monkeypatch):
    """The package finds this daemon as any program does: by its environment."""
    monkeypatch.setenv("CAY_URL", daemon.url)
    monkeypatch.setenv("CAY_API_KEY", daemon.key)
    for name in ("CAY_SANDBOX_IMAGE", "CAY_SANDBOX_IMAGE_PYTHON", "CAY_CA_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def ids(http):
    """Returns the ids of all sandboxes that there are."""
    return lambda: {one["id"] for one in http.get("/api/v1/sandboxes").json()["items"]}
