"""A language server from the tests' own environment, for a sandbox: its Python is the host's."""

import functools
import io
import pathlib
import tarfile

import pylsp

PACKAGES = (
    "docstring_to_markdown",
    "importlib_metadata",
    "jedi",
    "lazy_importer",
    "parso",
    "pluggy",
    "pylsp",
    "pylsp_jsonrpc",
    "python_lsp_server",
    "typing_extensions",
    "ujson",
    "zipp",
)
SOURCE = b"class Shape:\n    def area(self):\n        return 1\n\none = Shape()\nthing = one.\n"
UNPACK = (
    "mkdir -p /opt/pylsp && tar -xzf /tmp/pylsp.tgz -C /opt/pylsp && "
    "printf '#!/bin/sh\\nPYTHONPATH=/opt/pylsp exec /usr/bin/python3 -m pylsp \"$@\"\\n' "
    ">/usr/local/bin/pylsp && chmod +x /usr/local/bin/pylsp"
)


@functools.cache
def packed_pylsp():
    """A compressed tar. The stubs of Django, most of jedi's bytes, are left out."""
    site, packed = pathlib.Path(pylsp.__file__).parents[1], io.BytesIO()

    def kept(member):
        left_out = "__pycache__" in member.name or "third_party/django" in member.name
        return None if left_out else member

    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as tar:
        for path in sorted(site.iterdir()):
            if path.name.split(".")[0].split("-")[0] in PACKAGES:
                tar.add(path, path.name, filter=kept)
    return packed.getvalue()
