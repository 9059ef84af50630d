// Pages of lines from a file that comes in pieces, and kinds of files by their names.

export const EMPTY = "System reminder: File exists but has empty contents";
const SNIFFED = 8192;
const MOST_COUNTED = 1 << 20; // a larger file is not read to its end for its number of lines
const MOST_PAGE = 500 * 1024; // characters of a page

const BINARY: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  heic: "image/heic",
  heif: "image/heif",
  mp3: "audio/mpeg",
  wav: "audio/wav",
  aiff: "audio/aiff",
  aac: "audio/aac",
  ogg: "audio/ogg",
  flac: "audio/flac",
  mp4: "video/mp4",
  webm: "video/webm",
  mpeg: "video/mpeg",
  mpg: "video/mpeg",
  mov: "video/quicktime",
  avi: "video/x-msvideo",
  flv: "video/x-flv",
  wmv: "video/x-ms-wmv",
  "3gpp": "video/3gpp",
  pdf: "application/pdf",
  ppt: "application/vnd.ms-powerpoint",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
};

/** The MIME type of a file that a model sees as a block of its own kind. Undefined: it is text. */
export function binaryType(path: string): string | undefined {
  return BINARY[/\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? ""];
}

export function isText(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, SNIFFED), { stream: true });
    return true;
  } catch {
    return false;
  }
}

export interface Page {
  content: string;
  startLine?: number;
  endLine?: number;
  totalLines?: number;
  nextOffset?: number;
}

/** Yields the lines. Of a line that no page can hold, only the beginning is kept. */
async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8");
  let line = "";
  for await (const piece of pieces) {
    const [first = "", ...more] = decoder.decode(piece, { stream: true }).split("\n");
    if (line.length <= MOST_PAGE) line += first;
    for (const after of more) {
      yield line;
      line = after;
    }
  }
  line += decoder.decode();
  if (line) yield line;
}

/**
 * `limit` lines from `offset` on, as they are. Stops to read once the page is full, unless the rest
 * is small. `size` is the file's, if it is known.
 */
export async function pageOf(
  pieces: AsyncIterable<Uint8Array>,
  size: number | undefined,
  offset: number,
  limit: number,
): Promise<Page> {
  const kept: string[] = [];
  const counts = size !== undefined && size <= MOST_COUNTED;
  let seen = 0;
  let room = MOST_PAGE;
  let more = false; // a line beyond the page was seen
  for await (const line of linesOf(pieces)) {
    if (seen++ < offset) continue;
    if (!more && kept.length < limit && (kept.length === 0 || line.length < room)) {
      kept.push(line.slice(0, room));
      room -= line.length + 1;
      continue;
    }
    more = true;
    if (!counts) break;
  }
  if (kept.length === 0) return { content: "" };
  const endLine = offset + kept.length;
  const page: Page = { content: kept.join("\n"), startLine: offset + 1, endLine };
  if (counts || !more) page.totalLines = seen;
  if (more) page.nextOffset = endLine;
  return page;
}
