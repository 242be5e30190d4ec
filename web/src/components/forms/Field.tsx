/** Labelled inputs with hint and error. */
import { Switch as BaseSwitch } from "@base-ui/react/switch";
import { type ComponentProps, type ReactNode, useId } from "react";
import styles from "./Field.module.css";
import { useFieldError } from "./fieldErrors";

interface Words {
  label: ReactNode;
  /** Whether the label is for machines alone and takes no room. */
  hidesLabel?: boolean;
  hint?: ReactNode;
  error?: ReactNode;
}

function Frame({ id, label, hidesLabel, hint, error, children }: Words & { id: string; children: ReactNode }) {
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={hidesLabel ? "visually-hidden" : styles.label}>
        {label}
      </label>
      {children}
      {hint && (
        <p id={`${id}-hint`} className={styles.hint}>
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className={styles.error} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

function description(id: string, { hint, error }: Partial<Words>) {
  const ids = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return { "aria-describedby": ids || undefined, "aria-invalid": error ? true : undefined } as const;
}

export function TextField({
  label,
  hidesLabel,
  hint,
  error: ownError,
  className,
  ...rest
}: Words & ComponentProps<"input">) {
  const id = useId();
  const error = useFieldError(rest.name, ownError);
  return (
    <Frame id={id} label={label} hidesLabel={hidesLabel} hint={hint} error={error}>
      <input
        {...rest}
        {...description(id, { hint, error })}
        id={id}
        className={[styles.input, className].filter(Boolean).join(" ")}
      />
    </Frame>
  );
}

export function TextAreaField({
  label,
  hidesLabel,
  hint,
  error: ownError,
  className,
  ...rest
}: Words & ComponentProps<"textarea">) {
  const id = useId();
  const error = useFieldError(rest.name, ownError);
  return (
    <Frame id={id} label={label} hidesLabel={hidesLabel} hint={hint} error={error}>
      <textarea
        rows={4}
        {...rest}
        {...description(id, { hint, error })}
        id={id}
        className={[styles.input, className].filter(Boolean).join(" ")}
      />
    </Frame>
  );
}

export interface SelectOption {
  value: string;
  label: string;
  disabled?: boolean;
}

export function SelectField({
  label,
  hidesLabel,
  hint,
  error: ownError,
  options,
  ...rest
}: Words & Omit<ComponentProps<"select">, "children"> & { options: readonly SelectOption[] }) {
  const id = useId();
  const error = useFieldError(rest.name, ownError);
  return (
    <Frame id={id} label={label} hidesLabel={hidesLabel} hint={hint} error={error}>
      <select {...rest} {...description(id, { hint, error })} id={id} className={styles.input}>
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.disabled}>
            {option.label}
          </option>
        ))}
      </select>
    </Frame>
  );
}

export function SwitchField({
  label,
  hint,
  checked,
  onChange,
  disabled,
}: {
  label: ReactNode;
  hint?: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}) {
  const id = useId();
  return (
    <div className={styles.switchField}>
      <BaseSwitch.Root
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        aria-labelledby={`${id}-label`}
        aria-describedby={hint ? `${id}-hint` : undefined}
        className={styles.switch}
      >
        <BaseSwitch.Thumb className={styles.thumb} />
      </BaseSwitch.Root>
      <div>
        <span id={`${id}-label`} className={styles.label}>
          {label}
        </span>
        {hint && (
          <p id={`${id}-hint`} className={styles.hint}>
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}

export function CheckboxField({
  label,
  checked,
  onChange,
  disabled,
}: {
  label: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}) {
  return (
    <label className={styles.checkbox}>
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span>{label}</span>
    </label>
  );
}
