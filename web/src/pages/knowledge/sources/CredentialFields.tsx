/** The credentials of a source: typed, never shown, kept unless others are typed. */
import { useTranslation } from "react-i18next";
import { SwitchField, TextField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import form from "../Form.module.css";
import { OPEN_CREDENTIALS } from "./connectorForms";
import { credentialNames, type SourceDraft } from "./sourceDraft";

interface Props {
  draft: SourceDraft;
  /** The names of those that the server has. */
  stored: readonly string[];
  onChange: (part: Partial<SourceDraft>) => void;
}

export function CredentialFields({ draft, stored, onChange }: Props) {
  const { t } = useTranslation("knowledge");
  const names = credentialNames(draft);
  if (names.length === 0) return null;
  const hint = t(stored.length > 0 ? "source.credentials_kept" : "source.credentials_hint");
  return (
    <fieldset className={styles.group}>
      <legend>{t("source.credentials")}</legend>
      <p className={styles.hint}>{hint}</p>
      <div className={form.pair}>
        {names.map((name) => (
          <TextField
            key={name}
            label={t(`source.credential.${name}`)}
            type={OPEN_CREDENTIALS.includes(name) ? "text" : "password"}
            autoComplete="off"
            name={`credentials.${name}`}
            disabled={draft.clearsCredentials}
            value={draft.credentials[name] ?? ""}
            onChange={({ target }) => onChange({ credentials: { ...draft.credentials, [name]: target.value } })}
          />
        ))}
      </div>
      {stored.length > 0 && (
        <SwitchField
          label={t("source.credentials_clear")}
          checked={draft.clearsCredentials}
          onChange={(clearsCredentials) => onChange({ clearsCredentials, credentials: {} })}
        />
      )}
    </fieldset>
  );
}
