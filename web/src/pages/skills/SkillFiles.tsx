/** The files beside a skill's text: scripts, references, assets. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Download, FilePlus2, FileText, Pencil, Trash2, Upload } from "lucide-react";
import { useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Button, IconButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import { notify, useErrorToast } from "@/components/feedback/toasts";
import { SelectField } from "@/components/forms/Field";
import { ActionsHead } from "@/components/layout/ActionsHead";
import { Section, Table } from "@/components/layout/Page";
import { ConfirmDialog, Dialog, DialogActions } from "@/components/overlays/Dialog";
import { plainText } from "@/components/plainText";
import { formatBytes } from "@/i18n/format";
import { SkillFileDialog } from "./SkillFileDialog";
import styles from "./SkillFiles.module.css";
import { changeFile, saveSkillFile } from "./skillFileRequests";
import { keepChanged, type SkillDetail, skillQuery, useSkillId } from "./skillQueries";

const FOLDERS = ["references", "scripts", "assets", ""] as const;

export function SkillFiles() {
  const { t } = useTranslation(["skills", "common"]);
  const may = useMay();
  const { data } = useQuery(skillQuery(useSkillId()));
  const [chosen, setChosen] = useState<File[]>([]);
  const [isNew, setIsNew] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const skill = data?.skill;
  if (!skill) return null;
  const mayWrite = skill.can_write && may("skill:write");
  const add = mayWrite && (
    <div className={styles.tools}>
      <Button icon={FilePlus2} onClick={() => setIsNew(true)}>
        {t("files.new")}
      </Button>
      <Button icon={Upload} onClick={() => input.current?.click()}>
        {t("files.add")}
      </Button>
    </div>
  );
  return (
    // The buttons stay where they are with the first file, so that the focus can come back to them.
    <Section title={t("files.title")} actions={add}>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          setChosen([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
      {skill.files.length ? (
        <FileTable skill={skill} mayWrite={mayWrite} />
      ) : (
        <EmptyState icon={FileText} title={t("files.none")}>
          {t("files.none_hint")}
        </EmptyState>
      )}
      {isNew && <SkillFileDialog skill={skill} path={null} onClose={() => setIsNew(false)} />}
      {chosen.length > 0 && <UploadDialog skill={skill} files={chosen} onClose={() => setChosen([])} />}
    </Section>
  );
}

function FileTable({ skill, mayWrite }: { skill: SkillDetail; mayWrite: boolean }) {
  const { t } = useTranslation(["skills", "common"]);
  const queries = useQueryClient();
  const [deleting, setDeleting] = useState<string | null>(null);
  const [editing, setEditing] = useState<string | null>(null);
  async function remove() {
    await keepChanged(queries, await changeFile(skill, deleting ?? "", null));
    notify(t("files.deleted", { path: plainText(deleting ?? "") }));
  }
  return (
    <>
      <Table
        label={t("files.title")}
        head={
          <>
            <th>{t("files.path")}</th>
            <th>{t("files.size")}</th>
            <ActionsHead />
          </>
        }
      >
        {skill.files.map(({ path, size }) => (
          <FileRow
            key={path}
            {...{ skill, path, size, mayWrite }}
            onEdit={() => setEditing(path)}
            onDelete={() => setDeleting(path)}
          />
        ))}
      </Table>
      {editing !== null && <SkillFileDialog skill={skill} path={editing} onClose={() => setEditing(null)} />}
      <ConfirmDialog
        open={deleting !== null}
        onClose={() => setDeleting(null)}
        title={t("files.delete", { path: plainText(deleting ?? "") })}
        description={t("files.delete_what")}
        action={t("common:action.delete")}
        onConfirm={remove}
      />
    </>
  );
}

interface FileRowProps {
  skill: SkillDetail;
  path: string;
  size: number;
  mayWrite: boolean;
  onEdit: () => void;
  onDelete: () => void;
}

function FileRow({ skill, path, size, mayWrite, onEdit, onDelete }: FileRowProps) {
  const { t } = useTranslation(["skills", "common"]);
  const showError = useErrorToast();
  const name = plainText(path);
  return (
    <tr>
      <td className={styles.path}>
        <code>{name}</code>
      </td>
      <td className={styles.size}>{formatBytes(size)}</td>
      <td className={styles.actions}>
        {mayWrite && <IconButton size="s" icon={Pencil} label={t("files.edit", { path: name })} onClick={onEdit} />}
        <IconButton
          size="s"
          icon={Download}
          label={t("files.download", { path: name })}
          onClick={() => void saveSkillFile(skill.id, path).catch(showError)}
        />
        {mayWrite && <IconButton size="s" icon={Trash2} label={t("files.delete", { path: name })} onClick={onDelete} />}
      </td>
    </tr>
  );
}

function UploadDialog({ skill, files, onClose }: { skill: SkillDetail; files: File[]; onClose: () => void }) {
  const { t } = useTranslation(["skills", "common"]);
  const queries = useQueryClient();
  const [folder, setFolder] = useState<string>(FOLDERS[0]);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const paths = files.map((file) => (folder ? `${folder}/${file.name}` : file.name));
  const known = new Set(skill.files.map(({ path }) => path));
  const replaced = paths.filter((path) => known.has(path));
  async function upload() {
    setBusy(true);
    setError(null);
    try {
      for (const [index, file] of files.entries())
        await keepChanged(queries, await changeFile(skill, paths[index] ?? file.name, file));
      notify(t("files.added", { count: files.length }));
      onClose();
    } catch (cause) {
      setError(cause);
    } finally {
      setBusy(false);
    }
  }
  return (
    <Dialog open onClose={onClose} title={t("files.add_title")} description={t("files.add_what")}>
      <SelectField
        label={t("files.folder")}
        value={folder}
        options={FOLDERS.map((value) => ({ value, label: t(`files.in.${value || "root"}`) }))}
        onChange={(event) => setFolder(event.target.value)}
      />
      <ul className={styles.paths}>
        {paths.map((path) => (
          <li key={path}>
            <code>{path}</code>
          </li>
        ))}
      </ul>
      {replaced.length > 0 && <p>{t("files.replaces", { paths: replaced.join(", ") })}</p>}
      {error !== null && <ErrorNotice error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("common:action.cancel")}</Button>
        <Button variant="primary" busy={busy} onClick={upload}>
          {t("files.add")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
