/** A dialog with a form that is sent once. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { ErrorNotice, fieldErrorOf } from "@/components/feedback/ErrorNotice";
import { notify } from "@/components/feedback/toasts";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import styles from "./Form.module.css";
import { FieldErrorContext } from "./fieldErrors";

export function FormDialog({
  title,
  description,
  action,
  danger,
  disabled,
  wide,
  actions,
  done,
  onSend,
  onClose,
  children,
}: {
  title: string;
  description?: string;
  action: string;
  danger?: boolean;
  disabled?: boolean;
  wide?: boolean;
  /** Buttons before the one that sends. */
  actions?: ReactNode;
  /** What is said once it was sent. */
  done?: string;
  /** What is sent; the dialog closes when that went well. */
  onSend: () => Promise<unknown>;
  onClose: () => void;
  children: ReactNode;
}) {
  const { t } = useTranslation("common");
  const send = useMutation({
    mutationFn: onSend,
    onSuccess: () => {
      notify(done ?? t("state.saved"));
      onClose();
    },
  });
  return (
    <Dialog open wide={wide} onClose={onClose} title={title} description={description}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          send.mutate();
        }}
      >
        <FieldErrorContext value={fieldErrorOf(send.error)}>{children}</FieldErrorContext>
        {send.isError && (
          <div ref={bringIntoView}>
            <ErrorNotice error={send.error} />
          </div>
        )}
        <DialogActions held={wide}>
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          {actions}
          <Button type="submit" variant={danger ? "danger" : "primary"} busy={send.isPending} disabled={disabled}>
            {action}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** A long form ends at the edge of its dialog, and what is said below it would stand beyond. */
function bringIntoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}
