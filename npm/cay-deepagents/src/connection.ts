// Cay: requests to one daemon.
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const USUAL_URL = "http://127.0.0.1:8787";
const REPEAT_FOR_MS = 30_000; // a restart of the daemon takes less
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** A request that the daemon refused or did not answer. docs/errors.md lists the reasons. */
export class CayError extends Error {
  constructor(
    readonly code: string,
    readonly reason: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "CayError";
  }
}

export interface CayOptions {
  /** Default: CAY_URL. */
  url?: string;
  /** Default: CAY_API_KEY, or the file `api-key` of the data directory. */
  key?: string;
}

interface Request {
  query?: Record<string, string>;
  json?: unknown;
  body?: Uint8Array;
  /** Sends the request again where the daemon does not answer for a while. */
  repeat?: boolean;
}

function usualKey(): string {
  if (process.env.CAY_API_KEY) return process.env.CAY_API_KEY;
  const data = process.env.CAY_DATA;
  for (const folder of data ? [data] : [join(homedir(), ".local/share/cay"), "/var/lib/cay"]) {
    try {
      return readFileSync(join(folder, "api-key"), "utf8").trim();
    } catch {
      continue;
    }
  }
  throw new CayError(
    "unauthenticated",
    "no_key",
    'there is no key for Cay: set CAY_API_KEY (`eval "$(cay env)"`)',
  );
}

async function errorOf(response: Response): Promise<CayError> {
  const text = await response.text();
  try {
    const { code, reason, message } = JSON.parse(text).error;
    return new CayError(code, reason, message);
  } catch {
    return new CayError(
      "internal",
      "unexpected_answer",
      `HTTP ${response.status}: ${text.slice(0, 500)}`,
    );
  }
}

/** One daemon, found by CAY_URL and CAY_API_KEY. */
export class Cay {
  readonly url: string;
  readonly #key: string;

  constructor(options: CayOptions = {}) {
    this.url = (options.url ?? process.env.CAY_URL ?? USUAL_URL).replace(/\/+$/, "");
    this.#key = options.key ?? usualKey();
  }

  /** The answer of a request that succeeded. Its body has not been read. */
  async request(method: string, path: string, request: Request = {}): Promise<Response> {
    const query = request.query ? `?${new URLSearchParams(request.query)}` : "";
    const headers: Record<string, string> = { "X-Api-Key": this.#key };
    if (request.json !== undefined) headers["Content-Type"] = "application/json";
    const body = request.json !== undefined ? JSON.stringify(request.json) : request.body;
    let until = Date.now() + REPEAT_FOR_MS;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      const begun = Date.now();
      let error: CayError;
      let again = true;
      try {
        const response = await fetch(`${this.url}/api/v1${path}${query}`, {
          method,
          headers,
          body,
        });
        if (response.ok) return response;
        error = await errorOf(response);
        again = error.code === "unavailable" || error.reason === "too_many_requests";
      } catch (cause) {
        error = new CayError("unavailable", "no_answer", `no answer of ${this.url}: ${cause}`, {
          cause,
        });
      }
      const now = Date.now();
      // fetch() gives up after five minutes without an answer: a command may take longer.
      if (now - begun > REPEAT_FOR_MS) until = now + REPEAT_FOR_MS;
      if (!(request.repeat && again) || now + pause > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** The answer's object. */
  async json<T>(method: string, path: string, request: Request = {}): Promise<T> {
    return (await (await this.request(method, path, request)).json()) as T;
  }
}
