/** What was typed into a form of one skill, kept for the next visit. */
import { useEffect, useState } from "react";

export function usePersistentForm<T extends object>(name: string, initial: T): [T, (changes: Partial<T>) => void] {
  const key = `agentex.skill-form.${name}`;
  const [form, setForm] = useState<T>(() => ({ ...initial, ...read(key) }));
  useEffect(() => {
    try {
      localStorage.setItem(key, JSON.stringify(form));
    } catch {
      // Full or forbidden: it stays on the page.
    }
  }, [key, form]);
  return [form, (changes) => setForm((now) => ({ ...now, ...changes }))];
}

function read(key: string): object {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? "null");
    return kept && typeof kept === "object" ? kept : {};
  } catch {
    return {};
  }
}

export function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}
