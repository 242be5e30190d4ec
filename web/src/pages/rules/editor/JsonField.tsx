/** A field for a JSON value within a form, which is not sent while it holds anything else. */
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { TextAreaField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";

interface Props {
  label: string;
  hint?: string;
  value: unknown;
  /** Whether anything but an object is refused. */
  object?: boolean;
  onChange: (value: never) => void;
}

export function JsonField({ label, hint, value, object = false, onChange }: Props) {
  const { t } = useTranslation("rules");
  const [typed, setTyped] = useState<string | null>(null);
  const field = useRef<HTMLDivElement>(null);
  const read = typed === null ? undefined : parseJson(typed, object);
  const isOurs = typed !== null && (read === undefined || JSON.stringify(read.value) === JSON.stringify(value));
  const error = isOurs && !read ? t("then.json_object") : "";
  useEffect(() => {
    field.current?.querySelector("textarea")?.setCustomValidity(error);
  }, [error]);
  return (
    <div ref={field}>
      <TextAreaField
        label={label}
        hint={hint}
        error={error || undefined}
        className={styles.mono}
        spellCheck={false}
        value={isOurs ? typed : JSON.stringify(value ?? {}, null, 2)}
        onChange={({ target }) => {
          setTyped(target.value);
          const next = parseJson(target.value, object);
          if (next) onChange(next.value as never);
        }}
      />
    </div>
  );
}

function parseJson(text: string, object: boolean): { value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return object && (typeof value !== "object" || value === null || Array.isArray(value)) ? undefined : { value };
  } catch {
    return undefined;
  }
}
