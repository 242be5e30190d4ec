/** Long work of the server, whose answer tells how far it is. */
import { ApiError, unreachable } from "@/api/errors";
import { readEvents } from "@/api/eventStream";
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
  for await (const event of readEvents(response.body)) {
    const { name } = event;
    const data: unknown = JSON.parse(event.data);
    if (name === "progress") onProgress(data as Progress);
    if (name === "result") return data as T;
    if (name === "error") throw ApiError.of(response, data);
  }
  throw unreachable(new Error("The stream ended without a result"));
}
