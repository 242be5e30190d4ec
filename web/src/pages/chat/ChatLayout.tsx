/** The frame of the chat: conversations at the side, on a phone behind a button. */
import { Outlet } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Dialog } from "@/components/overlays/Dialog";
import styles from "./ChatLayout.module.css";
import { ConversationList } from "./conversations/ConversationList";
import { ShowListProvider } from "./showList";

export function ChatLayout() {
  const { t } = useTranslation("chat");
  const [open, setOpen] = useState(false);
  return (
    <div className={styles.layout}>
      <aside className={styles.side} aria-label={t("list.label")}>
        <ConversationList />
      </aside>
      <ShowListProvider value={() => setOpen(true)}>
        <Outlet />
      </ShowListProvider>
      <Dialog open={open} onClose={() => setOpen(false)} title={t("list.label")}>
        {open && <ConversationList onOpen={() => setOpen(false)} />}
      </Dialog>
    </div>
  );
}
