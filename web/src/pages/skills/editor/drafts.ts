/** Texts that were written and not saved yet, kept on this machine. */
import { useEffect } from "react";

export interface SkillDraft {
  text: string;
  /** The version that it was written on; 0 for a new skill. */
  version: number;
  /** When it was written, as ISO 8601. */
  at: string;
}

const PAUSE_MS = 300;

/** Drafts that are not written yet, by name: who leaves the page sooner than that writes them at once. */
const waiting = new Map<string, () => void>();

function keyOf(name: string): string {
  return `agentex.skill-draft.${name}`;
}

export function readDraft(name: string): SkillDraft | null {
  try {
    const draft = JSON.parse(localStorage.getItem(keyOf(name)) ?? "null") as Partial<SkillDraft> | null;
    if (typeof draft?.text !== "string" || typeof draft.version !== "number" || typeof draft.at !== "string")
      return null;
    return { text: draft.text, version: draft.version, at: draft.at };
  } catch {
    return null;
  }
}

export function writeDraft(name: string, draft: SkillDraft | null): void {
  waiting.delete(name);
  try {
    if (draft) localStorage.setItem(keyOf(name), JSON.stringify(draft));
    else localStorage.removeItem(keyOf(name));
  } catch {
    // Full or forbidden: the text is still in the editor.
  }
}

/** Whether the browser keeps the draft: it may be full, or forbid it. */
export function isDraftKept(name: string): boolean {
  return readDraft(name) !== null;
}

/** Keep the text while it differs from what is saved, null where it doesn't. */
export function usePersistentDraft(name: string, text: string | null, version: number): void {
  useEffect(() => {
    const keep = () => writeDraft(name, text === null ? null : { text, version, at: new Date().toISOString() });
    waiting.set(name, keep);
    const timer = setTimeout(() => keepWaiting(name), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [name, text, version]);
  useEffect(() => {
    const keep = () => keepWaiting(name);
    window.addEventListener("pagehide", keep);
    return () => {
      window.removeEventListener("pagehide", keep);
      keep();
    };
  }, [name]);
}

function keepWaiting(name: string): void {
  waiting.get(name)?.();
}
