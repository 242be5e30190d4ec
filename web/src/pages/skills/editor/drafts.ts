/** Texts that were written and not saved yet, kept on this machine. */
import { useEffect } from "react";

export interface Draft {
  text: string;
  /** The version that it was written on; 0 for a new skill. */
  version: number;
  /** When it was written, as ISO 8601. */
  at: string;
}

const PAUSE_MS = 300;

function keyOf(name: string): string {
  return `agentex.skill-draft.${name}`;
}

export function readDraft(name: string): Draft | null {
  try {
    const draft = JSON.parse(localStorage.getItem(keyOf(name)) ?? "null") as Partial<Draft> | null;
    if (typeof draft?.text !== "string" || typeof draft.version !== "number" || typeof draft.at !== "string")
      return null;
    return { text: draft.text, version: draft.version, at: draft.at };
  } catch {
    return null;
  }
}

export function writeDraft(name: string, draft: Draft | null): void {
  try {
    if (draft) localStorage.setItem(keyOf(name), JSON.stringify(draft));
    else localStorage.removeItem(keyOf(name));
  } catch {
    // Full or forbidden: the text is still in the editor.
  }
}

/** Keep the text while it differs from what is saved, null where it doesn't. */
export function usePersistentDraft(name: string, text: string | null, version: number): void {
  useEffect(() => {
    const keep = () => writeDraft(name, text === null ? null : { text, version, at: new Date().toISOString() });
    const timer = setTimeout(keep, PAUSE_MS);
    window.addEventListener("pagehide", keep);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("pagehide", keep);
    };
  }, [name, text, version]);
}
