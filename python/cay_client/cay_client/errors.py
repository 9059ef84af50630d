"""Errors of Cay's API as exceptions."""

import httpx


class CayError(Exception):
    """A request that the daemon refused or did not answer.

    `code` is one of the closed set of docs/errors.md, and names the caller's next step. `reason`
    is a stable word.
    """

    def __init__(self, code: str, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message


def error_of(response: httpx.Response) -> CayError:
    """Returns the exception for an answer that reports an error. Its body has been read."""
    try:
        error = response.json()["error"]
        return CayError(error["code"], error["reason"], error["message"])
    except (ValueError, KeyError, TypeError):
        text = f"HTTP {response.status_code}: {response.text[:500]}"
        return CayError("internal", "unexpected_answer", text)
