/** A field whose text counts once the person pauses. */
import { useEffect, useRef, useState } from "react";
import { TextField } from "@/components/forms/Field";

const PAUSE_MS = 250;

export function SearchField({
  label,
  value,
  onSearch,
}: {
  label: string;
  value: string;
  onSearch: (text: string) => void;
}) {
  const [text, setText] = useState(value);
  const latest = useRef(onSearch);
  latest.current = onSearch;
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => latest.current(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, value]);
  return (
    <TextField
      label={label}
      type="search"
      value={text}
      onChange={(event) => setText(event.target.value)}
      onKeyDown={(event) => {
        if (event.key !== "Enter") return;
        // In a form, it would be sent.
        event.preventDefault();
        latest.current(text);
      }}
    />
  );
}
