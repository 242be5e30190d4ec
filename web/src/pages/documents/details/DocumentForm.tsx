/** The form for what can be set of a document: name, encoding, parser and metadata. */
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify } from "@/components/feedback/toasts";
import { SelectField, TextField } from "@/components/forms/Field";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import type { ParserChoice } from "../../knowledge/parsers/choiceKeys";
import { ParserField } from "../../knowledge/parsers/ParserField";
import type { DocumentAnswer } from "../queries";
import { useDocumentActions } from "../useDocumentActions";
import styles from "./DocumentDetails.module.css";
import { MetadataRows } from "./MetadataRows";
import { metadataOf, type RowError, rowsOf } from "./metadata";

const AUTO = "auto";
/** In place of a parser: the knowledge base's. */
const INHERIT = "inherit";
// Those that occur; the names are the same in every language.
const ENCODINGS = [
  "utf-8",
  "utf-16",
  "gb18030",
  "big5hkscs",
  "cp932",
  "euc_jp",
  "cp949",
  "cp1252",
  "cp1250",
  "cp1251",
  "koi8-r",
  "koi8-u",
  "cp866",
  "cp1253",
  "cp1254",
  "cp1255",
  "cp1256",
  "cp874",
  "iso8859-1",
  "iso8859-2",
  "iso8859-5",
];

export function DocumentForm({ document, onClose }: { document: DocumentAnswer; onClose: () => void }) {
  const { t } = useTranslation(["documents", "common"]);
  const { change } = useDocumentActions(document);
  const [name, setName] = useState(document.name);
  const [encoding, setEncoding] = useState(document.chosen_encoding ?? AUTO);
  const chosen = chosenParser(document);
  const [parser, setParser] = useState(chosen);
  const [rows, setRows] = useState(() => rowsOf(document.metadata));
  const [wrong, setWrong] = useState<{ row: number; error: RowError } | null>(null);

  async function submit(event: FormEvent) {
    event.preventDefault();
    const checked = metadataOf(rows);
    setWrong("error" in checked ? checked : null);
    if ("error" in checked) return;
    const changed = {
      ...(name !== document.name && { name }),
      ...(encoding !== (document.chosen_encoding ?? AUTO) && { encoding }),
      ...(JSON.stringify(parser) !== JSON.stringify(chosen) && (parser ?? { parser: INHERIT })),
      ...(JSON.stringify(checked.metadata) !== JSON.stringify(document.metadata) && { metadata: checked.metadata }),
    };
    if (Object.keys(changed).length) {
      // The error is shown below.
      const answer = await change.mutateAsync(changed).catch(() => null);
      if (!answer) return;
      notify(t("common:state.saved"));
    }
    onClose();
  }

  return (
    <Dialog open onClose={onClose} title={t("action.edit")} wide>
      <form className={styles.form} onSubmit={(event) => void submit(event)}>
        <TextField
          label={t("edit.name")}
          value={name}
          required
          maxLength={1000}
          onChange={(event) => setName(event.target.value)}
        />
        {document.encoding !== null && <EncodingField document={document} value={encoding} onChange={setEncoding} />}
        <ParserField value={parser} onChange={setParser} hint={t("edit.parser_hint")} mayInherit />
        <MetadataRows rows={rows} wrong={wrong} onChange={setRows} />
        {change.error !== null && <ErrorNotice error={change.error} />}
        <DialogActions>
          <Button onClick={onClose}>{t("common:action.cancel")}</Button>
          <Button type="submit" variant="primary" busy={change.isPending} disabled={!name.trim()}>
            {t("common:action.save")}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function chosenParser({ chosen_parser, chosen_strategy }: DocumentAnswer): ParserChoice | null {
  return chosen_parser === null ? null : { parser: chosen_parser, strategy: chosen_strategy ?? AUTO };
}

interface EncodingProps {
  document: DocumentAnswer;
  value: string;
  onChange: (encoding: string) => void;
}

function EncodingField({ document, value, onChange }: EncodingProps) {
  const { t } = useTranslation("documents");
  const names = ENCODINGS.includes(value) || value === AUTO ? ENCODINGS : [...ENCODINGS, value];
  return (
    <SelectField
      label={t("details.encoding")}
      hint={t("edit.encoding_hint", { encoding: document.encoding })}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      options={[
        { value: AUTO, label: t("edit.encoding_auto") },
        ...names.map((encoding) => ({ value: encoding, label: encoding })),
      ]}
    />
  );
}
