/** A value that is shown once, with a button that copies it. */
import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { notify } from "@/components/feedback/toasts";
import { TextField } from "./Field";
import styles from "./Form.module.css";

export function CopyField({ label, hint, value }: { label: string; hint?: string; value: string }) {
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
    <div className={styles.form}>
      <TextField
        label={label}
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
