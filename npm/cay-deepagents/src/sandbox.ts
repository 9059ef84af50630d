// CaySandbox: a sandbox of Cay's as a backend of deepagents (protocol v2).
import { randomUUID } from "node:crypto";
import {
  BaseSandbox,
  type DeleteResult,
  type EditResult,
  type ExecuteResponse,
  type FileDownloadResponse,
  type FileInfo,
  type FileOperationError,
  type FileUploadResponse,
  type GlobResult,
  type GrepResult,
  type LsResult,
  type ReadRawResult,
  type ReadResult,
  type WriteResult,
} from "deepagents";
import { Cay, CayError, type CayOptions } from "./connection.js";
import { binaryType, EMPTY, isText, pageOf } from "./reading.js";

const MOST_OUTPUT = 10 << 20;
const MOST_MATCHES = 100_000; // the daemon's limit of one answer
const MOST_REPLACED = 65_536; // bytes of a text that the daemon replaces itself
const DEFAULT_TIMEOUT_S = 30 * 60;

// Failures that a wrong path causes. All others are the infrastructure's.
const CODES: Record<string, FileOperationError> = {
  file_not_found: "file_not_found",
  permission_denied: "permission_denied",
  read_only: "permission_denied",
  is_a_directory: "is_directory",
  not_a_directory: "invalid_path",
  not_a_regular_file: "invalid_path",
  invalid_path: "invalid_path",
  symlink_loop: "invalid_path",
  unsafe_path: "invalid_path",
};
const VALUES = new Set([
  ...Object.keys(CODES),
  "disk_full",
  "busy",
  "listing_too_large",
  "bad_pattern",
  "invalid_pattern",
]);

interface Facts {
  id: string;
  user: string | null;
  created?: boolean; // by ensure
}
interface Item {
  path: string;
  kind: "file" | "directory" | "symlink" | "other";
  size: number;
  mtime: string;
}
interface Command {
  state: string;
  by: string;
  reason: string;
  shell_exit_code: number;
  truncated: boolean;
  stdout?: string;
  stdout_base64?: string;
  stderr?: string;
  stderr_base64?: string;
}

export interface CaySandboxOptions extends CayOptions {
  /** Seconds that a command may take; 0: no limit. Default: half an hour. */
  timeout?: number;
  /** The members of POST /sandboxes: image, policy, limits, labels, … */
  create?: Record<string, unknown>;
}

/** The reason of a failure that is a value. Throws the error again if it is none. */
function reasonOf(error: unknown): string {
  if (error instanceof CayError && VALUES.has(error.reason)) return error.reason;
  throw error;
}

function codeOf(error: unknown): FileOperationError {
  const code = CODES[reasonOf(error)];
  if (code === undefined) throw error;
  return code;
}

function textOf(plain: string | undefined, coded: string | undefined): string {
  return plain ?? Buffer.from(coded ?? "", "base64").toString("utf8");
}

function count(text: string, part: string): number {
  let found = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) found++;
  return found;
}

async function* piecesOf(
  first: Uint8Array[],
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* first;
  yield* rest;
}

async function* chunksOf(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (!reader) return;
  try {
    for (let got = await reader.read(); !got.done; got = await reader.read()) yield got.value;
  } finally {
    await reader.cancel();
  }
}

/**
 * One sandbox. Whatever a model can cause is a value: a wrong path, a command that fails. Failures
 * of the daemon or of the sandbox throw CayError.
 */
export class CaySandbox extends BaseSandbox {
  readonly id: string;
  #cay: Cay;
  #timeout: number;
  #as: Record<string, string>; // file operations are those of the user who runs the commands
  #path: string;
  #shell: string | undefined;
  #deletes: boolean;
  #closed = false;
  /** Whether the sandbox is new: nothing of an earlier turn is in it. */
  readonly created: boolean;

  private constructor(cay: Cay, facts: Facts, timeout: number, deletes: boolean) {
    super();
    this.id = facts.id;
    this.#cay = cay;
    this.#timeout = timeout;
    this.#as = facts.user ? { user: facts.user } : {};
    this.#path = `/sandboxes/${encodeURIComponent(facts.id)}`;
    this.#deletes = deletes;
    this.created = deletes || facts.created === true;
  }

  /** A new sandbox. close() deletes it. */
  static async create(options: CaySandboxOptions = {}): Promise<CaySandbox> {
    const cay = new Cay(options);
    const facts = await cay.json<Facts>("POST", "/sandboxes", { json: options.create ?? {} });
    return new CaySandbox(cay, facts, options.timeout ?? DEFAULT_TIMEOUT_S, true);
  }

  /** The sandbox of that id or name. close() leaves it as it is. */
  static async attach(
    ref: string,
    options: Omit<CaySandboxOptions, "create"> = {},
  ): Promise<CaySandbox> {
    const cay = new Cay(options);
    const facts = await cay.json<Facts>("GET", `/sandboxes/${encodeURIComponent(ref)}`, {
      repeat: true,
    });
    return new CaySandbox(cay, facts, options.timeout ?? DEFAULT_TIMEOUT_S, false);
  }

  /**
   * The sandbox of that claim, such as "thread:" + id. It is created if there is none. Of any number
   * of callers at once one creates it. close() leaves it for the next turn.
   */
  static async ensure(claim: string, options: CaySandboxOptions = {}): Promise<CaySandbox> {
    const cay = new Cay(options);
    const json = { claim, ...options.create };
    const facts = await cay.json<Facts>("POST", "/sandboxes/ensure", { json, repeat: true });
    return new CaySandbox(cay, facts, options.timeout ?? DEFAULT_TIMEOUT_S, false);
  }

  /** False after close(). */
  get isRunning(): boolean {
    return !this.#closed;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (!this.#deletes) return;
    await this.#cay.request("DELETE", this.#path, { repeat: true }).catch((error: unknown) => {
      if (!(error instanceof CayError) || error.reason !== "sandbox_not_found") throw error;
    });
  }

  /** Runs a line of shell. `timeout` is in seconds; 0: no limit. After it the exit code is 124. */
  async execute(command: string, options: { timeout?: number } = {}): Promise<ExecuteResponse> {
    const timeout = options.timeout ?? this.#timeout;
    this.#shell ??= await this.#findShell();
    const json = {
      id: randomUUID(), // a second request attaches to the first run
      command: `exec 2>&1; ${command}`,
      shell: this.#shell,
      timeout_s: timeout,
      max_output_bytes: MOST_OUTPUT,
    };
    const got = await this.#cay.json<Command>("POST", `${this.#path}/commands`, {
      json,
      repeat: true,
    });
    if (got.state === "lost" || got.by === "sandbox stop" || got.by === "sandbox removal") {
      throw new CayError(
        "lost",
        "command_lost",
        `the command did not end by itself: ${got.by || got.reason}`,
      );
    }
    // A line that the shell cannot read is an error before it joins the two.
    let output = textOf(got.stdout, got.stdout_base64) + textOf(got.stderr, got.stderr_base64);
    const notes: Record<string, string> = {
      timed_out: `Error: Command timed out after ${timeout} seconds.`,
      oom_killed: "Error: Command was killed: the sandbox's memory limit was reached.",
    };
    const note = notes[got.state];
    if (note) output += output && !output.endsWith("\n") ? `\n${note}` : note;
    return { output, exitCode: got.shell_exit_code, truncated: got.truncated };
  }

  async ls(path: string): Promise<LsResult> {
    try {
      const query = this.#at(path);
      const { items } = await this.#cay.json<{ items: Item[] }>("GET", `${this.#path}/files/list`, {
        query,
        repeat: true,
      });
      return { files: items.map((item) => this.#info(item, item.path)) };
    } catch (error) {
      const reason = reasonOf(error);
      return reason === "file_not_found" ? { files: [] } : { error: `Path '${path}': ${reason}` };
    }
  }

  /** The lines of the window as they are: the tool numbers them. */
  async read(filePath: string, offset = 0, limit = 500): Promise<ReadResult> {
    const from = Number.isFinite(offset) ? Math.max(0, Math.floor(offset)) : 0;
    const most = Number.isFinite(limit) ? Math.max(0, Math.floor(limit)) : 0;
    const mimeType = binaryType(filePath);
    try {
      const response = await this.#get(filePath);
      if (mimeType) return { content: new Uint8Array(await response.arrayBuffer()), mimeType };
      const length = response.headers.get("content-length");
      const chunks = chunksOf(response);
      const first = await chunks.next();
      if (first.done) return { content: EMPTY, mimeType: "text/plain" };
      if (!isText(first.value)) {
        const whole: Uint8Array[] = [first.value];
        for await (const chunk of chunks) whole.push(chunk);
        return {
          content: new Uint8Array(Buffer.concat(whole)),
          mimeType: "application/octet-stream",
        };
      }
      if (most === 0) {
        await chunks.return(undefined);
        return { content: "", mimeType: "text/plain" };
      }
      const size = length === null ? undefined : Number(length);
      const page = await pageOf(piecesOf([first.value], chunks), size, from, most);
      return { ...page, mimeType: "text/plain" };
    } catch (error) {
      return { error: this.#missing(filePath, error) };
    }
  }

  async readRaw(filePath: string): Promise<ReadRawResult> {
    try {
      const response = await this.#get(filePath);
      const modified = new Date(response.headers.get("last-modified") ?? Date.now()).toISOString();
      const bytes = new Uint8Array(await response.arrayBuffer());
      const text = binaryType(filePath) === undefined && isText(bytes);
      const data = {
        content: text ? new TextDecoder().decode(bytes) : bytes,
        mimeType: text ? "text/plain" : (binaryType(filePath) ?? "application/octet-stream"),
        created_at: modified,
        modified_at: modified,
      };
      return { data };
    } catch (error) {
      return { error: this.#missing(filePath, error) };
    }
  }

  async grep(
    pattern: string,
    path: string | null = "/",
    glob: string | null = null,
    maxCount: number | null = null,
  ): Promise<GrepResult> {
    const limit = Math.min(maxCount ?? MOST_MATCHES, MOST_MATCHES);
    const json = {
      text: pattern,
      path: path ?? "/",
      limit,
      ...(glob ? { glob } : {}),
      ...this.#as,
    };
    try {
      const got = await this.#cay.json<{
        items: { path: string; line: number; text: string }[];
        truncated: boolean;
      }>("POST", `${this.#path}/files/grep`, { json, repeat: true });
      const matches = got.items.map(({ path, line, text }) => ({ path, line, text }));
      return { matches, truncated: got.truncated };
    } catch (error) {
      const reason = reasonOf(error);
      return reason === "file_not_found" ? { matches: [] } : { error: `Path '${path}': ${reason}` };
    }
  }

  /** Paths are relative to the search root. Directories match, too. */
  async glob(pattern: string, path = "/"): Promise<GlobResult> {
    const root = path.length > 1 ? path.replace(/\/+$/, "") : path;
    const json = {
      pattern: pattern.replace(/^\/+/, ""),
      path: root,
      limit: MOST_MATCHES,
      ...this.#as,
    };
    try {
      const got = await this.#cay.json<{ items: Item[]; truncated: boolean }>(
        "POST",
        `${this.#path}/files/glob`,
        { json, repeat: true },
      );
      const prefix = root === "/" ? "/" : `${root}/`;
      const files = got.items.map((item) => ({
        ...this.#info(item, item.path),
        path: item.path.slice(prefix.length),
      }));
      return { files, truncated: got.truncated };
    } catch (error) {
      const reason = reasonOf(error);
      return reason === "file_not_found" ? { files: [] } : { error: `Path '${path}': ${reason}` };
    }
  }

  async write(filePath: string, content: string): Promise<WriteResult> {
    const bytes = binaryType(filePath)
      ? Buffer.from(content, "base64")
      : Buffer.from(content, "utf8");
    try {
      await this.#put(filePath, bytes);
    } catch (error) {
      return { error: `Failed to write to ${filePath}: ${reasonOf(error)}` };
    }
    return { path: filePath, filesUpdate: null };
  }

  async edit(
    filePath: string,
    oldString: string,
    newString: string,
    replaceAll = false,
  ): Promise<EditResult> {
    const done = (occurrences: number): EditResult => ({
      path: filePath,
      filesUpdate: null,
      occurrences,
    });
    try {
      const text = Buffer.from(await (await this.#get(filePath)).arrayBuffer()).toString("utf8");
      if (oldString === "") {
        if (text !== "") return { error: "oldString must not be empty unless the file is empty" };
        if (newString !== "") await this.#put(filePath, Buffer.from(newString, "utf8"));
        return done(newString === "" ? 0 : 1);
      }
      // A model sees every file with LF alone.
      const lf = (one: string): string => one.replaceAll("\r\n", "\n");
      const crlf = (one: string): string => lf(one).replaceAll("\n", "\r\n");
      const as = [(one: string): string => one, crlf, lf].find((way) =>
        text.includes(way(oldString)),
      );
      if (!as) return { error: `String not found in file '${filePath}'` };
      const found = count(text, as(oldString));
      if (found > 1 && !replaceAll) {
        return {
          error: `Multiple occurrences found in '${filePath}'. Use replaceAll=true to replace all.`,
        };
      }
      if (oldString !== newString)
        await this.#replace(filePath, text, as(oldString), as(newString));
      return done(found);
    } catch (error) {
      return { error: `Error: ${this.#missing(filePath, error)}` };
    }
  }

  async delete(filePath: string): Promise<DeleteResult> {
    try {
      const query = { ...this.#at(filePath), recursive: "true" };
      await this.#cay.request("DELETE", `${this.#path}/files`, { query });
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === "file_not_found") return { error: `Error: '${filePath}' not found` };
      return { error: `Error deleting file '${filePath}': ${reason}` };
    }
    return { path: filePath, filesUpdate: null };
  }

  async uploadFiles(files: Array<[string, Uint8Array]>): Promise<FileUploadResponse[]> {
    const done: FileUploadResponse[] = [];
    for (const [path, content] of files) {
      const error = await this.#put(path, content).then(() => null, codeOf);
      done.push({ path, error });
    }
    return done;
  }

  async downloadFiles(paths: string[]): Promise<FileDownloadResponse[]> {
    const done: FileDownloadResponse[] = [];
    for (const path of paths) {
      try {
        const content = new Uint8Array(await (await this.#get(path)).arrayBuffer());
        done.push({ path, content, error: null });
      } catch (error) {
        done.push({ path, content: null, error: codeOf(error) });
      }
    }
    return done;
  }

  async #findShell(): Promise<string> {
    try {
      await this.#cay.request("GET", `${this.#path}/files/stat`, {
        query: { path: "/bin/bash" },
        repeat: true,
      });
      return "/bin/bash";
    } catch (error) {
      reasonOf(error);
      return "/bin/sh";
    }
  }

  /** Where a file operation is done, and as whom. */
  #at(path: string): Record<string, string> {
    if (!path.startsWith("/"))
      throw new CayError("invalid_argument", "invalid_path", `'${path}' is not absolute`);
    return { path, ...this.#as };
  }

  async #get(path: string): Promise<Response> {
    return this.#cay.request("GET", `${this.#path}/files`, { query: this.#at(path), repeat: true });
  }

  async #put(path: string, body: Uint8Array): Promise<void> {
    await this.#cay.request("PUT", `${this.#path}/files`, {
      query: this.#at(path),
      body,
      repeat: true,
    });
  }

  async #replace(path: string, content: string, text: string, replacement: string): Promise<void> {
    const longest = Math.max(Buffer.byteLength(text), Buffer.byteLength(replacement));
    if (longest <= MOST_REPLACED && !content.slice(0, 8192).includes("\0")) {
      // The daemon's replacement loses no change that a program in the sandbox makes meanwhile.
      const json = { ...this.#at(path), text, replacement };
      const { items } = await this.#cay.json<{
        items: { error?: { code: string; reason: string; message: string } }[];
      }>("POST", `${this.#path}/files/replace`, { json });
      const error = items[0]?.error;
      if (error) throw new CayError(error.code, error.reason, error.message);
      if (items.length > 0) return;
    }
    await this.#put(
      path,
      Buffer.from(
        content.replaceAll(text, () => replacement),
        "utf8",
      ),
    );
  }

  #info(item: Item, path: string): FileInfo {
    const directory = item.kind === "directory";
    return {
      path: directory ? `${path}/` : path,
      is_dir: directory,
      size: item.size,
      modified_at: item.mtime,
    };
  }

  #missing(path: string, error: unknown): string {
    const reason = reasonOf(error);
    return reason === "file_not_found" ? `File '${path}' not found` : `File '${path}': ${reason}`;
  }
}
