/** Conversations whose run waits for the person's approval or answer, as rows of a list. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { formatRelative } from "@/i18n/format";
import { useInterruptQuestion } from "@/pages/chat/interrupts/interruptQuestion";
import styles from "./HomePage.module.css";

const SHOWN = 5;
const LOOK_MS = 15_000;

export function useWaitingSessions(enabled: boolean): Schemas["ListedSession"][] {
  const query = { page: 1, page_size: SHOWN, waiting: true, is_archived: false };
  const { data } = useQuery({
    queryKey: ["sessions", "waiting"],
    queryFn: () => call(api.GET("/api/v1/sessions", { params: { query } })),
    refetchInterval: LOOK_MS,
    enabled,
  });
  return data?.items ?? [];
}

export function WaitingSessions({ sessions }: { sessions: readonly Schemas["ListedSession"][] }) {
  const { t } = useTranslation("home");
  const questionOf = useInterruptQuestion();
  return sessions.map(({ id, thread_id, title, interrupts: [interrupt] }) => (
    <Link key={id} to="/chat/$threadId" params={{ threadId: thread_id }} className={styles.row}>
      <span className={styles.line}>
        <span className={styles.name}>{title || t("conversations.untitled")}</span>
        <span className={styles.detail}>
          {t(interrupt?.reason === "input_required" ? "attention.input" : "attention.approval")}
        </span>
      </span>
      {interrupt && (
        <span className={styles.line}>
          <span className={styles.message}>{questionOf(interrupt)}</span>
          <span className={styles.detail}>
            {t("attention.expires", { when: formatRelative(interrupt.expires_at) })}
          </span>
        </span>
      )}
    </Link>
  ));
}
