/** Skills from files: what would become of them is shown first. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Upload } from "lucide-react";
import { useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError, unreachable } from "@/api/errors";
import { authorizedFetch } from "@/api/session";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { SelectField } from "@/components/forms/Field";
import { Skeleton } from "@/components/layout/Page";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import { type ImportAnswer, ImportReport } from "./ImportReport";
import styles from "./SkillImportDialog.module.css";

const POLICIES = ["new", "new_version", "skip"] as const;
type ImportPolicy = (typeof POLICIES)[number];

async function send(files: readonly File[], policy: ImportPolicy, dryRun: boolean): Promise<ImportAnswer> {
  const form = new FormData();
  for (const file of files) form.append("file", file, file.name);
  const address = `/api/v1/skills/import?dry_run=${dryRun}&on_conflict=${policy}`;
  let response: Response;
  try {
    response = await authorizedFetch(address, { method: "POST", body: form });
  } catch (cause) {
    throw unreachable(cause);
  }
  const body = await response.json().catch(() => undefined);
  if (!response.ok) throw ApiError.of(response, body);
  return (body as { data: ImportAnswer }).data;
}

export function SkillImportDialog({ initial, onClose }: { initial: File[]; onClose: () => void }) {
  const { t } = useTranslation(["skills", "common"]);
  const queries = useQueryClient();
  const [files, setFiles] = useState(initial);
  const [policy, setPolicy] = useState<ImportPolicy>("new");
  const plan = useQuery({
    queryKey: ["skill-import", files.map((file) => [file.name, file.size, file.lastModified]), policy],
    queryFn: () => send(files, policy, true),
    enabled: files.length > 0,
    gcTime: 0,
    retry: false,
  });
  const importing = useMutation({
    mutationFn: () => send(files, policy, false),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["skills"] }),
  });
  const isDone = importing.data !== undefined;
  const coming =
    plan.data?.items.filter(({ outcome }) => outcome === "created" || outcome === "new_version").length ?? 0;
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={t(isDone ? "import.done" : "import.title")}
      description={t(isDone ? "import.done_what" : "import.what")}
    >
      {!isDone && <FileChoice files={files} onFiles={setFiles} />}
      {!isDone && files.length > 0 && (
        <SelectField
          label={t("import.on_conflict")}
          value={policy}
          options={POLICIES.map((value) => ({ value, label: t(`import.policy.${value}`) }))}
          onChange={(event) => setPolicy(POLICIES.find((one) => one === event.target.value) ?? "new")}
        />
      )}
      {plan.error && !isDone && <ErrorNotice error={plan.error} onRetry={() => plan.refetch()} />}
      {importing.error && <ErrorNotice error={importing.error} />}
      {plan.isFetching && <Skeleton lines={3} />}
      {(importing.data ?? plan.data) && !plan.isFetching && (
        <ImportReport report={(importing.data ?? plan.data) as ImportAnswer} onClose={onClose} />
      )}
      <DialogActions>
        <Button onClick={onClose}>{t(isDone ? "common:action.close" : "common:action.cancel")}</Button>
        {!isDone && (
          <Button
            variant="primary"
            busy={importing.isPending}
            disabled={!coming || plan.isFetching}
            onClick={() => importing.mutate()}
          >
            {coming ? t("import.start", { count: coming }) : t("import.action")}
          </Button>
        )}
      </DialogActions>
    </Dialog>
  );
}

function FileChoice({ files, onFiles }: { files: File[]; onFiles: (files: File[]) => void }) {
  const { t } = useTranslation(["skills", "common"]);
  const input = useRef<HTMLInputElement>(null);
  return (
    <button
      type="button"
      className={styles.choice}
      onClick={() => input.current?.click()}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        event.stopPropagation();
        onFiles([...event.dataTransfer.files]);
      }}
    >
      <Upload size={20} aria-hidden />
      <span>{files.length ? files.map((file) => file.name).join(", ") : t("import.choose")}</span>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        accept=".md,.zip,.skill"
        onChange={(event) => onFiles([...(event.target.files ?? [])])}
      />
    </button>
  );
}
