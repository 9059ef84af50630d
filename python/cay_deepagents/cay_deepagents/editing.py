"""edit(): one exact text of a file for another."""

from cay_client import CayError, Sandbox
from deepagents.backends.protocol import EditResult

from .codes import code_of

MOST_TEXT = 65536  # of the daemon's own replacement
NO_OLD = "Error: old_string cannot be empty. Provide the exact text to replace."


def _as_in_file(content: str, old: str, new: str) -> tuple[str, str, int]:
    """Returns both texts with the line ends of the file, and how often the old one is there.

    A model sees every file with LF alone.
    """
    lf = {old: new, old.replace("\r\n", "\n"): new.replace("\r\n", "\n")}
    old_lf, new_lf = list(lf.items())[-1]
    crlf = (old_lf.replace("\n", "\r\n"), new_lf.replace("\n", "\r\n"))
    for old_text, new_text in ((old, new), crlf, (old_lf, new_lf)):
        if count := content.count(old_text):
            return old_text, new_text, count
    return old, new, 0


def _replace(box: Sandbox, path: str, content: str, old: str, new: str) -> None:
    """Writes the file with `new` in each place of `old`."""
    coded, new_coded = old.encode(), new.encode()
    searchable = "\0" not in content[:8192] and max(len(coded), len(new_coded)) <= MOST_TEXT
    # The daemon's replacement loses no change that a program in the sandbox makes meanwhile.
    if searchable and box.replace(path, old, new):
        return
    box.write(path, content.replace(old, new).encode())


def edit(box: Sandbox, path: str, old: str, new: str, replace_all: bool) -> EditResult:
    if not old:
        return EditResult(error=NO_OLD)
    try:
        content = box.read(path).decode("utf-8")
        old_text, new_text, count = _as_in_file(content, old, new)
        if count == 0:
            return EditResult(error=f"Error: String not found in file: '{old}'")
        if count > 1 and not replace_all:
            return EditResult(
                error=f"Error: String '{old}' appears multiple times. "
                "Use replace_all=True to replace all occurrences."
            )
        if old_text != new_text:
            _replace(box, path, content, old_text, new_text)
    except UnicodeDecodeError:
        return EditResult(error=f"Error: File '{path}' is not a text file")
    except CayError as error:
        code = code_of(error)
        errors = {
            "file_not_found": f"Error: File '{path}' not found",
            "permission_denied": f"Error: Permission denied editing file '{path}'",
            "is_directory": f"Error: '{path}' is not a regular file",
        }
        return EditResult(error=errors.get(code, f"Error editing file '{path}': {code}"))
    return EditResult(path=path, occurrences=count)
