/** Where the events of a person's rules, or of a rule that they look at, may come from. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useMay } from "@/api/account";
import { connectionsQuery } from "@/pages/connections/connectionQueries";
import { eventSourcesQuery, ruleQuery } from "./ruleQueries";

export interface NamedSource {
  id: string;
  name: string;
}

export interface Sources {
  connections: readonly NamedSource[];
  webhooks: readonly NamedSource[];
  /** Undefined for one that is gone, or not known yet. */
  nameOf: (id: string) => string | undefined;
}

export function useSources(): Sources {
  const may = useMay();
  const { data: mcp } = useQuery({ ...connectionsQuery, enabled: may("mcp:view") });
  const { data: own } = useQuery({ ...eventSourcesQuery, enabled: may("rule:view") });
  // On the pages of a rule that is shared, its source is its owner's.
  const { ruleId = "" } = useParams({ strict: false });
  const { data: rule } = useQuery({ ...ruleQuery(ruleId), enabled: ruleId !== "" });
  const connections = mcp?.items ?? [];
  const webhooks = own?.items ?? [];
  return {
    connections,
    webhooks,
    nameOf: (id) =>
      [...connections, ...webhooks].find((source) => source.id === id)?.name ??
      (rule?.trigger_config.source_id === id ? (rule.source_name ?? undefined) : undefined),
  };
}
