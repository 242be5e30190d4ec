/** Messages about what was just done, at the edge of the screen. */
import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "./Button";
import { useErrorText } from "./ErrorNotice";
import styles from "./toasts.module.css";

const manager = Toast.createToastManager();

/** Say that something was done. */
export function notify(text: string): void {
  manager.add({ description: text, timeout: 4000 });
}

/** A function that shows an error of something done beside the page's own content. */
export function useErrorToast(): (error: unknown) => void {
  const text = useErrorText();
  return (error) => manager.add({ description: text(error), type: "error", timeout: 8000, priority: "high" });
}

export function ToastProvider({ children }: { children: ReactNode }) {
  return (
    <Toast.Provider toastManager={manager}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className={styles.viewport}>
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ToastList() {
  const { t } = useTranslation();
  const { toasts, close } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className={[styles.toast, toast.type === "error" && styles.error].filter(Boolean).join(" ")}
    >
      <Toast.Description className={styles.text} />
      <IconButton icon={X} size="s" label={t("action.close")} onClick={() => close(toast.id)} />
    </Toast.Root>
  ));
}
