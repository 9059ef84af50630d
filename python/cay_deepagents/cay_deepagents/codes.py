"""Cay's reasons in the words of deepagents' protocol."""

from cay_client import CayError

# Failures that a wrong path or the state of the disk causes. All others are the infrastructure's.
CODES = {
    "file_not_found": "file_not_found",
    "permission_denied": "permission_denied",
    "read_only": "permission_denied",
    "is_a_directory": "is_directory",
    "not_a_directory": "invalid_path",
    "not_a_regular_file": "invalid_path",
    "invalid_path": "invalid_path",
    "symlink_loop": "invalid_path",
    "unsafe_path": "invalid_path",
    "already_exists": "already_exists",
    "directory_not_empty": "directory_not_empty",
    "disk_full": "disk_full",
    "busy": "busy",
    "body_too_large": "file_too_large",
    "listing_too_large": "too_many_results",
    "bad_pattern": "invalid_pattern",
    "invalid_pattern": "invalid_pattern",
}


def code_of(error: CayError) -> str:
    """Returns the word for a failure that is a value. Raises the error again if it is none."""
    code = CODES.get(error.reason)
    if code is None:
        raise error
    return code
