/** Values of inputs and lists of names, as a form shows and reads them. */
import type { Schemas } from "@/api/client";

type JsonValue = Schemas["JsonValue"];

/** The value as it is typed: a text as it stands, all else as JSON; empty for none. */
export function showValue(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What was typed, as a value of the type; what the type can't be stays a text, of which the server tells. */
export function readValue(typed: string, type: string): JsonValue {
  const text = typed.trim();
  if (!text) return null;
  if (type === "integer" || type === "number") return Number.isFinite(Number(text)) ? Number(text) : text;
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  if (type === "array" || type === "object") {
    try {
      return JSON.parse(text) as JsonValue;
    } catch {
      return text;
    }
  }
  return text;
}

/** Names between commas, in either script. */
export function readNames(typed: string): string[] {
  return typed
    .split(/[,，、\n]/)
    .map((name) => name.trim())
    .filter(Boolean);
}

export function showNames(names: readonly string[]): string {
  return names.join(", ");
}
