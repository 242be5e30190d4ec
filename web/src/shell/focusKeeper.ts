/** The focus kept in its place when what has it goes away, such as the button of an item that was deleted. */
import { type FocusPlace, placeOf, successorOf } from "@/components/overlays/focusPlace";

/** How far back it is looked where a dialog is gone, and what opened it: a dialog over a dialog over a menu. */
const MOST_PLACES = 12;

/** Begin to keep the focus of this page; browsers leave it nowhere, so that keys and screen readers begin anew. */
export function keepFocus(): void {
  let places: FocusPlace[] = [];
  let isWaiting = false;
  let isInView = false;
  const sight = new IntersectionObserver((entries) => {
    isInView = entries.at(-1)?.isIntersecting ?? false;
  });

  document.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof HTMLElement)) return;
    places = [...places.filter(({ element }) => element !== target), placeOf(target)].slice(-MOST_PLACES);
    [isWaiting, isInView] = [false, true];
    sight.disconnect();
    sight.observe(target);
  });
  // Who clicks beside everything wants the focus nowhere. A removal comes first, and is dealt with by then.
  document.addEventListener("focusout", () =>
    setTimeout(() => {
      if (isNowhere() && places.at(-1)?.element.isConnected && !isWaiting) places = [];
    }),
  );
  new MutationObserver(() => {
    const element = places.at(-1)?.element;
    if (!element) return;
    if (element.matches(":disabled") && element.isConnected) {
      isWaiting = true;
    } else if (element.isConnected) {
      // What it did is done.
      if (isWaiting && isNowhere()) element.focus({ preventScroll: true });
      isWaiting = false;
    } else if (isNowhere()) {
      // A long list drops what was scrolled away: to go on from there would scroll back.
      const lost = isInView ? places : [];
      places = [];
      // A dialog that closes gives the focus back itself, and lets go of the page only after this.
      requestAnimationFrame(() => setTimeout(() => isNowhere() && nextOf(lost)?.focus({ preventScroll: true })));
    }
  }).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["disabled"] });
}

function isNowhere(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}

/** Where to go on: at the last place of which something is left. */
function nextOf(places: readonly FocusPlace[]): HTMLElement | null {
  for (const place of places.toReversed()) {
    const next = place.element.isConnected ? place.element : successorOf(place);
    // Behind a dialog that is open nothing can be operated.
    if (next && !next.closest("[inert], [aria-hidden=true]")) return next;
  }
  return null;
}
