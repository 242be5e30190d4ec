/** The whole system in figures, and whether its parts answer. */

import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { unreachable } from "@/api/errors";
import { Badge } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { type Fact, Facts, Item, ItemList } from "@/components/layout/ItemList";
import { Card, Section, Skeleton } from "@/components/layout/Page";
import { formatBytes, formatDuration, formatNumber } from "@/i18n/format";

const PAUSE_MS = 15_000;
const PARTS = ["database", "redis", "engine", "worker", "object_store", "vector_index"] as const;

/** Whether the parts answer; a part that does not makes the answer's status 503, which is no error here. */
async function fetchReadiness(): Promise<Schemas["Readiness"]> {
  try {
    const answer = await fetch("/readyz");
    return (await answer.json()) as Schemas["Readiness"];
  } catch (cause) {
    throw unreachable(cause);
  }
}

export function SystemPage(): ReactElement {
  return (
    <>
      <Parts />
      <Figures />
    </>
  );
}

function Parts() {
  const { t } = useTranslation("admin");
  const wordsOf = useDetail();
  const { data, error, refetch } = useQuery({
    queryKey: ["readiness"],
    queryFn: fetchReadiness,
    refetchInterval: PAUSE_MS,
  });
  return (
    <Section title={t("system.parts")}>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={5} />}
      {data && (
        <ItemList label={t("system.parts")}>
          {Object.entries(data.components).map(([name, { status, detail }]) => {
            const known = PARTS.find((part) => part === name);
            return (
              <Item
                key={name}
                title={known ? t(`system.part.${known}`) : name}
                badges={<Badge tone={status === "ok" ? "success" : "danger"}>{t(`system.${status}`)}</Badge>}
                facts={[[t("system.detail"), wordsOf(detail)]]}
              />
            );
          })}
        </ItemList>
      )}
    </Section>
  );
}

/** What the server says of a part: its counts in the person's language, anything else as it stands. */
function useDetail(): (detail: string | null | undefined) => string | null | undefined {
  const { t } = useTranslation("admin");
  return (detail) =>
    detail?.replace(/^(\d+) (alive|points)/, (_, number: string, noun: "alive" | "points") =>
      t(`system.${noun}`, { count: Number(number), formatted: formatNumber(Number(number)) }),
    );
}

function Figures() {
  const { data, error, refetch } = useQuery({
    queryKey: ["system"],
    queryFn: () => call(api.GET("/api/v1/admin/system/info")),
    refetchInterval: PAUSE_MS,
  });
  if (error) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton lines={6} />;
  return <FigureGroups info={data} />;
}

function FigureGroups({ info }: { info: Schemas["SystemInfo"] }) {
  const { t } = useTranslation("admin");
  const number = (value: number | null) => (value === null ? t("system.unknown") : formatNumber(value));
  const size = (value: number | null) => (value === null ? t("system.unknown") : formatBytes(value));
  const groups: [title: string, facts: Fact[]][] = [
    [
      t("system.versions"),
      [
        [t("system.version"), info.version],
        [t("system.python"), info.python_version],
        [t("system.database"), info.database_version],
        [t("system.uptime"), formatDuration(info.uptime)],
      ],
    ],
    [
      t("system.content"),
      [
        [t("system.users"), number(info.user_count)],
        [t("system.knowledge_bases"), number(info.knowledge_base_count)],
        [t("system.sessions"), number(info.session_count)],
      ],
    ],
    [t("system.documents"), useCounts("document", info.documents)],
    [t("system.runs"), useCounts("run", info.runs)],
    [
      t("system.storage"),
      [
        [t("system.database_size"), size(info.database_bytes)],
        [t("system.vector_size"), size(info.vector_db_bytes)],
        [t("system.vectors"), number(info.vector_count)],
      ],
    ],
    [
      t("system.work"),
      [
        [t("system.queue"), number(info.queue_depth)],
        [t("system.workers"), info.workers === null ? t("system.unknown") : info.workers.join(", ") || formatNumber(0)],
      ],
    ],
  ];
  return groups.map(([title, facts]) => (
    <Section key={title} title={title}>
      <Card>
        <Facts facts={facts} />
      </Card>
    </Section>
  ));
}

const STATES = {
  document: ["pending", "processing", "paused", "completed", "cancelled", "failed"],
  run: ["running", "interrupted", "completed", "cancelled", "failed"],
} as const;

function useCounts(kind: keyof typeof STATES, counts: Record<string, number>): Fact[] {
  const { t } = useTranslation("admin");
  return STATES[kind]
    .filter((state) => counts[state] !== undefined)
    .map((state) => [t(`system.state.${state}`), formatNumber(counts[state] ?? 0)]);
}
