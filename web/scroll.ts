/** Keeps in view what is being written, and leaves a person alone who has scrolled away to read. */

let away = false;
/** What was brought into view last: once it is on the screen again, it is followed again. */
let followed: HTMLElement | null = null;

const visible = (element: HTMLElement): boolean => {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < window.innerHeight + 40;
};

/** Listens for the person's own scrolling; returns what ends that. */
export function watchScrolling(): () => void {
  const leave = (): void => void (away = true);
  const wheel = (event: WheelEvent): void => {
    if (event.deltaY < 0) leave();
  };
  const key = (event: KeyboardEvent): void => {
    const writing = event.target instanceof HTMLElement && event.target.closest("input, textarea, select, .cm-editor") !== null;
    if (!writing && ["PageUp", "Home", "ArrowUp"].includes(event.key)) leave();
  };
  const bar = (event: PointerEvent): void => {
    // A press on a scroll bar has the scrolled element itself for a target.
    if (event.target instanceof HTMLElement && event.target.classList.contains("stage")) leave();
  };
  const scrolled = (): void => {
    if (away && followed !== null && visible(followed)) away = false;
  };
  const options = { passive: true, capture: true };
  window.addEventListener("wheel", wheel, options);
  window.addEventListener("touchmove", leave, options);
  window.addEventListener("keydown", key, options);
  window.addEventListener("pointerdown", bar, options);
  window.addEventListener("scrollend", scrolled, options);
  return () => {
    window.removeEventListener("wheel", wheel, options);
    window.removeEventListener("touchmove", leave, options);
    window.removeEventListener("keydown", key, options);
    window.removeEventListener("pointerdown", bar, options);
    window.removeEventListener("scrollend", scrolled, options);
  };
}

/** A person who asks or opens something wants to see what comes of it. */
export function followAgain(): void {
  away = false;
}

/** Brings an element into view: its end, or its beginning where it is taller than the window. */
export function follow(element: HTMLElement | null): void {
  if (element === null || away) return;
  followed = element;
  const tall = element.getBoundingClientRect().height > window.innerHeight * 0.8;
  element.scrollIntoView({ block: tall ? "start" : "nearest" });
}
