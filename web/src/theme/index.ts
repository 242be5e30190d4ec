/** The chosen colours: the system's, light, dark or high contrast. */
import "./tokens.css";
import "./base.css";

export const THEMES = ["system", "light", "dark", "contrast"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "agentex.theme";

export function currentTheme(): Theme {
  const kept = localStorage.getItem(KEY) as Theme | null;
  return kept && THEMES.includes(kept) ? kept : "system";
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  localStorage.setItem(KEY, theme);
}
