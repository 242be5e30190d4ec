/** The fields of a form that survive a reload of the page. */
import { useCallback, useEffect, useState } from "react";

function kept<T extends object>(key: string, initial: T): T {
  try {
    const text = sessionStorage.getItem(key);
    return text ? { ...initial, ...(JSON.parse(text) as Partial<T>) } : initial;
  } catch {
    return initial;
  }
}

/** `secret` are fields that are never written down. */
export function useDraft<T extends object>(key: string, initial: T, secret: readonly (keyof T)[] = []) {
  const name = `agentex.draft.${key}`;
  const [draft, setDraft] = useState<T>(() => kept(name, initial));
  const [touched, setTouched] = useState(false);
  const hidden = secret.join();
  useEffect(() => {
    if (!touched) return;
    const visible = Object.entries(draft).filter(([field]) => !hidden.split(",").includes(field));
    sessionStorage.setItem(name, JSON.stringify(Object.fromEntries(visible)));
  }, [draft, hidden, name, touched]);
  const change = useCallback((part: Partial<T>) => {
    setTouched(true);
    setDraft((before) => ({ ...before, ...part }));
  }, []);
  const forget = useCallback(() => {
    setTouched(false);
    sessionStorage.removeItem(name);
  }, [name]);
  return { draft, change, forget };
}
