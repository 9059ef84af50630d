"""Cay's sandboxes as a backend of deepagents."""

from cay_client import CayError

from .backend import CaySandbox

__all__ = ["CayError", "CaySandbox"]
