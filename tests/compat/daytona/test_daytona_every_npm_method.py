"""Every method of Daytona's npm client by one program. What it did not call fails, unless the page
excuses the method."""

from daytona_surface import complaints, typescript_surface
from language_server import SOURCE, UNPACK, packed_pylsp
from npm_program import told


def test_every_npm_method_reaches_the_server(daemon, tmp_path):
    packed = tmp_path / "pylsp.tgz"
    packed.write_bytes(packed_pylsp())
    surface = typescript_surface()
    *_, counts = told(
        "every_method.mjs",
        daemon,
        tmp_path,
        surface=sorted(surface),
        pylsp=str(packed),
        unpack=UNPACK,
        source=SOURCE.decode(),
    )
    found = complaints(surface, 1, counts["called"], counts["reached"])
    assert not found, "\n".join(found)
