/** Event sources: addresses that take signed events, and what came from each. */
import { useQuery } from "@tanstack/react-query";
import { Plus, Webhook } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import styles from "@/components/forms/Form.module.css";
import { ItemList } from "@/components/layout/ItemList";
import { Section, Skeleton } from "@/components/layout/Page";
import { type EventType, eventSourcesQuery, eventTypesQuery } from "../ruleQueries";
import { EventSourceItem } from "./EventSourceItem";
import { SigningExample } from "./SigningExample";
import { SourceSecretDialog } from "./SourceSecretDialog";
import { addressOf, type EventSource } from "./sourceAddress";

/** Who has just sent a first event waits for it here. */
const PAUSE_MS = 10_000;

export function EventSourceList() {
  const { t } = useTranslation("rules");
  const mayWrite = useMay()("rule:write");
  const [creates, setCreates] = useState(false);
  const { data, error, refetch } = useQuery({ ...eventSourcesQuery, refetchInterval: PAUSE_MS });
  const { data: known } = useQuery({ ...eventTypesQuery(), refetchInterval: PAUSE_MS });
  const add = mayWrite && (
    <Button icon={Plus} onClick={() => setCreates(true)}>
      {t("source.new")}
    </Button>
  );
  return (
    <>
      {error && !data && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={6} />}
      {data?.total === 0 && (
        <EmptyState icon={Webhook} title={t("source.none")} action={add}>
          {t(mayWrite ? "source.none_text" : "source.none_ask")}
        </EmptyState>
      )}
      {data && data.total > 0 && (
        <Section title={t("source.count", { count: data.total })} actions={add}>
          <p className={styles.hint}>{t("source.none_text")}</p>
          <Sources sources={data.items} types={known?.event_types ?? []} mayWrite={mayWrite} />
        </Section>
      )}
      {creates && <SourceSecretDialog onClose={() => setCreates(false)} />}
    </>
  );
}

interface SourcesProps {
  sources: readonly EventSource[];
  types: readonly EventType[];
  mayWrite: boolean;
}

function Sources({ sources, types, mayWrite }: SourcesProps) {
  const { t } = useTranslation("rules");
  const [first] = sources;
  return (
    <>
      <ItemList label={t("tab.sources")}>
        {sources.map((source) => (
          <EventSourceItem
            key={source.id}
            source={source}
            types={types.filter((type) => type.source_id === source.id)}
            mayWrite={mayWrite}
          />
        ))}
      </ItemList>
      {first && <SigningExample address={addressOf(first)} />}
    </>
  );
}
