/** A document for a knowledge base: a text, or a page on the web. */
import { useTranslation } from "react-i18next";
import { SelectField, TextAreaField, TextField } from "@/components/forms/Field";
import { NO_CHOICES, useOptions } from "@/pages/chat/composer/choices";
import type { ActionFieldsProps } from "./fields";

export function IngestFields({ action, template, onChange }: ActionFieldsProps<"ingest">) {
  const { t } = useTranslation("rules");
  const { params } = action;
  const { knowledge_base_id: base, name, text, url } = params;
  const { knowledgeBases } = useOptions({ ...NO_CHOICES, knowledgeBases: base ? [base] : [] });
  const change = (part: Partial<typeof params>) => onChange({ ...action, params: { ...params, ...part } });
  const isPage = url !== undefined && url !== null;
  return (
    <>
      <SelectField
        label={t("then.knowledge_base")}
        value={base}
        options={[
          { value: "", label: t("then.choose"), disabled: true },
          ...knowledgeBases.map((option) => ({ value: option.id, label: option.name })),
        ]}
        onChange={({ target }) => change({ knowledge_base_id: target.value })}
        required
      />
      <TextField
        label={t("then.document_name")}
        hint={t("then.template_hint", { example: template })}
        value={name}
        maxLength={500}
        onChange={({ target }) => change({ name: target.value })}
        required
      />
      <SelectField
        label={t("then.content")}
        value={isPage ? "url" : "text"}
        options={(["text", "url"] as const).map((value) => ({ value, label: t(`then.content_${value}`) }))}
        onChange={({ target }) => change(target.value === "url" ? { text: null, url: "" } : { text: "", url: null })}
      />
      {isPage ? (
        <TextField
          label={t("then.document_url")}
          value={url}
          maxLength={200}
          spellCheck={false}
          onChange={({ target }) => change({ url: target.value })}
          required
        />
      ) : (
        <TextAreaField
          label={t("then.document_text")}
          value={text ?? ""}
          maxLength={10_000}
          onChange={({ target }) => change({ text: target.value })}
          required
        />
      )}
    </>
  );
}
