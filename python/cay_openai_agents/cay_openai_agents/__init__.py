"""Cay's sandboxes for the OpenAI Agents SDK."""

from cay_client import CayError

from .client import CaySandboxClient, CaySandboxClientOptions
from .session import CaySandboxSession, CaySandboxSessionState

__all__ = [
    "CayError",
    "CaySandboxClient",
    "CaySandboxClientOptions",
    "CaySandboxSession",
    "CaySandboxSessionState",
]
