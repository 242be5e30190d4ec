/** Metadata of a document as rows of a form. */
import type { DocumentAnswer } from "../queries";

export type DocumentMetadata = DocumentAnswer["metadata"];
export const KINDS = ["text", "number", "boolean", "list"] as const;
export type Kind = (typeof KINDS)[number];

export interface MetadataRow {
  id: number;
  key: string;
  kind: Kind;
  value: string;
}

/** Values that an older version stored and no form can show keep out of it. */
export function rowsOf(metadata: DocumentMetadata): MetadataRow[] {
  return Object.entries(metadata).map(([key, value], id) => ({ id, key, kind: kindOf(value), value: textOf(value) }));
}

function kindOf(value: DocumentMetadata[string]): Kind {
  if (typeof value === "number") return "number";
  if (typeof value === "boolean") return "boolean";
  return Array.isArray(value) ? "list" : "text";
}

export function textOf(value: DocumentMetadata[string]): string {
  if (Array.isArray(value)) return value.join("; ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export type RowError = "no_key" | "twice" | "no_number";

/** The metadata that rows stand for, or what is wrong with a row. Rows with neither key nor value are left out. */
export function metadataOf(
  rows: readonly MetadataRow[],
): { metadata: DocumentMetadata } | { row: number; error: RowError } {
  const metadata: DocumentMetadata = {};
  for (const { id, key: written, kind, value } of rows) {
    const key = written.trim();
    if (!key && !value.trim()) continue;
    if (!key) return { row: id, error: "no_key" };
    if (Object.hasOwn(metadata, key)) return { row: id, error: "twice" };
    if (kind === "number" && (!value.trim() || !Number.isFinite(Number(value)))) return { row: id, error: "no_number" };
    metadata[key] = parsed(kind, value);
  }
  return { metadata };
}

function parsed(kind: Kind, value: string): DocumentMetadata[string] {
  if (kind === "number") return Number(value);
  if (kind === "boolean") return value === "true";
  if (kind === "text") return value;
  return value
    .split(/[;；]/)
    .map((part) => part.trim())
    .filter(Boolean);
}
