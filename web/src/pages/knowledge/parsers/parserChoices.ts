/** The parsers that may be chosen here, each with its strategies. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, call } from "@/api/client";

import { OWN_STRATEGY, type ParserChoice } from "./choiceKeys";

export const parsersQuery = queryOptions({
  queryKey: ["parsers"],
  queryFn: () => call(api.GET("/api/v1/parsers")),
  select: ({ items }) => items.filter(({ available }) => available),
  // The operator switches parsers on at a start of the server.
  staleTime: Number.POSITIVE_INFINITY,
});

/** What may be chosen; one entry where there is nothing to choose. */
export function useParserChoices(): ParserChoice[] {
  const parsers = useQuery(parsersQuery).data ?? [];
  return parsers.flatMap(({ name, strategies }) =>
    (strategies.length ? strategies : [OWN_STRATEGY]).map((strategy) => ({ parser: name, strategy })),
  );
}
