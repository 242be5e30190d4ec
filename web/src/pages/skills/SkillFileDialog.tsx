/** A text file beside a skill: written, changed or renamed in the browser. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify } from "@/components/feedback/toasts";
import { TextAreaField, TextField } from "@/components/forms/Field";
import { Skeleton } from "@/components/layout/Page";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import { plainText } from "@/components/plainText";
import styles from "./SkillFiles.module.css";
import { type LoadedFile, loadFile, writeFile } from "./skillFileRequests";
import { keepChanged, type SkillDetail } from "./skillQueries";

interface Props {
  skill: SkillDetail;
  /** The file to change; null for a new one. */
  path: string | null;
  onClose: () => void;
}

const NEW_FILE: LoadedFile = { text: "", etag: "", bytes: null };

export function SkillFileDialog({ skill, path, onClose }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  const { data, error } = useQuery({
    queryKey: ["skill", skill.id, "file", path],
    queryFn: () => (path === null ? NEW_FILE : loadFile(skill.id, path)),
    // What is being written is not taken away by a newer answer.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={path === null ? t("files.new") : t("files.edit", { path: plainText(path) })}
      description={t("files.edit_what")}
    >
      {error && <ErrorNotice error={error} />}
      {!data && !error && <Skeleton lines={8} />}
      {data && <FileForm skill={skill} path={path} file={data} onClose={onClose} />}
    </Dialog>
  );
}

function FileForm({ skill, path, file, onClose }: Props & { file: LoadedFile }) {
  const { t } = useTranslation(["skills", "common"]);
  const queries = useQueryClient();
  const [newPath, setNewPath] = useState(path ?? "references/");
  const [text, setText] = useState(file.text);
  const wanted = newPath.trim();
  const isTaken = wanted !== path && skill.files.some((one) => one.path === wanted);
  const saving = useMutation({
    mutationFn: () => writeFile(skill, { path, newPath: wanted, file, text }),
    onSuccess: async (changed) => {
      await keepChanged(queries, changed);
      notify(t("files.saved", { path: wanted }));
      onClose();
    },
    // A renamed file may be there twice: the list says so.
    onError: () => queries.invalidateQueries({ queryKey: ["skill", skill.id], exact: true }),
  });
  const isSame = wanted === path && text === file.text;
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        saving.mutate();
      }}
    >
      <TextField
        label={t("files.path")}
        hint={t("files.path_hint")}
        value={newPath}
        // The form comes after its file, when the dialog has given the focus away already.
        autoFocus
        maxLength={1000}
        error={isTaken ? t("files.taken") : undefined}
        onChange={(event) => setNewPath(event.target.value)}
      />
      {file.text === null ? (
        <p className={styles.note}>{t("files.not_text")}</p>
      ) : (
        <TextAreaField
          label={t("files.content")}
          className={styles.content}
          rows={16}
          spellCheck={false}
          value={text ?? ""}
          onChange={(event) => setText(event.target.value)}
        />
      )}
      {saving.error && <ErrorNotice error={saving.error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("common:action.cancel")}</Button>
        <Button
          type="submit"
          variant="primary"
          busy={saving.isPending}
          disabled={isSame || isTaken || !wanted || wanted.endsWith("/")}
        >
          {t("common:action.save")}
        </Button>
      </DialogActions>
    </form>
  );
}
