"""The path of deepagents' terminal agent: a snapshot of python:3, where a mirror has that image."""
import pathlib
import shutil
import tempfile

import images
import pytest
from image_root import root_tar

from harness import new_daemon


@pytest.mark.skipif(
    not all(map(shutil.which, ("docker-registry", "skopeo"))),
    reason="not installed: docker-registry and skopeo",
)
def test_its_snapshot_of_python_comes_from_the_mirror(request):
    from langsmith.sandbox import SandboxClient

    folder = pathlib.Path(tempfile.mkdtemp(prefix="cay-mirror-"))
    root = root_tar(programs=("bash", "sh", "cat"), more={"/etc/note": b"of the mirror\n"})
    layout = images.Image(root).layout(folder / "layout")
    with images.registry(folder / "registry") as host:
        to = f"docker://{host}/library/python:3"
        images.skopeo("copy", "--dest-tls-verify=false", f"oci:{layout}", to)
        config = folder / "cay.toml"
        config.write_text(f'[images.mirrors]\n"docker.io" = "http://{host}"\n')
        folder.chmod(0o755)
        daemon = new_daemon("--config", config).start()
        url = f"{daemon.url}/v2/sandboxes"
        try:
            with SandboxClient(api_endpoint=url, api_key=daemon.key) as client:
                made = client.create_snapshot("deepagents-code", "python:3", 16 << 30)
                assert [made.id] == [
                    one.id for one in client.list_snapshots() if one.name == "deepagents-code"
                ]
                with client.sandbox(snapshot_id=made.id, timeout=180) as box:
                    assert box.run("echo ready", timeout=5).exit_code == 0
                    assert box.run("cat /etc/note").stdout == "of the mirror\n"
                # The tutorial's Dockerfile, and an image of that name from the same mirror.
                (folder / "Dockerfile").write_text("FROM python:3\nRUN echo built > /etc/note\n")
                built = client.create_snapshot_from_dockerfile(
                    "built", "Dockerfile", context=folder, timeout=120
                )
                with client.sandbox(snapshot_id=built.id) as box:
                    assert box.run("cat /etc/note").stdout == "built\n"
        finally:
            daemon.close(keep_log=request.session.testsfailed > 0)
            shutil.rmtree(folder, ignore_errors=True)
