/** A box for a question, with some that the shipped documentation or the person's own documents answer. */
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ArrowRight } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import styles from "./HomePage.module.css";
import { Suggestions } from "./Suggestions";

export interface HomeQuestion {
  text: string;
  /** Where it is searched for: empty for all knowledge bases, null for what was chosen last. */
  knowledgeBases: readonly string[] | null;
}

export function AskBox() {
  const { t } = useTranslation("home");
  const navigate = useNavigate();
  const [question, setQuestion] = useState("");
  const ask = useMutation({
    mutationFn: async ({ text, knowledgeBases }: HomeQuestion) => {
      // The chat is loaded when somebody asks.
      const { lastChoices, startConversation } = await import("@/pages/chat/conversations/start");
      const choices = { ...lastChoices(), ...(knowledgeBases && { knowledgeBases }) };
      return startConversation({ text, attachments: [] }, choices);
    },
    onSuccess: (threadId) => navigate({ to: "/chat/$threadId", params: { threadId } }),
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    if (question.trim()) ask.mutate({ text: question.trim(), knowledgeBases: null });
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
      <Suggestions isBusy={ask.isPending} onAsk={(question) => ask.mutate(question)} />
    </section>
  );
}
