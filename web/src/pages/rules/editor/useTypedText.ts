/** The text of a field whose value is read from it: 1.0 stays as it was typed, although its value is 1. */
import { useState } from "react";

export function useTypedText<T>(value: T, read: (text: string) => T, write: (value: T) => string) {
  const [typed, setTyped] = useState<string | null>(null);
  const isTyped = typed !== null && JSON.stringify(read(typed)) === JSON.stringify(value);
  return [isTyped ? typed : write(value), setTyped] as const;
}
