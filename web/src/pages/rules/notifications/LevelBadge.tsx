/** How grave a notification is. */
import { useTranslation } from "react-i18next";
import { Badge, type Tone } from "@/components/feedback/Badge";

const LEVELS = { info: "info", warning: "warning", error: "danger" } as const satisfies Record<string, Tone>;

export function LevelBadge({ level }: { level: string }) {
  const { t } = useTranslation("rules");
  const known = level in LEVELS ? (level as keyof typeof LEVELS) : "info";
  return <Badge tone={LEVELS[known]}>{t(`then.level_${known}`)}</Badge>;
}
