/** Inputs that give their value when typing pauses or they are left, so that a text is not written anew with each key. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { TextAreaField, TextField } from "@/components/forms/Field";
import styles from "./form.module.css";

const PAUSE_MS = 700;

interface Props {
  label: ReactNode;
  hint?: ReactNode;
  error?: ReactNode;
  value: string;
  onCommit: (value: string) => void;
  multiline?: boolean;
  disabled?: boolean;
  placeholder?: string;
  autoFocus?: boolean;
}

export function CommitField({ value, onCommit, multiline, autoFocus, ...rest }: Props) {
  const { draft, ...handlers } = useCommit(value, onCommit);
  const field = { ...rest, ...handlers, value: draft };
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (autoFocus) frame.current?.querySelector<HTMLElement>("input, textarea")?.focus();
  }, [autoFocus]);
  return (
    <div ref={frame} className={styles.commit}>
      {multiline ? <TextAreaField {...field} rows={1} className={styles.growing} /> : <TextField {...field} />}
    </div>
  );
}

function useCommit(value: string, onCommit: (value: string) => void) {
  const [typed, setTyped] = useState<string | null>(null);
  const focused = useRef(false);
  // A new value takes the place of what was given, not of what is being typed.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the value changes
  useEffect(() => {
    if (!focused.current) setTyped(null);
  }, [value]);
  const commit = useRef(onCommit);
  useEffect(() => {
    commit.current = onCommit;
  });
  useEffect(() => {
    const text = typed?.trim();
    // What was emptied may be typed anew; it counts as empty when it is left.
    if (!focused.current || !text || text === value) return;
    const timer = setTimeout(() => commit.current(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, value]);
  return {
    draft: typed ?? value,
    onChange: (event: { target: { value: string } }) => setTyped(event.target.value),
    onFocus: () => {
      focused.current = true;
    },
    onBlur: () => {
      focused.current = false;
      if (typed === null || typed.trim() === value) setTyped(null);
      else onCommit(typed.trim());
    },
  };
}
