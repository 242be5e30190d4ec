/** Dialogs: a form or text over the page, and a question before something that can't be undone. */
import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import styles from "./Dialog.module.css";
import { useReturnFocus } from "./returnFocus";

export function Dialog({
  open,
  onClose,
  title,
  description,
  wide,
  children,
}: {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  description?: ReactNode;
  wide?: boolean;
  children: ReactNode;
}) {
  const { t } = useTranslation();
  const returnFocus = useReturnFocus(open);
  return (
    <BaseDialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className={styles.backdrop} />
        <BaseDialog.Popup
          finalFocus={returnFocus}
          className={[styles.popup, wide && styles.wide].filter(Boolean).join(" ")}
        >
          <BaseDialog.Title className={styles.title}>{title}</BaseDialog.Title>
          {description && <BaseDialog.Description className={styles.description}>{description}</BaseDialog.Description>}
          {children}
          {/* The last: the focus begins with the first field. */}
          <IconButton icon={X} label={t("action.close")} onClick={onClose} className={styles.close} />
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}

/** The buttons at a dialog's end; with `held` they stay in sight while what is above them is scrolled. */
export function DialogActions({ held, children }: { held?: boolean; children: ReactNode }) {
  return <footer className={[styles.actions, held && styles.held].filter(Boolean).join(" ")}>{children}</footer>;
}

export function ConfirmDialog({
  open,
  onClose,
  title,
  description,
  action,
  onConfirm,
}: {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  description: ReactNode;
  /** What the button says that does it. */
  action: string;
  onConfirm: () => Promise<unknown>;
}) {
  const { t } = useTranslation();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  async function confirm() {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onClose();
    } catch (cause) {
      setError(cause);
    } finally {
      setBusy(false);
    }
  }
  return (
    <Dialog open={open} onClose={onClose} title={title} description={description}>
      {error !== null && <ErrorNotice error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("action.cancel")}</Button>
        <Button variant="danger" busy={busy} onClick={confirm}>
          {action}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
