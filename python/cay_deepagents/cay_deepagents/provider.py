"""`dcode --sandbox cay`: sandboxes for deepagents' terminal program."""

from typing import Any

from cay_client import Cay, CayError
from deepagents_code.integrations.sandbox_provider import (
    SandboxNotFoundError,
    SandboxProvider,
    SandboxProviderMetadata,
)

from .backend import CaySandbox

WORKING_DIR = "/workspace"
# dcode may end its server before that deletes the sandbox. Such a one does not stay.
TIMERS = {"idle_ttl_s": 600, "delete_after_stop_s": 3600}


class CaySandboxProvider(SandboxProvider):
    """Finds or creates a sandbox of the daemon that CAY_URL and CAY_API_KEY name. No image is
    built: without `--sandbox-snapshot-name` the sandbox starts from the daemon's default."""

    @property
    def metadata(self) -> SandboxProviderMetadata:
        return SandboxProviderMetadata(
            name="cay",
            working_dir=WORKING_DIR,
            supports_sandbox_id=True,
            supports_snapshot_name=True,
        )

    def get_or_create(self, *, sandbox_id: str | None = None, **kwargs: Any) -> CaySandbox:
        """Returns the sandbox of that id or name, or a new one.

        Of the other arguments `snapshot_name` counts, and the members of POST /sandboxes that the
        configuration gives as `params`: image, policy, limits, …
        """
        cay = Cay()
        if sandbox_id:
            try:
                return CaySandbox(cay.get(sandbox_id), cay=cay)
            except CayError as error:
                if error.reason == "sandbox_not_found":
                    raise SandboxNotFoundError(f"Cay has no sandbox '{sandbox_id}'") from error
                raise
        options = {name: value for name, value in kwargs.items() if value is not None}
        snapshot = options.pop("snapshot_name", None) or options.pop("snapshot", None)
        if snapshot:
            options["snapshot"] = snapshot
        known = {**TIMERS, **{name: options[name] for name in OPTIONS & options.keys()}}
        labels = {"made-by": "dcode", **known.pop("labels", {})}
        return CaySandbox(cay.create(labels=labels, workdir=WORKING_DIR, **known), cay=cay)

    def delete(self, *, sandbox_id: str, **kwargs: Any) -> None:
        with Cay() as cay:
            cay.delete(sandbox_id)


# The members of POST /sandboxes that a configuration may set. dcode passes others of its own.
OPTIONS = frozenset(
    "name snapshot image labels limits user env policy rules proxy idle_ttl_s delete_after_stop_s "
    "lifetime_s commands_keep_awake profile tmpfs volumes read_only_paths hidden_paths "
    "timeout_s".split()
)
