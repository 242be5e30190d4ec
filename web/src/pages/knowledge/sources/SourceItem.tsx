/** A source in the list: where it is, how its last sync went, and what can be done with it. */
import { Eye, History, MoreHorizontal, Pencil, RefreshCw, Trash2, X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "@/components/Button";
import { Badge, type Tone } from "@/components/feedback/Badge";
import { Notice } from "@/components/feedback/Notice";
import { Item } from "@/components/layout/ItemList";
import { Menu } from "@/components/overlays/Menu";
import { formatNumber, formatRelative } from "@/i18n/format";
import { useFailureText } from "../useFailureText";
import { CONNECTOR_NAMES } from "./connectorForms";
import { DeleteSourceDialog } from "./DeleteSourceDialog";
import { SourceForm } from "./SourceForm";
import { SyncHistory } from "./SyncHistory";
import { isSyncing, type KnowledgeSource, SYNC_STATUSES, type Sync, useSyncAct } from "./sourceQueries";
import { useCounts } from "./useCounts";
import { useSyncInterval } from "./useSyncInterval";

const TONES: Record<(typeof SYNC_STATUSES)[number], Tone> = {
  pending: "neutral",
  running: "info",
  confirm: "warning",
  completed: "success",
  failed: "danger",
  cancelled: "neutral",
};

export function SourceItem({ source, mayWrite }: { source: KnowledgeSource; mayWrite: boolean }) {
  const { t } = useTranslation("knowledge");
  const counts = useCounts();
  const intervalText = useSyncInterval();
  const connector = CONNECTOR_NAMES.find((name) => name === source.connector);
  const { last_sync: last, place, sync_every_minutes: every } = source;
  return (
    <Item
      title={source.name}
      badges={last && <SyncBadge sync={last} />}
      text={<code>{place}</code>}
      facts={[
        [t("source.connector"), connector && t(`source.kind.${connector}`)],
        [t("source.documents"), formatNumber(source.documents)],
        [t("source.every"), intervalText(every ?? 0)],
        [t("source.last"), last && formatRelative(last.ended_at ?? last.updated_at)],
        [t("source.result"), last && counts(last.counts)],
      ]}
      actions={mayWrite && <SourceActions source={source} />}
    >
      {last && <SyncNotice source={source} sync={last} mayWrite={mayWrite} />}
    </Item>
  );
}

export function SyncBadge({ sync: { status, is_preview } }: { sync: Sync }) {
  const { t } = useTranslation("knowledge");
  const known = SYNC_STATUSES.find((name) => name === status) ?? "pending";
  // A preview has changed nothing: whatever it found, nothing is in step by it.
  if (is_preview && status === "completed") return <Badge tone="info">{t("source.preview")}</Badge>;
  return <Badge tone={TONES[known]}>{t(`source.status.${known}`)}</Badge>;
}

/** What a person has to know, or to decide. */
function SyncNotice({ source, sync, mayWrite }: { source: KnowledgeSource; sync: Sync; mayWrite: boolean }) {
  const { t } = useTranslation("knowledge");
  const said = useFailureText();
  const act = useSyncAct(source);
  if (sync.status === "confirm")
    return (
      <Notice
        tone="warning"
        action={
          mayWrite && (
            <Button size="s" busy={act.isPending} onClick={() => act.mutate({ act: "confirm", syncId: sync.id })}>
              {t("source.allow", { count: sync.counts.deleted ?? 0 })}
            </Button>
          )
        }
      >
        <p>{t("source.confirm", { count: sync.counts.deleted ?? 0 })}</p>
        <p>{(sync.examples.deleted ?? []).slice(0, 5).join(", ")}</p>
      </Notice>
    );
  if (sync.failure) {
    const { message, next } = said(sync.failure);
    return (
      <Notice tone={sync.status === "failed" ? "danger" : "warning"}>
        <p>{message}</p>
        <p>{next}</p>
      </Notice>
    );
  }
  return sync.is_cut ? <Notice tone="warning">{t("source.cut")}</Notice> : null;
}

function SourceActions({ source }: { source: KnowledgeSource }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const [shows, setShows] = useState<"edit" | "delete" | "history" | null>(null);
  const act = useSyncAct(source);
  const { last_sync: last, name } = source;
  const syncs = isSyncing(last);
  const close = () => setShows(null);
  return (
    <>
      {syncs && last ? (
        <Button size="s" icon={X} busy={act.isPending} onClick={() => act.mutate({ act: "cancel", syncId: last.id })}>
          {t("common:action.cancel")}
        </Button>
      ) : (
        <Button
          size="s"
          icon={RefreshCw}
          busy={act.isPending}
          onClick={() => act.mutate({ act: "start", preview: false })}
        >
          {t("source.sync")}
        </Button>
      )}
      <Menu
        trigger={<IconButton size="s" icon={MoreHorizontal} label={t("source.more", { name })} />}
        entries={[
          {
            label: t("source.preview"),
            icon: Eye,
            onSelect: () => {
              if (!syncs) act.mutate({ act: "start", preview: true });
              setShows("history");
            },
          },
          { label: t("source.history"), icon: History, onSelect: () => setShows("history") },
          { label: t("common:action.edit"), icon: Pencil, onSelect: () => setShows("edit") },
          { label: t("common:action.delete"), icon: Trash2, danger: true, onSelect: () => setShows("delete") },
        ]}
      />
      {shows === "edit" && <SourceForm kbId={source.knowledge_base_id} source={source} onClose={close} />}
      {shows === "history" && <SyncHistory source={source} onClose={close} />}
      {shows === "delete" && <DeleteSourceDialog source={source} onClose={close} />}
    </>
  );
}
