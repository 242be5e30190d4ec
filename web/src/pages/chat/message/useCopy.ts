/** Copying a text, and saying for a moment that it was copied. */
import { useEffect, useState } from "react";

export function useCopy(): { copied: boolean; copy: (text: string) => void } {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  return {
    copied,
    copy: (text) => void navigator.clipboard.writeText(text).then(() => setCopied(true)),
  };
}
