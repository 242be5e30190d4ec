/** With whom something is shared: people and roles, changed together. */
import { type MutationScope, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify } from "@/components/feedback/toasts";
import { FormError } from "@/components/forms/FormError";
import { Card, Section, Skeleton } from "@/components/layout/Page";
import styles from "./ShareSection.module.css";
import { type Subject, SubjectList, subjectBody, subjectOf } from "./SubjectList";

type ShareList = Schemas["ShareList"];

interface Props {
  queryKey: readonly string[];
  read: () => Promise<ShareList>;
  write: (body: Schemas["SharesBody"]) => Promise<ShareList>;
  /** What each access lets people do. */
  lead: string;
  /** What writing is called, if it is more or less than that. */
  writeLabel?: string;
  /** Changes of the same scope follow one another. */
  scope?: MutationScope;
  onSaved?: () => Promise<unknown>;
  children?: ReactNode;
}

export function ShareSection(props: Props) {
  const { t } = useTranslation();
  const shares = useQuery({ queryKey: props.queryKey, queryFn: props.read });
  return (
    <Section title={t("shares.title")}>
      <Card className={styles.form}>
        <p className={styles.lead}>{props.lead}</p>
        {props.children}
        {shares.isPending && <Skeleton lines={2} />}
        {shares.isError && <ErrorNotice error={shares.error} onRetry={() => void shares.refetch()} />}
        {shares.data && <ShareForm key={shares.data.version} shares={shares.data} {...props} />}
      </Card>
    </Section>
  );
}

function ShareForm({ shares, queryKey, write, writeLabel, scope, onSaved }: Props & { shares: ShareList }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [subjects, setSubjects] = useState<readonly Subject[]>(() => shares.items.map(subjectOf));
  const [isChanged, setChanged] = useState(false);
  const save = useMutation({
    ...(scope && { scope }),
    mutationFn: () => write({ shares: subjects.map(shareBody), version: shares.version }),
    onSuccess: async (saved) => {
      notify(t("state.saved"));
      queries.setQueryData(queryKey, saved);
      await onSaved?.();
    },
  });
  function change(next: readonly Subject[]) {
    save.reset();
    setSubjects(next);
    setChanged(true);
  }
  return (
    <>
      <SubjectList
        subjects={subjects}
        onChange={change}
        accessLabels={{ read: t("subject.read"), write: writeLabel ?? t("subject.write") }}
        emptyText={t("shares.none")}
      />
      {save.isError && <FormError error={save.error} />}
      <div>
        <Button variant="primary" disabled={!isChanged} busy={save.isPending} onClick={() => save.mutate()}>
          {t("action.save")}
        </Button>
      </div>
    </>
  );
}

function shareBody(subject: Subject): Schemas["ShareBody"] {
  return { ...subjectBody(subject), access: subject.access };
}
