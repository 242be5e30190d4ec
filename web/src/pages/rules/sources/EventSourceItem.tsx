/** An event source in the list: its address, what came from it, and what can be done with it. */
import { useQueryClient } from "@tanstack/react-query";
import { KeyRound, MoreHorizontal, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, callEmpty } from "@/api/client";
import { IconButton } from "@/components/Button";
import { notify } from "@/components/feedback/toasts";
import { CopyField } from "@/components/forms/CopyField";
import { Item } from "@/components/layout/ItemList";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { Menu } from "@/components/overlays/Menu";
import { formatNumber, formatRelative } from "@/i18n/format";
import { type EventType, eventSourcesQuery } from "../ruleQueries";
import { SourceSecretDialog } from "./SourceSecretDialog";
import { addressOf, type EventSource } from "./sourceAddress";

/** A sender may make up any number of types. */
const MOST_TYPES = 10;

interface Props {
  source: EventSource;
  /** The types of events that came from it. */
  types: readonly EventType[];
  mayWrite: boolean;
}

export function EventSourceItem({ source, types, mayWrite }: Props) {
  const { t } = useTranslation("rules");
  const { drops } = source;
  const times = types.flatMap(({ last_seen_at }) => last_seen_at ?? []);
  const last = times.toSorted((first, second) => Date.parse(first) - Date.parse(second)).at(-1);
  return (
    <Item
      title={source.name}
      facts={[
        [t("source.made"), formatRelative(source.created_at)],
        [t("source.last"), last ? formatRelative(last) : t("source.never")],
        [t("source.events"), types.length > 0 && <TypeNames types={types} />],
        [
          t("source.dropped"),
          drops.map(({ reason, count }) => `${formatNumber(count)} ${t(`source.drop.${reason}`)}`).join(", "),
        ],
      ]}
      actions={mayWrite && <SourceMenu source={source} />}
    >
      <CopyField hidesLabel label={t("source.address_of", { name: source.name })} value={addressOf(source)} />
    </Item>
  );
}

function TypeNames({ types }: { types: readonly EventType[] }) {
  const { t } = useTranslation("rules");
  return (
    <>
      {types.slice(0, MOST_TYPES).map(({ type, count }, index) => (
        <span key={type}>
          {index > 0 && ", "}
          <code>{type}</code> ({formatNumber(count)})
        </span>
      ))}
      {types.length > MOST_TYPES && ` ${t("source.more_types", { count: types.length - MOST_TYPES })}`}
    </>
  );
}

function SourceMenu({ source }: { source: EventSource }) {
  const { t } = useTranslation(["rules", "common"]);
  const queries = useQueryClient();
  const [asks, setAsks] = useState<"rotate" | "delete" | null>(null);
  const { id, name } = source;
  const close = () => setAsks(null);
  async function remove() {
    await callEmpty(api.DELETE("/api/v1/rules/sources/{source_id}", { params: { path: { source_id: id } } }));
    notify(t("source.deleted", { name }));
    await Promise.all([
      queries.invalidateQueries({ queryKey: eventSourcesQuery.queryKey }),
      queries.invalidateQueries({ queryKey: ["event-types"] }),
    ]);
  }
  return (
    <>
      <Menu
        trigger={<IconButton size="s" icon={MoreHorizontal} label={t("action.more", { name })} />}
        entries={[
          { label: t("source.rotate"), icon: KeyRound, onSelect: () => setAsks("rotate") },
          { label: t("common:action.delete"), icon: Trash2, danger: true, onSelect: () => setAsks("delete") },
        ]}
      />
      {asks === "rotate" && <SourceSecretDialog source={source} onClose={close} />}
      <ConfirmDialog
        open={asks === "delete"}
        onClose={close}
        title={t("source.delete_title", { name })}
        description={t("source.delete_text")}
        action={t("common:action.delete")}
        onConfirm={remove}
      />
    </>
  );
}
