/** What was typed into a form of one skill, kept for the next visit. */
import { useEffect, useState } from "react";

export function usePersistentForm<T extends object>(name: string, initial: T): [T, (changes: Partial<T>) => void] {
  const key = keyOf(name);
  const [form, setForm] = useState<T>(() => ({ ...initial, ...read(key) }));
  useEffect(() => writePersistentForm(name, form), [name, form]);
  return [form, (changes) => setForm((now) => ({ ...now, ...changes }))];
}

export function writePersistentForm(name: string, form: object): void {
  try {
    localStorage.setItem(keyOf(name), JSON.stringify(form));
  } catch {
    // Full or forbidden: it stays on the page.
  }
}

function keyOf(name: string): string {
  return `agentex.skill-form.${name}`;
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
