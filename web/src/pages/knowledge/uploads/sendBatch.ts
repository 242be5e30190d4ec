/** One upload request with its progress; `fetch` does not tell how much was sent. */
import type { Schemas } from "@/api/client";
import { ApiError, unreachable } from "@/api/errors";
import { accessToken } from "@/api/session";
import type { ParserChoice } from "../parsers/choiceKeys";
import { documentName, type UploadBatch } from "./uploadPlan";

export type OnConflict = Schemas["OnConflict"];

/** What holds for all files of an upload; without a parser the knowledge base's. */
export interface UploadChoices {
  onConflict: OnConflict;
  parser: ParserChoice | null;
}

/** What became of one file or one member of an archive. */
export interface UploadOutcome {
  name: string;
  outcome?: Schemas["UploadAnswer"]["outcome"];
  error?: { code: number; message: string; message_zh?: string };
}

export async function sendBatch(
  kbId: string,
  batch: UploadBatch,
  { onConflict, parser }: UploadChoices,
  onSent: (bytes: number) => void,
  signal: AbortSignal,
): Promise<UploadOutcome[]> {
  const isArchive = batch.kind === "archive";
  const form = new FormData();
  for (const { file, path } of batch.files) form.append("file", file, documentName(path));
  const place = `/api/v1/knowledge-bases/${encodeURIComponent(kbId)}/documents/${isArchive ? "archive" : "batch"}`;
  const query = new URLSearchParams({ on_conflict: onConflict, ...parser });
  const data = await post(`${place}?${query}`, form, onSent, signal);
  if (isArchive)
    return (data as Schemas["ArchiveAnswer"]).items.map(({ name, path, document, error }) =>
      error ? { name: path || name, error } : { name, outcome: document?.outcome },
    );
  return (data as Schemas["BatchAnswer"]).items.map(({ name, document, error }) =>
    error ? { name, error } : { name, outcome: document?.outcome },
  );
}

async function post(url: string, form: FormData, onSent: (bytes: number) => void, signal: AbortSignal) {
  const token = await accessToken();
  return new Promise<unknown>((resolve, reject) => {
    const request = new XMLHttpRequest();
    const abort = () => request.abort();
    request.open("POST", url);
    request.responseType = "json";
    if (token) request.setRequestHeader("Authorization", `Bearer ${token}`);
    request.setRequestHeader("Accept-Language", document.documentElement.lang);
    request.upload.onprogress = ({ loaded }) => onSent(loaded);
    request.onload = () => {
      const body = request.response as { data?: unknown } | null;
      if (request.status >= 200 && request.status < 300 && body?.data) resolve(body.data);
      else reject(errorOf(request, body));
    };
    request.onerror = () => reject(unreachable(null));
    request.onabort = () => reject(new DOMException("", "AbortError"));
    request.onloadend = () => signal.removeEventListener("abort", abort);
    signal.addEventListener("abort", abort);
    if (signal.aborted) reject(new DOMException("", "AbortError"));
    else request.send(form);
  });
}

function errorOf(request: XMLHttpRequest, body: unknown): ApiError {
  const headers = new Headers();
  for (const name of ["X-Request-ID", "Retry-After"]) {
    const value = request.getResponseHeader(name);
    if (value) headers.set(name, value);
  }
  return ApiError.of(new Response(null, { status: request.status || 500, headers }), body);
}
