/** The form of a source: a web site, or a folder on the server. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { SelectField, SwitchField, TextAreaField, TextField } from "@/components/forms/Field";
import { FormDialog } from "@/components/forms/FormDialog";
import { formatDuration } from "@/i18n/format";
import form from "../Form.module.css";
import { bodyOf, draftOf, intervals, MODES, type SourceDraft } from "./sourceDraft";
import { connectorsQuery, type KnowledgeSource, saveSource, useSourceRefresh } from "./sourceQueries";

interface Props {
  kbId: string;
  /** Without it one is made. */
  source?: KnowledgeSource;
  onClose: () => void;
}

type Change = (part: Partial<SourceDraft>) => void;

export function SourceForm({ kbId, source, onClose }: Props) {
  const { t } = useTranslation(["knowledge", "common"]);
  const refresh = useSourceRefresh(kbId);
  const [draft, setDraft] = useState(() => draftOf(source));
  const change: Change = (part) => setDraft((before) => ({ ...before, ...part }));
  return (
    <FormDialog
      title={source ? t("source.edit_title", { name: source.name }) : t("source.add")}
      description={t("source.add_text")}
      action={t(source ? "common:action.save" : "source.add")}
      disabled={!draft.place.trim()}
      done={source ? undefined : t("source.added")}
      wide
      onSend={async () => {
        await saveSource(kbId, source, bodyOf(draft));
        await refresh();
      }}
      onClose={onClose}
    >
      {!source && <ConnectorField draft={draft} onChange={change} />}
      <PlaceFields draft={draft} onChange={change} />
      <TextField
        label={t("field.name")}
        hint={t("source.name_hint")}
        maxLength={200}
        value={draft.name}
        onChange={({ target }) => change({ name: target.value })}
      />
      <SelectField
        label={t("source.every")}
        value={draft.every}
        options={intervals(source).map((minutes) => ({
          value: String(minutes),
          label:
            minutes === 0 ? t("source.on_request") : t("source.interval", { duration: formatDuration(minutes * 60) }),
        }))}
        onChange={({ target }) => change({ every: target.value })}
      />
      <div className={form.pair}>
        <TextAreaField
          label={t("source.include")}
          hint={t("source.include_hint")}
          rows={2}
          value={draft.include}
          onChange={({ target }) => change({ include: target.value })}
        />
        <TextAreaField
          label={t("source.exclude")}
          hint={t("source.exclude_hint")}
          rows={2}
          value={draft.exclude}
          onChange={({ target }) => change({ exclude: target.value })}
        />
      </div>
    </FormDialog>
  );
}

function ConnectorField({ draft, onChange }: { draft: SourceDraft; onChange: Change }) {
  const { t } = useTranslation("knowledge");
  const { data } = useQuery(connectorsQuery);
  const isAdministrator = useMay()("users:manage");
  const names = (["web", "folder"] as const).filter((name) =>
    data?.some((connector) => connector.name === name && (isAdministrator || !connector.administrators_only)),
  );
  if (names.length < 2) return null;
  return (
    <SelectField
      label={t("source.connector")}
      value={draft.connector}
      options={names.map((value) => ({ value, label: t(`source.kind.${value}`) }))}
      onChange={({ target }) => onChange({ connector: target.value === "folder" ? "folder" : "web", place: "" })}
    />
  );
}

function PlaceFields({ draft, onChange }: { draft: SourceDraft; onChange: Change }) {
  const { t } = useTranslation("knowledge");
  const isWeb = draft.connector === "web";
  return (
    <>
      <TextField
        label={t(isWeb ? "source.url" : "source.path")}
        hint={t(isWeb ? "source.url_hint" : "source.path_hint")}
        type={isWeb ? "url" : "text"}
        required
        value={draft.place}
        onChange={({ target }) => onChange({ place: target.value })}
      />
      {isWeb && (
        <>
          <SelectField
            label={t("source.mode_label")}
            hint={t(`source.mode_hint.${draft.mode}`)}
            value={draft.mode}
            options={MODES.map((value) => ({ value, label: t(`source.mode.${value}`) }))}
            onChange={({ target }) => onChange({ mode: MODES.find((mode) => mode === target.value) ?? "site" })}
          />
          {draft.mode !== "page" && <Limits draft={draft} onChange={onChange} />}
        </>
      )}
    </>
  );
}

function Limits({ draft, onChange }: { draft: SourceDraft; onChange: Change }) {
  const { t } = useTranslation("knowledge");
  return (
    <>
      <div className={form.pair}>
        <TextField
          label={t("source.max_pages")}
          type="number"
          min={1}
          max={10_000}
          value={draft.maxPages}
          onChange={({ target }) => onChange({ maxPages: target.value })}
        />
        {draft.mode === "site" && (
          <TextField
            label={t("source.max_depth")}
            type="number"
            min={0}
            max={20}
            value={draft.maxDepth}
            onChange={({ target }) => onChange({ maxDepth: target.value })}
          />
        )}
      </div>
      {draft.mode === "site" && (
        <SwitchField
          label={t("source.whole_site")}
          hint={t("source.whole_site_hint")}
          checked={draft.wholeSite}
          onChange={(wholeSite) => onChange({ wholeSite })}
        />
      )}
    </>
  );
}
