// Light or dark: the system's choice, until the user makes one. Only the choice is kept in the browser.

export type Theme = "system" | "light" | "dark";
const KEY = "isotherm-theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

export function chosen(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function isDark(): boolean {
  return chosen() === "dark" || (chosen() === "system" && dark.matches);
}

export function apply(): void {
  document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
  listeners.forEach((listener) => listener());
}

export function choose(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  apply();
}

/** Call back when colours change: canvases are drawn again. */
export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

dark.addEventListener("change", apply);

export const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
export const narrow = window.matchMedia("(max-width: 760px)");
