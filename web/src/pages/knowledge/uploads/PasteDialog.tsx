/** Text that becomes a document: pasted or written, with a name. */
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { TextAreaField, TextField } from "@/components/forms/Field";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import styles from "../Form.module.css";
import { type PickedFile, textFileName } from "./uploadPlan";

interface Props {
  /** What was pasted already. */
  text: string;
  onFile: (file: PickedFile) => void;
  onClose: () => void;
}

export function PasteDialog({ text: pasted, onFile, onClose }: Props) {
  const { t } = useTranslation(["knowledge", "common"]);
  const [text, setText] = useState(pasted);
  const [name, setName] = useState("");
  const fileName = textFileName(name, text, t("paste.untitled"));
  function submit(event: FormEvent) {
    event.preventDefault();
    onFile({ file: new File([text], fileName, { type: "text/markdown" }), path: fileName });
    onClose();
  }
  return (
    <Dialog open onClose={onClose} title={t("paste.title")} description={t("paste.hint")} wide>
      <form className={styles.form} onSubmit={submit}>
        <TextAreaField
          label={t("paste.text")}
          rows={12}
          required
          autoFocus
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <TextField
          label={t("paste.name")}
          hint={t("paste.name_hint")}
          placeholder={text.trim() && fileName}
          maxLength={200}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <DialogActions>
          <Button onClick={onClose}>{t("common:action.cancel")}</Button>
          <Button type="submit" variant="primary" disabled={!text.trim()}>
            {t("paste.save")}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
