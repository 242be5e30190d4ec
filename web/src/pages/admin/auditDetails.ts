/** The details of an act of the audit log as one line of text. */

type Scalar = string | number | boolean | null;

export interface DetailWords {
  name: (name: string) => string;
  /** Of a code, number, or truth value of a detail with this name. */
  value: (name: string, value: string | number | boolean) => string;
  change: (before: string, after: string) => string;
  /** A name with its value. */
  pair: (name: string, value: string) => string;
  /** What stands for an empty value. */
  nothing: string;
}

/** `role: {before, after}` is said as a change, a list of shares or policies as who has what. */
export function detailText(details: Readonly<Record<string, unknown>>, words: DetailWords): string {
  const isChange = "before" in details && "after" in details;
  if (isChange) return changeText("value", details, words);
  return Object.entries(details)
    .map(([name, value]) => words.pair(words.name(name), valueText(name, value, words)))
    .join("; ");
}

function changeText(name: string, { before, after }: Record<string, unknown>, words: DetailWords): string {
  return words.change(valueText(name, before, words), valueText(name, after, words));
}

function valueText(name: string, value: unknown, words: DetailWords): string {
  if (isScalar(value)) return value === null || value === "" ? words.nothing : words.value(name, value);
  if (Array.isArray(value)) {
    return value.length > 0 ? value.map((each) => valueText(name, each, words)).join(", ") : words.nothing;
  }
  const fields = value as Record<string, unknown>;
  if ("before" in fields && "after" in fields) return changeText(name, fields, words);
  // Somebody or something with what it got: {who: "user mia", access: "read"}, {tool: "web_fetch", policy: "ask"}.
  const holder = "who" in fields ? "who" : "tool";
  if (holder in fields) {
    const rest = Object.entries(fields).filter(([key]) => key !== holder);
    return `${subjectText(fields[holder], words)} (${rest.map(([key, each]) => valueText(key, each, words)).join(", ")})`;
  }
  return Object.entries(fields)
    .map(([key, each]) => `${words.name(key)} ${valueText(key, each, words)}`)
    .join(", ");
}

/** `user mia` and `role editors` begin with a code. */
function subjectText(subject: unknown, words: DetailWords): string {
  const [kind = "", ...rest] = String(subject).split(" ");
  return rest.length > 0 ? `${words.value("who", kind)} ${rest.join(" ")}` : kind;
}

function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value !== "object";
}
