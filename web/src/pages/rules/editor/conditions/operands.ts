/** What conditions compare with, as people write it. */
import type { Schemas } from "@/api/client";

type Json = Schemas["JsonValue"];

/** 20 and true are what they are in JSON, as is what stands in quotes; all else is a text. */
export function readOperand(text: string): Json {
  const trimmed = text.trim();
  try {
    const value: unknown = JSON.parse(trimmed);
    // Objects are no operands, and digits that JSON would change are a text, such as a long number.
    if (typeof value === "number" && String(value) !== trimmed && !isSameNumber(trimmed)) return trimmed;
    return (typeof value === "object" && value !== null ? trimmed : value) as Json;
  } catch {
    return text;
  }
}

/** Whether JavaScript keeps every digit of a number. */
function isSameNumber(text: string): boolean {
  return text.replace(/\D/g, "").replace(/^0+/, "").length <= 15;
}

export function writeOperand(value: Json | undefined): string {
  if (value === undefined) return "";
  if (typeof value !== "string") return JSON.stringify(value);
  return readOperand(value) === value ? value : JSON.stringify(value);
}

/** Operands between commas; a comma in quotes belongs to its text. */
export function readOperands(text: string): Json {
  const parts = text.match(/\s*"(?:[^"\\]|\\.)*"|[^,]+/g) ?? [];
  return parts
    .map((part) => part.trim())
    .filter(Boolean)
    .map(readOperand) as Json;
}

export function writeOperands(value: Json | undefined): string {
  if (!Array.isArray(value)) return writeOperand(value);
  return value
    .map((item) => (typeof item === "string" && item.includes(",") ? JSON.stringify(item) : writeOperand(item as Json)))
    .join(", ");
}
