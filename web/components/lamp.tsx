import type { Light } from "../trace";

/** What the model has seen of a table, by shape as well as by light. */
export function Lamp({ light }: { light: Light }) {
  return (
    <svg class="lamp" viewBox="0 0 12 12" aria-hidden="true">
      <circle
        cx="6"
        cy="6"
        r="4.5"
        fill={light === "used" ? "var(--glow)" : "none"}
        stroke={light === "dark" ? "var(--line)" : light === "used" ? "var(--glow-ink)" : "var(--dim)"}
        stroke-width="1.5"
      />
      {light === "seen" && <path d="M6 1.5a4.5 4.5 0 0 1 0 9z" fill="var(--glow)" />}
      {light === "dark" && <circle cx="6" cy="6" r="4.5" fill="none" stroke="var(--dim)" stroke-width="1.5" stroke-dasharray="1.6 1.6" />}
    </svg>
  );
}

export const LIGHT_WORDS: Record<Light, string> = {
  dark: "dark",
  named: "named",
  seen: "seen",
  used: "used",
};

export const LIGHT_MEANING: Record<Light, string> = {
  dark: "The model has not met this table.",
  named: "The model has read its name.",
  seen: "The model has looked at its columns or rows.",
  used: "A query of the model reads it.",
};
