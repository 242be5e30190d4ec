/** Pictures and documents that go with a question. */
import { randomUUID } from "@ag-ui/client";
import type { ContentPart } from "@ag-ui/core";

export interface Attachment {
  id: string;
  name: string;
  kind: "image" | "document";
  mimeType: string;
  /** Base64. */
  data: string;
  /** A link for this page; null where there is nothing to see. */
  preview: string | null;
}

export interface ShownAttachment {
  /** Of a document that the server keeps, with which it can go with another question. */
  id?: string;
  name: string;
  kind: "image" | "document";
  url: string | null;
}

const IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);

export async function readAttachment(file: File): Promise<Attachment> {
  const kind = IMAGE_TYPES.has(file.type) ? "image" : "document";
  return {
    id: randomUUID(),
    name: file.name,
    kind,
    mimeType: file.type || "application/octet-stream",
    data: await base64Of(file),
    preview: kind === "image" ? URL.createObjectURL(file) : null,
  };
}

function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/** The content of a user message in AG-UI's parts; plain text where nothing is attached. */
export function contentOf(
  text: string,
  attachments: readonly Attachment[],
  kept: readonly ContentPart[] = [],
): string | ContentPart[] {
  if (attachments.length === 0 && kept.length === 0) return text;
  const parts = attachments.map(({ kind, name, mimeType, data }): ContentPart => {
    const source = { type: "data" as const, value: data, mimeType };
    return kind === "image"
      ? { type: "image", source, metadata: { filename: name } }
      : { type: "document", source, metadata: { filename: name } };
  });
  return [{ type: "text", text }, ...kept, ...parts];
}

/** What came with a question, as parts of another one: as it was sent from here, else as the server keeps it. */
export function partsOf(content: unknown, shown: readonly ShownAttachment[] = []): readonly ContentPart[] {
  if (Array.isArray(content)) return content.filter((part: ContentPart) => part.type !== "text");
  return shown.flatMap(({ id, name, kind, url }): ContentPart[] => {
    if (kind === "image")
      return url?.startsWith("/api/") ? [{ type: "image", source: { type: "url", value: url } }] : [];
    const source = { type: "file" as const, value: id ?? "", provider: "agentex" };
    return id ? [{ type: "document", source, metadata: { filename: name } }] : [];
  });
}

/** The words of a message's content. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: { type?: string; text?: string }) => (part.type === "text" ? (part.text ?? "") : ""))
    .join("\n")
    .trim();
}
