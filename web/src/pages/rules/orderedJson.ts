/** A rule as JSON whose keys come in one order, however it was stored. */

/** What a reader looks for first; other keys follow by their alphabet. */
const FIRST = [
  "name",
  "description",
  "trigger_config",
  "event_type",
  "source_id",
  "schedule",
  "conditions",
  "logic",
  "negate",
  "field",
  "operator",
  "value",
  "actions",
  "type",
  "target",
];

export function orderedJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (isObject(part) ? ordered(part) : part), 2);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function ordered(object: Record<string, unknown>): Record<string, unknown> {
  const keys = Object.keys(object).sort((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1));
  return Object.fromEntries(keys.map((key) => [key, object[key]]));
}

function rank(key: string): number {
  const place = FIRST.indexOf(key);
  return place < 0 ? FIRST.length : place;
}
