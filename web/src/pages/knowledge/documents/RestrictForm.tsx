/** Who reads a document, or several at once. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { notify } from "@/components/feedback/toasts";
import { FormError } from "@/components/forms/FormError";
import { Skeleton } from "@/components/layout/Page";
import { DialogActions } from "@/components/overlays/Dialog";
import { type Subject, SubjectList, subjectBody, subjectOf } from "@/components/sharing/SubjectList";
import styles from "../Form.module.css";
import { useRefresh } from "../knowledgeActions";
import type { DocumentRow } from "../queries";

const PLACE = "/api/v1/knowledge-bases/{kb_id}/documents/{doc_id}/access";

interface Props {
  kbId: string;
  documents: readonly DocumentRow[];
  onClose: () => void;
}

export function RestrictForm(props: Props) {
  const [first] = props.documents;
  const isOne = props.documents.length === 1;
  const found = useQuery({
    queryKey: ["documents", props.kbId, "access", first?.id],
    queryFn: ({ signal }) =>
      call(api.GET(PLACE, { params: { path: { kb_id: props.kbId, doc_id: first?.id ?? "" } }, signal })),
    enabled: isOne,
    gcTime: 0,
  });
  if (isOne && found.isPending) return <Skeleton />;
  if (found.isError) return <ErrorNotice error={found.error} onRetry={() => found.refetch()} />;
  return <ReaderForm {...props} present={found.data} />;
}

function useRestrict({ kbId, documents, onClose }: Props, version: string | undefined) {
  const { t } = useTranslation("knowledge");
  const refresh = useRefresh(kbId);
  return useMutation({
    /** `null`: everybody who reads the knowledge base. */
    mutationFn: async (readers: readonly Subject[] | null) => {
      for (const { id } of documents) {
        const params = { path: { kb_id: kbId, doc_id: id } };
        if (readers) await call(api.PUT(PLACE, { params, body: { readers: readers.map(subjectBody), version } }));
        else await call(api.DELETE(PLACE, { params }) as Promise<{ response: Response; error?: unknown }>);
      }
    },
    onSuccess: () => {
      notify(t("restrict.saved", { count: documents.length }));
      onClose();
    },
    onSettled: refresh,
  });
}

function ReaderForm({ present, ...props }: Props & { present: Schemas["AccessAnswer"] | undefined }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const [isOpen, setOpen] = useState(present ? !present.by_hand : false);
  const [readers, setReaders] = useState<readonly Subject[]>(present?.items.map((item) => subjectOf(item)) ?? []);
  const restrict = useRestrict(props, present?.version);
  const bySource = present?.source_readers;
  // Only what is restricted here can be opened here.
  const clears = isOpen && (!present || present.by_hand || !bySource);
  const save = () => (isOpen && !clears ? props.onClose() : restrict.mutate(isOpen ? null : readers));
  return (
    <div className={styles.form}>
      {bySource && <SourceReaders levels={bySource} />}
      <fieldset className={styles.choices}>
        <legend>{t("restrict.who")}</legend>
        {([true, false] as const).map((value) => (
          <label key={String(value)} className={styles.choice}>
            <input type="radio" name="readers" checked={isOpen === value} onChange={() => setOpen(value)} />
            <span>
              <strong>{t(value ? "restrict.everybody" : "restrict.some")}</strong>
              <span className={styles.small}>{t(value ? "restrict.everybody_hint" : "restrict.some_hint")}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {!isOpen && <SubjectList subjects={readers} onChange={setReaders} emptyText={t("restrict.nobody")} />}
      {!present && <Notice tone="warning">{t("restrict.many")}</Notice>}
      {restrict.isError && <FormError error={restrict.error} />}
      <DialogActions>
        <Button onClick={props.onClose}>{t("common:action.cancel")}</Button>
        <Button variant="primary" busy={restrict.isPending} onClick={save}>
          {t("common:action.save")}
        </Button>
      </DialogActions>
    </div>
  );
}

/** Whom the document's source admits; who is to read it must be in each list. */
function SourceReaders({ levels }: { levels: readonly (readonly string[])[] }) {
  const { t } = useTranslation("knowledge");
  return (
    <Notice tone="info">
      <p>{t("restrict.by_source")}</p>
      <ul className={styles.points}>
        {levels.map((level) => (
          <li key={level.join()}>{level.join(", ") || t("restrict.source_nobody")}</li>
        ))}
      </ul>
    </Notice>
  );
}
