/** Whether an element is in what scrolls around it, or soon will be. */
import { type RefObject, useEffect, useState } from "react";

// Pages this far out of view are drawn beforehand.
const AHEAD = "600px 0px";

export function useIsNear(element: RefObject<HTMLElement | null>): boolean {
  const [isNear, setIsNear] = useState(false);
  useEffect(() => {
    if (!element.current) return;
    const observer = new IntersectionObserver(([entry]) => setIsNear(entry?.isIntersecting ?? false), {
      root: element.current.closest("[data-scroll]"),
      rootMargin: AHEAD,
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return isNear;
}
