/** How the last contact with a server went, in a word and in a sentence. */
import { useTranslation } from "react-i18next";
import { Badge } from "@/components/Badge";
import type { Connection } from "./connectionQueries";

const TONES = { unknown: "neutral", connected: "success", error: "danger" } as const;
const FAULTS = [
  "not_allowed",
  "unreachable",
  "no_answer",
  "unauthorised",
  "refused",
  "redirected",
  "session_lost",
  "not_mcp",
  "broke_off",
  "too_large",
] as const;

export function ConnectionBadges({ connection }: { connection: Connection }) {
  const { t } = useTranslation("connections");
  return (
    <>
      <Badge tone={TONES[connection.status]}>{t(`mcp.status.${connection.status}`)}</Badge>
      {!connection.enabled && <Badge tone="warning">{t("mcp.off")}</Badge>}
    </>
  );
}

export function useFault(): (connection: Connection) => string | null {
  const { t } = useTranslation("connections");
  return ({ fault }) => {
    const known = FAULTS.find((each) => each === fault);
    return known ? t(`mcp.fault.${known}`) : fault;
  };
}
