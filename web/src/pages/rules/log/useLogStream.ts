/** The log of a rule as it is written; the queries of the log follow it. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { atMostEvery, followStream } from "@/api/followStream";

/** A flood of events is not a flood of requests. */
const REFRESH_MS = 700;

/** Whether new entries appear by themselves. */
export function useLogStream(ruleId: string): boolean {
  const queries = useQueryClient();
  const [isLive, setLive] = useState(true);
  useEffect(() => {
    const refresh = atMostEvery(REFRESH_MS, () => void queries.invalidateQueries({ queryKey: ["rules"] }));
    return followStream(`/api/v1/rules/${encodeURIComponent(ruleId)}/logs/stream`, {
      onEvent: ({ name, data }) => {
        // At its start, too: for what came while nobody listened.
        refresh();
        return name === "end" && ["deleted", "access"].includes((JSON.parse(data) as { reason: string }).reason);
      },
      onLive: setLive,
    });
  }, [ruleId, queries]);
  return isLive;
}
