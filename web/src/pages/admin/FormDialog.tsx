/** A dialog with a form that is sent once. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { Dialog, DialogActions } from "@/components/Dialog";
import { ErrorNotice } from "@/components/ErrorNotice";
import { notify } from "@/components/toasts";
import styles from "@/pages/connections/Form.module.css";

export function FormDialog({
  title,
  description,
  action,
  danger,
  disabled,
  onSend,
  onClose,
  children,
}: {
  title: string;
  description?: string;
  action: string;
  danger?: boolean;
  disabled?: boolean;
  /** What is sent; the dialog closes when that went well. */
  onSend: () => Promise<unknown>;
  onClose: () => void;
  children: ReactNode;
}) {
  const { t } = useTranslation("common");
  const send = useMutation({
    mutationFn: onSend,
    onSuccess: () => {
      notify(t("state.saved"));
      onClose();
    },
  });
  return (
    <Dialog open onClose={onClose} title={title} description={description}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          send.mutate();
        }}
      >
        {children}
        {send.isError && <ErrorNotice error={send.error} />}
        <DialogActions>
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button type="submit" variant={danger ? "danger" : "primary"} busy={send.isPending} disabled={disabled}>
            {action}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
