/** Where the events of a person's rules may come from. */
import { useQuery } from "@tanstack/react-query";
import { useMay } from "@/api/account";
import { connectionsQuery } from "@/pages/connections/connectionQueries";
import { eventSourcesQuery } from "./ruleQueries";

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
  const connections = mcp?.items ?? [];
  const webhooks = own?.items ?? [];
  return {
    connections,
    webhooks,
    nameOf: (id) => [...connections, ...webhooks].find((source) => source.id === id)?.name,
  };
}
