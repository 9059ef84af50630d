"""Makes sessions, finds them again and deletes them."""

import uuid
from typing import Any, Literal

from agents.sandbox.manifest import Manifest
from agents.sandbox.session import SandboxSession, SandboxSessionState
from agents.sandbox.session.dependencies import Dependencies
from agents.sandbox.session.manager import Instrumentation
from agents.sandbox.session.sandbox_client import BaseSandboxClient, BaseSandboxClientOptions
from agents.sandbox.snapshot import SnapshotBase, SnapshotSpec, resolve_snapshot
from cay_client import Cay, CayError, Sandbox, in_thread

from .session import CaySandboxSession, CaySandboxSessionState

ROOT = "/workspace"


class CaySandboxClientOptions(BaseSandboxClientOptions):
    """What the sandbox is made of. `create` are other members of POST /sandboxes."""

    type: Literal["cay"] = "cay"
    image: str | None = None
    snapshot: str | None = None
    policy: str | None = None
    env: dict[str, str] | None = None
    create: dict[str, Any] | None = None

    def members(self) -> dict[str, Any]:
        """Returns the members of POST /sandboxes."""
        own = {name: getattr(self, name) for name in ("image", "snapshot", "policy", "env")}
        return {name: one for name, one in own.items() if one is not None} | (self.create or {})


class CaySandboxClient(BaseSandboxClient[CaySandboxClientOptions]):
    """Sandboxes of the daemon that CAY_URL and CAY_API_KEY name."""

    backend_id = "cay"
    supports_default_options = True

    def __init__(
        self,
        *,
        cay: Cay | None = None,
        instrumentation: Instrumentation | None = None,
        dependencies: Dependencies | None = None,
    ) -> None:
        self._cay = cay or Cay()
        self._instrumentation = instrumentation or Instrumentation()
        self._dependencies = dependencies

    async def create(
        self,
        *,
        snapshot: SnapshotSpec | SnapshotBase | None = None,
        manifest: Manifest | None = None,
        options: CaySandboxClientOptions | None = None,
    ) -> SandboxSession:
        manifest = self._validate_manifest_for_create(manifest or Manifest(root=ROOT))
        wanted = options or CaySandboxClientOptions()
        session_id = uuid.uuid4()
        kept = resolve_snapshot(snapshot, str(session_id))
        box = await in_thread(self._cay.create, **wanted.members())
        state = CaySandboxSessionState(
            session_id=session_id, sandbox_id=box.id, manifest=manifest, snapshot=kept
        )
        return self._session(state, box)

    async def resume(self, state: SandboxSessionState) -> SandboxSession:
        """Returns a session on the same sandbox. One that is gone is an error, and never replaced
        by an empty one, unless the state has a snapshot of its workspace."""
        if not isinstance(state, CaySandboxSessionState):
            raise TypeError(f"a state of Cay's is needed, not {type(state).__name__}")
        try:
            box = await in_thread(self._cay.get, state.sandbox_id)
        except CayError as error:
            restorable = await state.snapshot.restorable()
            if error.reason != "sandbox_not_found" or not restorable:
                raise
            box = await in_thread(self._cay.create)
            state.sandbox_id, state.workspace_root_ready = box.id, False
            return self._session(state, box)
        session = self._session(state, box)
        session._inner._set_start_state_preserved(True)
        return session

    async def delete(self, session: SandboxSession) -> SandboxSession:
        state = session.state
        if isinstance(state, CaySandboxSessionState):
            await in_thread(self._cay.delete, state.sandbox_id)
        return session

    def deserialize_session_state(self, payload: dict[str, object]) -> SandboxSessionState:
        return self._deserialize_session_state_payload(payload, CaySandboxSessionState)

    def _session(self, state: CaySandboxSessionState, box: Sandbox) -> SandboxSession:
        inner = CaySandboxSession(state, box)
        return self._wrap_session(inner, instrumentation=self._instrumentation)
