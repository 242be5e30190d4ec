/** Imports and copies that are under way or failed lately. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { Button } from "@/components/Button";
import { ProgressBar } from "@/components/feedback/Badge";
import { Notice } from "@/components/feedback/Notice";
import { useErrorToast } from "@/components/feedback/toasts";
import { isMoving, type Transfer, transfersQuery } from "./queries";
import { useFailureText } from "./useFailureText";

const RECENT_MS = 24 * 3600 * 1000;
const HIDDEN_KEY = "agentex.transfers.hidden";

function hiddenIds(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(HIDDEN_KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((id) => typeof id === "string") : [];
  } catch {
    return [];
  }
}

export function TransferList() {
  const queries = useQueryClient();
  const transfers = useQuery(transfersQuery).data ?? [];
  const [hidden, setHidden] = useState(hiddenIds);
  const moving = transfers.filter(isMoving).length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was brought is in the list once a transfer ends
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: ["knowledge-bases"] });
  }, [moving]);
  function hide(id: string) {
    const next = [...hidden, id].slice(-50);
    localStorage.setItem(HIDDEN_KEY, JSON.stringify(next));
    setHidden(next);
  }
  const shown = transfers.filter(
    (transfer) =>
      isMoving(transfer) ||
      (transfer.status === "failed" &&
        !hidden.includes(transfer.id) &&
        Date.now() - Date.parse(transfer.updated_at) < RECENT_MS),
  );
  return shown.map((transfer) =>
    isMoving(transfer) ? (
      <Moving key={transfer.id} transfer={transfer} />
    ) : (
      <Failed key={transfer.id} transfer={transfer} onHide={() => hide(transfer.id)} />
    ),
  );
}

function Moving({ transfer: { id, kind, facts, progress } }: { transfer: Transfer }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const queries = useQueryClient();
  const cancel = useMutation({
    mutationFn: () =>
      call(api.POST("/api/v1/transfers/{transfer_id}/cancel", { params: { path: { transfer_id: id } } })),
    onError: useErrorToast(),
    onSettled: () => queries.invalidateQueries({ queryKey: ["transfers"] }),
  });
  const label = t(kind === "copy" ? "transfer.copy" : "transfer.import", { name: facts.name, percent: progress });
  return (
    <Notice
      action={
        <Button size="s" busy={cancel.isPending} onClick={() => cancel.mutate()}>
          {t("common:action.cancel")}
        </Button>
      }
    >
      <p>{label}</p>
      {facts.embeds_anew && <p>{t("transfer.embeds_anew", { model: facts.embedding_model })}</p>}
      <ProgressBar value={progress / 100} label={label} />
    </Notice>
  );
}

function Failed({ transfer: { kind, facts, failure }, onHide }: { transfer: Transfer; onHide: () => void }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const said = useFailureText();
  const { message, next } = said(failure ?? {});
  return (
    <Notice
      tone="danger"
      action={
        <Button size="s" onClick={onHide}>
          {t("common:action.close")}
        </Button>
      }
    >
      <p>{t(kind === "copy" ? "transfer.copy_failed" : "transfer.import_failed", { name: facts.name })}</p>
      <p>{[message, next].filter(Boolean).join(" · ")}</p>
    </Notice>
  );
}
