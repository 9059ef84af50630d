"""BaseSession: the class of every session, for annotations."""

from ..session import Session as BaseSession

__all__ = ["BaseSession"]
