/** A field that narrows a list while somebody types; the list follows when the typing rests. */
import { type ChangeEvent, useEffect, useRef, useState } from "react";
import styles from "./SearchField.module.css";

const REST_MS = 250;

interface Props {
  label: string;
  /** What the list shows now; a change from outside, such as the browser's way back, is taken over. */
  value: string;
  maxLength?: number;
  onSearch: (value: string) => void;
}

export function SearchField({ label, value, maxLength, onSearch }: Props) {
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
  function send(next: string) {
    clearTimeout(waiting.current);
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
  return (
    <input
      type="search"
      className={styles.field}
      aria-label={label}
      placeholder={label}
      value={text}
      maxLength={maxLength}
      onChange={change}
      onCompositionEnd={({ currentTarget }) => send(currentTarget.value)}
      onKeyDown={(event) => event.key === "Enter" && !event.nativeEvent.isComposing && send(text)}
    />
  );
}
