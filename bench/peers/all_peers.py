"""The peers by name, in the order of the tables."""

from bubblewrap import Bubblewrap
from debian import Skipped
from docker import Docker
from forkbox import Forkbox
from oci import Crun, Runc, Runsc
from podman import Podman

KINDS = {kind.name: kind for kind in (Bubblewrap, Crun, Runc, Podman, Docker, Runsc, Forkbox)}


def ready(names, tree, archive, told):
    """Returns (peers that work here, why each of the others is left out)."""
    peers, left_out = [], {}
    for name in names:
        peer = KINDS[name]()
        try:
            peer.prepare(tree, archive)
            peers.append(peer)
            told(f"peer {name}: {peer.version or 'ready'}")
        except Exception as error:  # pylint: disable=broad-except
            left_out[name] = str(error) if isinstance(error, Skipped) else repr(error)
            told(f"peer {name} is left out: {left_out[name]}")
            try:
                peer.close()
            except Exception as trouble:  # pylint: disable=broad-except
                told(f"peer {name}: {trouble!r}")
    return peers, left_out
