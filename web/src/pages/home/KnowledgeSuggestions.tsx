/** What can be asked where Agentex's own documentation is not: of the person's documents, or what has to come before. */
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Button, LinkButton } from "@/components/Button";
import type { HomeQuestion } from "./AskBox";
import { topicsQuery } from "./documentTopics";
import styles from "./HomePage.module.css";

export function KnowledgeSuggestions({ isBusy, onAsk }: { isBusy: boolean; onAsk: (question: HomeQuestion) => void }) {
  const { t } = useTranslation("home");
  const may = useMay();
  const { data } = useQuery({ ...topicsQuery, enabled: may("kb:view") });
  if (!data) return null;
  if (!data.hasDocuments) {
    return (
      <div className={styles.reading}>
        <p className={styles.readingText}>{t(may("kb:write") ? "next_step.upload" : "next_step.ask")}</p>
        {may("kb:write") && <LinkButton to="/knowledge-bases">{t("next_step.open")}</LinkButton>}
      </div>
    );
  }
  if (data.topics.length === 0) return null;
  return (
    <div className={styles.suggestions}>
      {data.topics.map(({ knowledgeBaseId, document, heading }) => {
        const text = t("suggestion.topic", { document, heading });
        return (
          <Button
            key={`${knowledgeBaseId} ${text}`}
            size="s"
            disabled={isBusy}
            className={styles.suggestion}
            onClick={() => onAsk({ text, knowledgeBases: [knowledgeBaseId] })}
          >
            {text}
          </Button>
        );
      })}
    </div>
  );
}
