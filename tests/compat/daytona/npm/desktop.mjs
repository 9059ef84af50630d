// Cay runs no desktop: each call reaches the server and is refused.
import assert from "node:assert/strict";

import { refused } from "./world.mjs";

export async function no_desktop({ box: { computerUse: screen } }) {
  assert.equal((await screen.getStatus()).status, "inactive");
  const { mouse, keyboard, screenshot, display, recording, accessibility } = screen;
  const region = { x: 0, y: 0, width: 10, height: 10 };
  for (const [owner, name, ...args] of [
    [screen, "start"],
    [screen, "stop"],
    [screen, "getProcessStatus", "xvfb"],
    [screen, "restartProcess", "xvfb"],
    [screen, "getProcessLogs", "xvfb"],
    [screen, "getProcessErrors", "xvfb"],
    [mouse, "getPosition"],
    [mouse, "move", 1, 1],
    [mouse, "click", 1, 1],
    [mouse, "drag", 1, 1, 2, 2],
    [mouse, "scroll", 1, 1, "up"],
    [keyboard, "type", "a"],
    [keyboard, "press", "a"],
    [keyboard, "hotkey", "ctrl+c"],
    [screenshot, "takeFullScreen"],
    [screenshot, "takeRegion", region],
    [screenshot, "takeCompressed"],
    [screenshot, "takeCompressedRegion", region],
    [display, "getInfo"],
    [display, "getWindows"],
    [recording, "start"],
    [recording, "stop", "r"],
    [recording, "list"],
    [recording, "get", "r"],
    [recording, "delete", "r"],
    [accessibility, "getTree"],
    [accessibility, "findNodes"],
    [accessibility, "focusNode", "n"],
    [accessibility, "invokeNode", "n"],
    [accessibility, "setNodeValue", "n", "v"],
  ])
    await refused(owner[name](...args), /desktop|accessibility|screen|503/);
  // The client asks for a stream, and so has no words of the answer.
  assert.equal((await refused(recording.download("r", "/dev/null"))).statusCode, 503);
}
