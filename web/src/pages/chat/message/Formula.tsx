/** A formula, drawn through the DOM: the page's policy lets no markup bring its own styles. */
import katex from "katex";
import { useLayoutEffect, useRef } from "react";

const OPTIONS = { throwOnError: true, strict: false, trust: false, maxExpand: 100 } as const;

export function Formula({ tex, display }: { tex: string; display: boolean }) {
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    try {
      katex.render(tex, element, { ...OPTIONS, displayMode: display });
    } catch {
      // What is no formula, or not yet, stays as it was written.
      element.textContent = tex;
    }
  }, [tex, display]);
  return <span ref={place} dir="ltr" />;
}
