"""Members of results that not every release of deepagents 0.7 has."""

import dataclasses
from typing import Any


def known(result: type, **members: Any) -> dict[str, Any]:
    """Returns those of the members that the class of the result has."""
    names = {one.name for one in dataclasses.fields(result)}
    return {name: value for name, value in members.items() if name in names}
