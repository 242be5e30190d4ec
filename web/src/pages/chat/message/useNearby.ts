/** Whether an element has come near to what is shown of its scrolled frame: what is far away is drawn plainly. */
import { type RefObject, startTransition, useEffect, useRef, useState } from "react";

const NEAR = "1500px 0px";
const waiting = new Set<() => void>();
let isShowing = false;

/** One in a frame, what came near last before all others: a fast scroll passes many by. */
function showNext(): void {
  const next = [...waiting].at(-1);
  isShowing = next !== undefined;
  if (!next) return;
  waiting.delete(next);
  next();
  requestAnimationFrame(showNext);
}

function showSoon(show: () => void): void {
  waiting.add(show);
  if (!isShowing) requestAnimationFrame(showNext);
  isShowing = true;
}

/** True from the beginning where `always` is; it never becomes false again. */
export function useNearby<T extends Element>(always: boolean): { ref: RefObject<T | null>; isNear: boolean } {
  const ref = useRef<T>(null);
  const [isNear, setNear] = useState(always);
  useEffect(() => {
    const element = ref.current;
    if (isNear || !element) return;
    const root = element.closest("[role=log]");
    // What was typed or scrolled meanwhile goes first.
    const show = () => startTransition(() => setNear(true));
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.at(-1)?.isIntersecting) showSoon(show);
        else waiting.delete(show);
      },
      { root, rootMargin: NEAR },
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      waiting.delete(show);
    };
  }, [isNear]);
  return { ref, isNear: isNear || always };
}
