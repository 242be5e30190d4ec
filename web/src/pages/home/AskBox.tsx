/** A box for a question, with some that the shipped documentation answers. */
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ArrowRight } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/ErrorNotice";
import styles from "./HomePage.module.css";

const SUGGESTIONS = ["suggestion.upload", "suggestion.languages", "suggestion.skill"] as const;

export function AskBox() {
  const { t } = useTranslation("home");
  const navigate = useNavigate();
  const [question, setQuestion] = useState("");
  const ask = useMutation({
    mutationFn: async (text: string) => {
      // The chat is loaded when somebody asks.
      const { lastChoices, startConversation } = await import("@/pages/chat/conversations/start");
      return startConversation({ text, attachments: [] }, lastChoices());
    },
    onSuccess: (threadId) => navigate({ to: "/chat/$threadId", params: { threadId } }),
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    if (question.trim()) ask.mutate(question.trim());
  }
  return (
    <section className={styles.ask} aria-label={t("ask.label")}>
      {ask.isError && <ErrorNotice error={ask.error} />}
      <form className={styles.question} onSubmit={submit}>
        <input
          value={question}
          onChange={(event) => setQuestion(event.target.value)}
          aria-label={t("ask.label")}
          placeholder={t("ask.placeholder")}
          maxLength={4000}
        />
        <Button type="submit" variant="primary" icon={ArrowRight} busy={ask.isPending} disabled={!question.trim()}>
          {t("ask.submit")}
        </Button>
      </form>
      <div className={styles.suggestions}>
        {SUGGESTIONS.map((key) => (
          <Button key={key} size="s" disabled={ask.isPending} onClick={() => ask.mutate(t(key))}>
            {t(key)}
          </Button>
        ))}
      </div>
    </section>
  );
}
