/** Backups, and the jobs that make, check and remove them. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";
import { useErrorToast } from "@/components/feedback/toasts";

export type Backup = Schemas["BackupAnswer"];
export type BackupJob = Schemas["BackupJobAnswer"];

const MOVING_MS = 1000;
const RESTING_MS = 30_000;

export const isMoving = ({ status }: BackupJob) => status === "pending" || status === "running";

export const backupsQuery = queryOptions({
  queryKey: ["backups"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/admin/backups", { signal })),
});

/** The last job; a command line on the server shows in the list alone. */
export const backupJobQuery = queryOptions({
  queryKey: ["backup-jobs"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/admin/backups/jobs", { signal })),
  select: ({ items }) => items[0] ?? null,
  refetchInterval: ({ state }) => (state.data?.items.some(isMoving) ? MOVING_MS : RESTING_MS),
});

export type BackupAct = { act: "create" } | { act: "verify" | "remove"; id: string } | { act: "cancel"; jobId: string };

function send(act: BackupAct): Promise<BackupJob> {
  switch (act.act) {
    case "create":
      return call(api.POST("/api/v1/admin/backups"));
    case "verify":
      return call(api.POST("/api/v1/admin/backups/{backup_id}/verify", { params: { path: { backup_id: act.id } } }));
    case "remove":
      return call(api.DELETE("/api/v1/admin/backups/{backup_id}", { params: { path: { backup_id: act.id } } }));
    case "cancel":
      return call(api.POST("/api/v1/admin/backups/jobs/{job_id}/cancel", { params: { path: { job_id: act.jobId } } }));
  }
}

/** Begin or end something; what fails is said at the edge of the page, unless the caller says it. */
export function useBackupAct(onError?: (error: unknown) => void) {
  const queries = useQueryClient();
  const toast = useErrorToast();
  return useMutation({
    mutationFn: send,
    onError: onError ?? toast,
    onSettled: () => queries.invalidateQueries({ queryKey: ["backup-jobs"] }),
  });
}
