/** A field that narrows a list while somebody types; the list follows when the typing rests. */
import { type ChangeEvent, type CompositionEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { TextField } from "./Field";
import styles from "./SearchField.module.css";

const REST_MS = 250;

interface Props {
  label: string;
  /** Whether the label stands in the field while that is empty, and takes no room of its own. */
  hidesLabel?: boolean;
  placeholder?: string;
  /** What the list shows now; a change from outside, such as the browser's way back, is taken over. */
  value: string;
  maxLength?: number;
  onSearch: (value: string) => void;
}

export function SearchField({ label, hidesLabel = false, placeholder, value, maxLength, onSearch }: Props) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    if (value !== sent.current) setText(value);
    sent.current = value;
  }, [value]);
  const latest = useRef(onSearch);
  latest.current = onSearch;
  useEffect(() => () => clearTimeout(waiting.current), []);
  function send(typed: string) {
    clearTimeout(waiting.current);
    const next = typed.trim();
    if (next === sent.current) return;
    sent.current = next;
    latest.current(next);
  }
  function change({ target, nativeEvent }: ChangeEvent<HTMLInputElement>) {
    setText(target.value);
    clearTimeout(waiting.current);
    // Half a Chinese word is none.
    if (!(nativeEvent as InputEvent).isComposing) waiting.current = setTimeout(() => send(target.value), REST_MS);
  }
  const input = {
    type: "search",
    value: text,
    maxLength,
    onChange: change,
    onCompositionEnd: ({ currentTarget }: CompositionEvent<HTMLInputElement>) => send(currentTarget.value),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
      // In a form, it would be sent.
      event.preventDefault();
      send(text);
    },
  };
  if (hidesLabel) return <input {...input} className={styles.field} aria-label={label} placeholder={label} />;
  return <TextField {...input} label={label} placeholder={placeholder} />;
}
