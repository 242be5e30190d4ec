/** A value to take along, with a button that copies it. */
import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { notify } from "@/components/feedback/toasts";
import { TextField } from "./Field";
import styles from "./Form.module.css";

interface Props {
  label: string;
  /** Whether the label is for machines alone and takes no room. */
  hidesLabel?: boolean;
  hint?: string;
  value: string;
}

export function CopyField({ label, hidesLabel, hint, value }: Props) {
  const { t } = useTranslation();
  const [isCopied, setCopied] = useState(false);
  async function copy() {
    try {
      await navigator.clipboard.writeText(value);
      setCopied(true);
    } catch {
      // Only over HTTPS and on this machine may a page write to the clipboard.
      notify(t("copy.refused"));
    }
  }
  return (
    // Below a hint the button can't stand beside the field.
    <div className={hint ? styles.form : styles.copied}>
      <TextField
        label={label}
        hidesLabel={hidesLabel}
        hint={hint}
        className={styles.mono}
        value={value}
        readOnly
        onFocus={(event) => event.target.select()}
      />
      <div>
        <Button icon={isCopied ? Check : Copy} onClick={() => void copy()}>
          {t(isCopied ? "copy.done" : "action.copy")}
        </Button>
      </div>
    </div>
  );
}
