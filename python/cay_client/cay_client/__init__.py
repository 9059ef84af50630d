"""A small client of Cay's native API."""

from .connection import Cay
from .errors import CayError
from .images import build
from .sandbox import CommandResult, Sandbox
from .threads import in_thread

__all__ = ["Cay", "CayError", "CommandResult", "Sandbox", "build", "in_thread"]
