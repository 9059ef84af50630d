"""Cay's sandboxes as an environment of Harbor."""

from .environment import CayEnvironment

__all__ = ["CayEnvironment"]
