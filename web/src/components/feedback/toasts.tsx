/** Messages about what was just done, at the edge of the screen. */
import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "@/components/Button";
import { reasonsOf, useErrorText } from "./ErrorNotice";
import styles from "./toasts.module.css";

const manager = Toast.createToastManager();

/** Say that something was done; what is said already stays a while longer. */
export function notify(text: string): void {
  manager.add({ id: text, description: text, timeout: 4000 });
}

/** A function that shows an error of something done beside the page's own content. */
export function useErrorToast(): (error: unknown) => void {
  const text = useErrorText();
  return (error) => {
    const description = [text(error), ...reasonsOf(error).slice(0, 1)].join("\n");
    manager.add({ id: description, description, type: "error", timeout: 8000, priority: "high" });
  };
}

export function ToastProvider({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  return (
    <Toast.Provider toastManager={manager}>
      {children}
      <Toast.Portal>
        <Toast.Viewport aria-label={t("state.notices")} className={styles.viewport}>
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
      aria-label={typeof toast.description === "string" ? toast.description : t("state.notice")}
      className={[styles.toast, toast.type === "error" && styles.error].filter(Boolean).join(" ")}
    >
      <Toast.Description className={styles.text} />
      <IconButton icon={X} size="s" label={t("action.close")} onClick={() => close(toast.id)} />
    </Toast.Root>
  ));
}
