/** Paths into an event's data, for fields of conditions and templates. */

const MOST_PATHS = 60;
const PLAIN_KEY = /^[A-Za-z0-9_$@-]+$/;

/** The paths of all leaves of an example or a shape. */
export function pathsOf(value: unknown, before = ""): string[] {
  if (Array.isArray(value)) return value.length ? pathsOf(value[0], `${before}[0]`) : [];
  if (typeof value !== "object" || value === null) return before ? [before] : [];
  return Object.entries(value)
    .flatMap(([key, inner]) => pathsOf(inner, join(before, key)))
    .slice(0, MOST_PATHS);
}

function join(before: string, key: string): string {
  if (!PLAIN_KEY.test(key)) return `${before}[${JSON.stringify(key)}]`;
  return before ? `${before}.${key}` : key;
}
