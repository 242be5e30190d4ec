/** A value that is changed here first, and is the other one again as soon as that changes. */
import { useState } from "react";

export function useLocal<T>(value: T): [T, (value: T) => void] {
  const json = JSON.stringify(value);
  const [kept, keep] = useState({ json, local: value });
  if (kept.json !== json) {
    keep({ json, local: value });
    return [value, (local) => keep({ json, local })];
  }
  return [kept.local, (local) => keep({ json, local })];
}
