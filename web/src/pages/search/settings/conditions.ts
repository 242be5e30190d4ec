/** Conditions on metadata as rows of a form, and as the API writes them. */
import type { Filters } from "../searchParams";

export const OPERATORS = ["=", ">=", "<=", ">", "<"] as const;
export type Operator = (typeof OPERATORS)[number];

export interface Condition {
  key: string;
  operator: Operator;
  value: string;
}

type MetadataFilter = NonNullable<Filters["metadata"]>;
type Scalar = string | number | boolean;

const RANGE_NAMES = { ">=": "gte", "<=": "lte", ">": "gt", "<": "lt" } as const;

/** A value that reads as a number, true or false is compared as that; in double quotes it is a text. */
export function readValue(words: string): Scalar {
  const trimmed = words.trim();
  if (/^".*"$/.test(trimmed)) return trimmed.slice(1, -1);
  if (trimmed === "true" || trimmed === "false") return trimmed === "true";
  return /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
}

function writeValue(value: Scalar): string {
  if (typeof value !== "string") return String(value);
  return typeof readValue(value) === "string" && readValue(value) === value ? value : `"${value}"`;
}

/** Several values of one key are alternatives; several bounds of one key are a range. */
export function toMetadata(conditions: readonly Condition[]): MetadataFilter {
  const metadata: MetadataFilter = {};
  for (const { key, operator, value } of conditions) {
    const name = key.trim();
    if (!name || !value.trim()) continue;
    const read = readValue(value);
    const before = metadata[name];
    if (operator === "=") {
      if (Array.isArray(before)) before.push(read);
      else metadata[name] = before === undefined || typeof before === "object" ? read : [before, read];
    } else {
      const range = typeof before === "object" && !Array.isArray(before) ? before : {};
      metadata[name] = { ...range, [RANGE_NAMES[operator]]: typeof read === "boolean" ? String(read) : read };
    }
  }
  return metadata;
}

export function toConditions(metadata: Filters["metadata"]): Condition[] {
  return Object.entries(metadata ?? {}).flatMap(([key, value]): Condition[] => {
    if (Array.isArray(value)) return value.map((item) => ({ key, operator: "=", value: writeValue(item) }));
    if (typeof value !== "object") return [{ key, operator: "=", value: writeValue(value) }];
    return (Object.entries(RANGE_NAMES) as [Operator, keyof typeof value][]).flatMap(([operator, name]) => {
      const bound = value[name];
      return bound === undefined || bound === null ? [] : [{ key, operator, value: writeValue(bound) }];
    });
  });
}
