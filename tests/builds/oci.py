"""What an OCI layout contains: the merged files of its layers, and its configuration."""
import gzip
import hashlib
import io
import json
import pathlib
import tarfile

WHITEOUT, OPAQUE = ".wh.", ".wh..wh..opq"
_read = {}  # the entries of a layer by the digest of its blob


def blob(layout, digest):
    return pathlib.Path(layout) / "blobs/sha256" / digest.split(":")[1]


def manifest_of(layout):
    """The only image of a layout."""
    (entry,) = json.loads((pathlib.Path(layout) / "index.json").read_text())["manifests"]
    return json.loads(blob(layout, entry["digest"]).read_text())


def config_of(layout):
    config = json.loads(blob(layout, manifest_of(layout)["config"]["digest"]).read_text())
    return config.get("config", {})


def _entry(tar, member):
    facts = {"mode": member.mode & 0o7777, "uid": member.uid, "gid": member.gid}
    xattrs = {
        key.removeprefix("SCHILY.xattr."): value
        for key, value in member.pax_headers.items()
        if key.startswith(("SCHILY.xattr.user.", "SCHILY.xattr.security.capability"))
    }
    if xattrs:
        facts["xattrs"] = xattrs
    if member.isdir():
        return {"kind": "directory", **facts}
    if member.issym():
        return {"kind": "symlink", "to": member.linkname, "uid": member.uid, "gid": member.gid}
    if member.islnk():
        return {"kind": "link", "to": name_of(member.linkname)}
    if member.isfile():
        content = hashlib.sha256(tar.extractfile(member).read()).hexdigest()
        return {"kind": "file", "size": member.size, "sha256": content, **facts}
    if member.ischr() or member.isblk():
        return {"kind": "device", **facts}
    return {"kind": f"type {member.type!r}", **facts}


def name_of(path):
    path = path.removeprefix("./").strip("/")
    return "" if path == "." else path


def entries_of(layout, digest):
    """(path, facts) of each entry of a layer, in their order."""
    if digest not in _read:
        with open(blob(layout, digest), "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            stream = gzip.GzipFile(fileobj=file) if packed else file
            with tarfile.open(fileobj=io.BufferedReader(stream, 1 << 20), mode="r|") as tar:
                _read[digest] = [(name_of(one.name), _entry(tar, one)) for one in tar]
    return _read[digest]


class Merged:
    """The files that one sees who stacks the layers."""

    def __init__(self, layout):
        self.files, self.below = {}, {}
        for layer in manifest_of(layout)["layers"]:
            entries = entries_of(layout, layer["digest"])
            for path, _ in entries:  # what a layer removes is of those below
                self.whiteout(path)
            for path, facts in entries:
                if path and not path.rsplit("/", 1)[-1].startswith(WHITEOUT):
                    self.put(path, facts)

    def whiteout(self, path):
        folder, _, name = path.rpartition("/")
        if name == OPAQUE:
            for one in list(self.below.get(folder, ())):
                self.remove(f"{folder}/{one}".strip("/"))
        elif name.startswith(WHITEOUT):
            self.remove(f"{folder}/{name.removeprefix(WHITEOUT)}".strip("/"))

    def remove(self, path):
        for one in list(self.below.pop(path, ())):
            self.remove(f"{path}/{one}")
        if self.files.pop(path, None):
            folder, _, name = path.rpartition("/")
            self.below.get(folder, set()).discard(name)

    def put(self, path, facts):
        if facts["kind"] == "link":
            facts = self.files.get(facts["to"], facts)
        old = self.files.get(path)
        if old and "directory" in (old["kind"], facts["kind"]) and old["kind"] != facts["kind"]:
            self.remove(path)
        self.files[path] = facts
        folder, _, name = path.rpartition("/")
        self.below.setdefault(folder, set()).add(name)
