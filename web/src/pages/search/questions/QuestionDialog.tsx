/** A saved question and the passages that answer it: made from a search, or changed. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { Button, IconButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify } from "@/components/feedback/toasts";
import { CheckboxField, TextAreaField, TextField } from "@/components/forms/Field";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import styles from "./QuestionDialog.module.css";

export type ExpectedPassage = Schemas["ExpectedPassageBody"];

const MOST = { question: 1000, text: 4000, name: 255, expected: 20 };

interface PassageField extends ExpectedPassage {
  id: string;
  ticked: boolean;
}

export interface QuestionDraft {
  /** The saved question that is changed; without one a new question is saved. */
  id?: string;
  question: string;
  /** Passages to choose from, those that are ticked already first. */
  passages: readonly (ExpectedPassage & { ticked: boolean })[];
}

export function QuestionDialog({ kbId, draft, onClose }: { kbId: string; draft: QuestionDraft; onClose: () => void }) {
  const { t } = useTranslation(["search", "common"]);
  const form = useId();
  const [question, setQuestion] = useState(draft.question);
  const [rows, setRows] = useState<PassageField[]>(() =>
    draft.passages.map((passage, index) => ({ ...passage, id: String(index), text: passage.text.slice(0, MOST.text) })),
  );
  const expected = rows
    .filter(({ ticked, document }) => ticked && document.trim())
    .map(({ document, text }) => ({ document: document.trim(), text: text.trim() }));
  const save = useSave(kbId, draft.id, { question: question.trim(), expected }, onClose);
  function submit(event: FormEvent) {
    event.preventDefault();
    save.mutate();
  }
  const change = (id: string, part: Partial<PassageField>) =>
    setRows(rows.map((row) => (row.id === id ? { ...row, ...part } : row)));
  return (
    <Dialog
      open
      onClose={onClose}
      wide
      title={t(draft.id ? "question.change" : "question.save")}
      description={t("question.lead")}
    >
      <form id={form} className={styles.form} onSubmit={submit}>
        {save.error && <ErrorNotice error={save.error} />}
        <TextField
          label={t("question.question")}
          value={question}
          maxLength={MOST.question}
          required
          onChange={(event) => setQuestion(event.target.value)}
        />
        <fieldset className={styles.passages}>
          <legend>{t("question.expected")}</legend>
          {rows.map((row, index) => (
            <PassageRow
              key={row.id}
              row={row}
              number={index + 1}
              onChange={(part) => change(row.id, part)}
              onRemove={() => setRows(rows.filter(({ id }) => id !== row.id))}
            />
          ))}
          <Button
            size="s"
            icon={Plus}
            onClick={() => setRows([...rows, { id: `new ${Date.now()}`, document: "", text: "", ticked: true }])}
          >
            {t("question.add_passage")}
          </Button>
        </fieldset>
      </form>
      <DialogActions>
        <Button onClick={onClose}>{t("common:action.cancel")}</Button>
        <Button
          type="submit"
          form={form}
          variant="primary"
          busy={save.isPending}
          disabled={!question.trim() || !expected.length || expected.length > MOST.expected}
        >
          {t("common:action.save")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

function useSave(kbId: string, id: string | undefined, body: Schemas["QuestionBody"], onSaved: () => void) {
  const { t } = useTranslation("search");
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () =>
      id
        ? call(
            api.PUT("/api/v1/knowledge-bases/{kb_id}/questions/{question_id}", {
              params: { path: { kb_id: kbId, question_id: id } },
              body,
            }),
          )
        : call(api.POST("/api/v1/knowledge-bases/{kb_id}/questions", { params: { path: { kb_id: kbId } }, body })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["questions", kbId] });
      notify(t("question.saved"));
      onSaved();
    },
  });
}

function PassageRow({
  row,
  number,
  onChange,
  onRemove,
}: {
  row: PassageField;
  number: number;
  onChange: (part: Partial<PassageField>) => void;
  onRemove: () => void;
}) {
  const { t } = useTranslation("search");
  return (
    <div className={styles.row}>
      <div className={styles.rowHeader}>
        <CheckboxField
          label={
            <>
              {t("question.passage", { number })}
              {!row.ticked && <span className={styles.excerpt}>{`${row.document} · ${row.text.slice(0, 160)}`}</span>}
            </>
          }
          checked={row.ticked}
          onChange={(ticked) => onChange({ ticked })}
        />
        <IconButton icon={X} size="s" label={t("question.remove_passage", { number })} onClick={onRemove} />
      </div>
      {row.ticked && (
        <div className={styles.fields}>
          <TextField
            label={t("question.document")}
            value={row.document}
            maxLength={MOST.name}
            required
            onChange={(event) => onChange({ document: event.target.value })}
          />
          <TextAreaField
            label={t("question.text")}
            hint={t("question.text_hint")}
            rows={3}
            value={row.text}
            maxLength={MOST.text}
            onChange={(event) => onChange({ text: event.target.value })}
          />
        </div>
      )}
    </div>
  );
}
