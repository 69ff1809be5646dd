import { theme, type Theme } from "./state";

const KEY = "glowworm-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

/** Light, dark, or as the system has it. Kept for the next visit. */
export function setTheme(choice: Theme): void {
  theme.value = choice;
  document.documentElement.dataset.theme = choice === "auto" ? (dark.matches ? "dark" : "light") : choice;
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // Private windows may refuse storage; the choice then lasts as long as the page.
  }
}

export function startTheme(): void {
  let kept: string | null = null;
  try {
    kept = localStorage.getItem(KEY);
  } catch {
    // As above.
  }
  setTheme(kept === "light" || kept === "dark" ? kept : "auto");
  dark.addEventListener("change", () => {
    if (theme.value === "auto") setTheme("auto");
  });
}
