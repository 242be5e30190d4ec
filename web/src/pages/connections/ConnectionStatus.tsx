/** How the last contact with a server went, in a word and in a sentence. */
import { useTranslation } from "react-i18next";
import { Badge } from "@/components/feedback/Badge";
import type { McpConnection } from "./connectionQueries";

const TONES = { unknown: "neutral", connected: "success", needs_authorization: "warning", error: "danger" } as const;
const FAULTS = [
  "not_allowed",
  "unreachable",
  "no_answer",
  "unauthorised",
  "needs_authorization",
  "insufficient_scope",
  "not_renewed",
  "refused",
  "redirected",
  "session_lost",
  "not_mcp",
  "broke_off",
  "too_large",
  "paused",
  "closed",
] as const;

export function ConnectionBadges({ connection }: { connection: McpConnection }) {
  const { t } = useTranslation("connections");
  return (
    <>
      <Badge tone={TONES[connection.status]}>{t(`mcp.status.${connection.status}`)}</Badge>
      {!connection.enabled && <Badge tone="warning">{t("mcp.off")}</Badge>}
    </>
  );
}

/** What a fault means and what to do about it, by its stable name. */
export function useFault(): (fault: string | null) => string | null {
  const { t } = useTranslation("connections");
  return (fault) => {
    const known = FAULTS.find((each) => each === fault);
    return known ? t(`mcp.fault.${known}`) : fault;
  };
}
