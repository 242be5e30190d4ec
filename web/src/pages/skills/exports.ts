/** The forms in which skills leave, and their addresses. */

export const PROFILES = ["portable", "claude-code", "codex"] as const;
export type Profile = (typeof PROFILES)[number];

/** The stored file alone, or a folder for one kind of reader. */
export const EXPORT_FORMS = ["markdown", ...PROFILES] as const;

export function exportAddress(skillId: string, form: (typeof EXPORT_FORMS)[number], version?: number): string {
  const query = new URLSearchParams(
    form === "markdown" ? { format: "markdown" } : { format: "agent-skill", profile: form },
  );
  if (version) query.set("version", String(version));
  return `/api/v1/skills/${encodeURIComponent(skillId)}/export?${query}`;
}
