/** The question before a source is forgotten: its documents stay or go. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { CheckboxField } from "@/components/forms/Field";
import { FormDialog } from "@/components/forms/FormDialog";
import { deleteSource, type KnowledgeSource, useSourceRefresh } from "./sourceQueries";

export function DeleteSourceDialog({ source, onClose }: { source: KnowledgeSource; onClose: () => void }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const refresh = useSourceRefresh(source.knowledge_base_id);
  const [withDocuments, setWithDocuments] = useState(false);
  return (
    <FormDialog
      title={t("source.delete_title", { name: source.name })}
      description={t("source.delete_text")}
      action={t("common:action.delete")}
      danger
      done={t("source.deleted", { name: source.name })}
      onSend={async () => {
        await deleteSource(source, withDocuments);
        await refresh();
      }}
      onClose={onClose}
    >
      <CheckboxField
        label={t("source.delete_documents", { count: source.documents })}
        checked={withDocuments}
        onChange={setWithDocuments}
      />
    </FormDialog>
  );
}
