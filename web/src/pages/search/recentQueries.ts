/** The queries that this browser asked last, by place. */

const MOST = 12;

/** `place` is a knowledge base's id, or "all". */
export function recentQueries(place: string): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key(place)) ?? "[]");
    return Array.isArray(kept) ? kept.filter((query) => typeof query === "string") : [];
  } catch {
    return [];
  }
}

export function rememberQuery(place: string, query: string): void {
  const others = recentQueries(place).filter((each) => each !== query);
  localStorage.setItem(key(place), JSON.stringify([query, ...others].slice(0, MOST)));
}

function key(place: string): string {
  return `agentex.search.${place}`;
}
