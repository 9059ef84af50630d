// Counts the calls that a program itself makes of a client's methods, and those during which the
// server answered.
import { AsyncLocalStorage } from "node:async_hooks";
import http from "node:http";

const inside = new AsyncLocalStorage(); // the call that the code at hand works for
const open = new Set(); // the calls that have not ended
const called = {};
const reached = {};

const count = (counts, { method }) => (counts[method] = (counts[method] ?? 0) + 1);
const ours = (path) => path.startsWith("/daytona/") && !path.includes("/socket.io");

/** Returns {called, reached}: each {"Class.method": count}. */
export const counts = () => ({ called, reached });

/** Counts the methods "Class.method" of `surface` from now on. `kinds` has the classes by name. */
export function watch(kinds, surface) {
  for (const method of surface) {
    const [kind, name] = method.split(".");
    const owner = [kinds[kind].prototype, kinds[kind]].find((one) => Object.hasOwn(one, name));
    const call = owner[name];
    owner[name] = function (...args) {
      if (inside.getStore()) return call.apply(this, args); // a method that calls another
      const one = { method, self: this };
      count(called, one);
      return followed(one, during(one, () => call.apply(this, args)));
    };
  }
}

/** Hears the answers and the frames of the server. `WebSocket` is the class of the client. */
export function listen(WebSocket) {
  const { request } = http;
  http.request = (...args) => {
    const made = request(...args);
    const call = inside.getStore();
    if (call && ours(made.path))
      for (const event of ["response", "upgrade"]) made.once(event, () => count(reached, call));
    return made;
  };
  const { send, emit } = WebSocket.prototype;
  WebSocket.prototype.send = function (...args) {
    if (inside.getStore()) count(reached, inside.getStore());
    return send.apply(this, args);
  };
  WebSocket.prototype.emit = function (event, ...args) {
    if (event === "message")
      for (const one of open) if (one.self?.ws === this) count(reached, one);
    return emit.call(this, event, ...args);
  };
}

function during(one, work) {
  open.add(one);
  const got = inside.run(one, work);
  if (typeof got?.then !== "function") {
    open.delete(one);
    return got;
  }
  return got.finally(() => open.delete(one));
}

// A generator does its work later.
function followed(one, got) {
  const draws = typeof got?.next === "function" && typeof got[Symbol.asyncIterator] === "function";
  return draws ? drawn(one, got) : got;
}

async function* drawn(one, got) {
  for (;;) {
    const { done, value } = await during(one, () => got.next());
    if (done) return;
    yield value;
  }
}
