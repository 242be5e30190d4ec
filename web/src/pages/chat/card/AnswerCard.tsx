/** The card of an answer, as clients of the asynchronous API show it. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Skeleton } from "@/components/layout/Page";
import styles from "./AnswerCard.module.css";
import { CardNodeView } from "./CardNodes";
import { cardOf } from "./cardSchema";

export default function AnswerCard({ messageId }: { messageId: string }) {
  const { t } = useTranslation("chat");
  const { threadId } = useParams({ from: "/shell/conversations/chat/$threadId" });
  const path = { session_id: threadId, message_id: messageId };
  const schema = useQuery({
    queryKey: ["sessions", "card", threadId, messageId],
    queryFn: (): Promise<unknown> =>
      call(api.GET("/api/v1/sessions/{session_id}/messages/{message_id}/ui-schema", { params: { path } })),
    // An answer does not change any more.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const card = useMemo(() => cardOf(schema.data), [schema.data]);
  if (schema.isError) return <ErrorNotice error={schema.error} onRetry={() => void schema.refetch()} />;
  if (schema.isPending) return <Skeleton lines={4} />;
  return (
    <section className={styles.frame} aria-label={t("card.title")}>
      {card.root ? <CardNodeView node={card.root} /> : <p className={styles.caption}>{t("card.none")}</p>}
      {card.isCut && <p className={styles.caption}>{t("card.cut")}</p>}
    </section>
  );
}
