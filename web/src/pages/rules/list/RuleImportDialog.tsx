/** A rule out of a file: what is missing is said before it is stored. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { TextField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { FormDialog } from "@/components/forms/FormDialog";
import { inLanguage } from "@/i18n/inLanguage";

type RuleFile = Schemas["RuleFileBody"];
type Missing = Schemas["MissingReferenceAnswer"];
/** No rule is larger. */
const MOST_BYTES = 1_000_000;

export function RuleImportDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(["rules", "common"]);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [file, setFile] = useState<RuleFile | null>(null);
  const [name, setName] = useState("");
  const [isUnreadable, setUnreadable] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [missing, setMissing] = useState<Missing[]>([]);
  const saved = useRef<string | null>(null);
  async function choose(chosen: File | undefined) {
    setError(null);
    setMissing([]);
    const read = chosen ? await readFile(chosen) : null;
    setFile(read);
    setUnreadable(chosen !== undefined && read === null);
    if (!read) return;
    setName(typeof read.rule?.name === "string" ? read.rule.name : "");
    try {
      setMissing((await importRule(read, { dry_run: true })).missing);
    } catch (cause) {
      setError(cause);
    }
  }
  async function send() {
    if (!file) return;
    const { rule } = await importRule(file, { name: name.trim() || undefined });
    saved.current = rule?.id ?? null;
    await queries.invalidateQueries({ queryKey: ["rules"] });
  }
  function close() {
    onClose();
    if (saved.current) void navigate({ to: "/rules/$ruleId", params: { ruleId: saved.current } });
  }
  return (
    <FormDialog
      title={t("import.title")}
      description={t("import.text")}
      action={t("import.action")}
      done={t("import.done")}
      disabled={!file || error !== null}
      onSend={send}
      onClose={close}
    >
      <TextField
        label={t("import.file")}
        type="file"
        accept=".json,application/json"
        error={isUnreadable && t("import.unreadable")}
        onChange={({ target }) => void choose(target.files?.[0])}
      />
      {file && (
        <TextField
          label={t("form.name")}
          value={name}
          maxLength={100}
          onChange={({ target }) => setName(target.value)}
          required
        />
      )}
      {error !== null && <ErrorNotice error={error} />}
      {missing.length > 0 && <MissingList missing={missing} />}
    </FormDialog>
  );
}

function MissingList({ missing }: { missing: readonly Missing[] }) {
  const { t } = useTranslation("rules");
  return (
    <Notice tone="warning">
      <p>{t("import.missing")}</p>
      <ul className={styles.group}>
        {missing.map(({ field, value, error, error_zh }) => (
          <li key={`${field} ${value}`}>
            <code>{field}</code>: {inLanguage(error, error_zh)}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

function importRule(body: RuleFile, query: { dry_run?: boolean; name?: string | undefined }) {
  return call(api.POST("/api/v1/rules/import", { params: { query: query as { dry_run?: boolean } }, body }));
}

async function readFile(file: File): Promise<RuleFile | null> {
  if (file.size > MOST_BYTES) return null;
  try {
    const read: unknown = JSON.parse(await file.text());
    return typeof read === "object" && read !== null && "rule" in read ? (read as RuleFile) : null;
  } catch {
    return null;
  }
}
