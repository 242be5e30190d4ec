/** The form of a source. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { SelectField, TextField } from "@/components/forms/Field";
import { FormDialog } from "@/components/forms/FormDialog";
import { CredentialFields } from "./CredentialFields";
import { CONNECTOR_NAMES } from "./connectorForms";
import { PermissionFields } from "./PermissionFields";
import { SettingFields, type SettingProps } from "./SettingFields";
import { bodyOf, draftOf, intervals, isComplete, type SourceDraft, valuesOf } from "./sourceDraft";
import { connectorsQuery, type KnowledgeSource, saveSource, useSourceRefresh } from "./sourceQueries";
import { useSyncInterval } from "./useSyncInterval";

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
  const intervalText = useSyncInterval();
  const [draft, setDraft] = useState(() => draftOf(source));
  const change: Change = (part) => setDraft((before) => ({ ...before, ...part }));
  const settings: SettingProps = {
    connector: draft.connector,
    values: draft.values,
    onChange: (part) => change({ values: { ...draft.values, ...part } }),
  };
  return (
    <FormDialog
      title={source ? t("source.edit_title", { name: source.name }) : t("source.add")}
      description={t("source.add_text")}
      action={t(source ? "common:action.save" : "source.add")}
      disabled={!isComplete(draft)}
      done={source ? undefined : t("source.added")}
      wide
      onSend={async () => {
        await saveSource(kbId, source, bodyOf(draft, source));
        await refresh();
      }}
      onClose={onClose}
    >
      {!source && <ConnectorField draft={draft} onChange={change} />}
      <SettingFields {...settings} part="place" />
      <CredentialFields draft={draft} stored={source?.credentials_set ?? []} onChange={change} />
      <SettingFields {...settings} part={undefined} />
      <TextField
        label={t("field.name")}
        hint={t("source.name_hint")}
        name="name"
        maxLength={200}
        value={draft.name}
        onChange={({ target }) => change({ name: target.value })}
      />
      <SelectField
        label={t("source.every")}
        value={draft.every}
        options={intervals(source).map((minutes) => ({
          value: String(minutes),
          label: intervalText(minutes),
        }))}
        onChange={({ target }) => change({ every: target.value })}
      />
      <PermissionFields key={draft.connector} {...settings} />
    </FormDialog>
  );
}

function ConnectorField({ draft, onChange }: { draft: SourceDraft; onChange: Change }) {
  const { t } = useTranslation("knowledge");
  const { data } = useQuery(connectorsQuery);
  const isAdministrator = useMay()("users:manage");
  const names = CONNECTOR_NAMES.filter((name) =>
    data?.some((connector) => connector.name === name && (isAdministrator || !connector.administrators_only)),
  );
  return (
    <SelectField
      label={t("source.connector")}
      value={draft.connector}
      options={names.map((value) => ({ value, label: t(`source.kind.${value}`) }))}
      onChange={({ target }) => {
        const connector = names.find((name) => name === target.value) ?? "web";
        onChange({ connector, values: valuesOf(connector, {}), credentials: {} });
      }}
    />
  );
}
