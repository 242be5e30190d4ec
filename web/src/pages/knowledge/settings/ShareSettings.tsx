/** With whom a knowledge base is shared. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { notify } from "@/components/feedback/toasts";
import { FormError } from "@/components/forms/FormError";
import { Card, Section, Skeleton } from "@/components/layout/Page";
import form from "../Form.module.css";
import { type Subject, SubjectList, subjectBody, subjectOf } from "./SubjectList";

const PLACE = "/api/v1/knowledge-bases/{kb_id}/shares";

export function ShareSettings({ kbId, isPublic }: { kbId: string; isPublic: boolean }) {
  const { t } = useTranslation("knowledge");
  const shares = useQuery({
    queryKey: ["knowledge-base", kbId, "shares"],
    queryFn: ({ signal }) => call(api.GET(PLACE, { params: { path: { kb_id: kbId } }, signal })),
  });
  return (
    <Section title={t("settings.shares")}>
      <Card className={form.form}>
        <p className={form.small}>{t("settings.shares_hint")}</p>
        {isPublic && <Notice>{t("settings.shares_public")}</Notice>}
        {shares.isPending && <Skeleton />}
        {shares.isError && <ErrorNotice error={shares.error} onRetry={() => shares.refetch()} />}
        {shares.data && <ShareForm key={shares.data.version} kbId={kbId} shares={shares.data} />}
      </Card>
    </Section>
  );
}

function ShareForm({ kbId, shares }: { kbId: string; shares: Schemas["ShareList"] }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const queries = useQueryClient();
  const [subjects, setSubjects] = useState<readonly Subject[]>(() => shares.items.map(subjectOf));
  const [isChanged, setChanged] = useState(false);
  const save = useMutation({
    mutationFn: () =>
      call(
        api.PUT(PLACE, {
          params: { path: { kb_id: kbId } },
          body: {
            shares: subjects.map((subject) => ({ ...subjectBody(subject), access: subject.access })),
            version: shares.version,
          },
        }),
      ),
    onSuccess: async () => {
      notify(t("common:state.saved"));
      await queries.invalidateQueries({ queryKey: ["knowledge-base", kbId, "shares"] });
    },
  });
  function change(next: readonly Subject[]) {
    setSubjects(next);
    setChanged(true);
  }
  return (
    <>
      <SubjectList subjects={subjects} onChange={change} withAccess emptyText={t("settings.shares_none")} />
      {save.isError && <FormError error={save.error} />}
      <div className={form.actions}>
        <Button variant="primary" disabled={!isChanged} busy={save.isPending} onClick={() => save.mutate()}>
          {t("common:action.save")}
        </Button>
      </div>
    </>
  );
}
