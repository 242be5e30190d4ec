/** Long work of the server, whose answer tells how far it is. */
import { ApiError, unreachable } from "@/api/errors";
import { authorizedFetch } from "@/api/session";

export interface Progress {
  done: number;
  total: number;
}

/** The result of some work; ending `signal` ends the work. Throws ApiError. */
export async function runWork<T>(
  address: string,
  body: object,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<T> {
  let response: Response;
  try {
    response = await authorizedFetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
      body: JSON.stringify(body),
      signal,
    });
  } catch (cause) {
    throw signal.aborted ? cause : unreachable(cause);
  }
  if (!response.ok || !response.body) throw ApiError.of(response, await response.json().catch(() => undefined));
  for await (const { name, data } of readEvents(response.body)) {
    if (name === "progress") onProgress(data as Progress);
    if (name === "result") return data as T;
    if (name === "error") throw ApiError.of(response, data);
  }
  throw unreachable(new Error("The stream ended without a result"));
}

interface ServerEvent {
  name: string;
  data: unknown;
}

export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = readBlock(block);
      if (event) yield event;
    }
  }
}

function readBlock(block: string): ServerEvent | null {
  const lines = block.split("\n");
  const field = (name: string) =>
    lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
  const [name] = field("event");
  const data = field("data");
  return name && data.length ? { name, data: JSON.parse(data.join("\n")) } : null;
}
