/** Adding files to a question, within what the server takes. */
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { authorizedFetch } from "@/api/session";
import { notify } from "@/components/feedback/toasts";
import { formatBytes } from "@/i18n/format";
import { listOf, objectOf } from "../message/citations";
import { type Attachment, readAttachment } from "./attachments";

interface Limits {
  types: readonly string[];
  most: number;
  mostBytes: number;
}

async function readLimits(): Promise<Limits> {
  const answer = await authorizedFetch("/api/v1/agent/capabilities");
  const about = objectOf(objectOf(objectOf(await answer.json()).custom).attachments);
  return {
    types: [...listOf(about.imageTypes), ...listOf(about.documentTypes)].map(String),
    most: Number(about.maxPerMessage ?? 3),
    mostBytes: Number(about.maxBytes ?? 10_485_760),
  };
}

export function useAttachments(attached: readonly Attachment[], onAttached: (next: readonly Attachment[]) => void) {
  const { t } = useTranslation("chat");
  const limits = useQuery({
    queryKey: ["capabilities"],
    queryFn: readLimits,
    staleTime: Number.POSITIVE_INFINITY,
  }).data;
  async function add(files: readonly File[]) {
    const most = limits?.most ?? 3;
    const mostBytes = limits?.mostBytes ?? 10_485_760;
    const small = files.filter(({ size }) => size <= mostBytes);
    if (small.length < files.length) notify(t("composer.too_large", { size: formatBytes(mostBytes) }));
    const room = Math.max(0, most - attached.length);
    if (small.length > room) notify(t("composer.too_many", { count: most }));
    const added = await Promise.all(small.slice(0, room).map(readAttachment));
    if (added.length > 0) onAttached([...attached, ...added]);
  }
  return { add, accept: limits?.types.join(",") };
}
