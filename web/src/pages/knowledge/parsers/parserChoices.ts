/** The parsers that may be chosen here, each with its strategies. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, call } from "@/api/client";
import { OWN_STRATEGY, type ParserChoice } from "./choiceKeys";

export const parsersQuery = queryOptions({
  queryKey: ["parsers"],
  queryFn: () => call(api.GET("/api/v1/parsers")),
  select: ({ items }) => items.filter(({ available }) => available),
  // The operator switches parsers on at a start of the server, and may install what a strategy needs at any time.
  staleTime: 60_000,
});

export interface OfferedChoice extends ParserChoice {
  /** What the server lacks for it, by names of packages; it can't be chosen until they are installed. */
  missing: string[];
}

/** What is offered; one entry where there is nothing to choose. */
export function useParserChoices(): OfferedChoice[] {
  const parsers = useQuery(parsersQuery).data ?? [];
  return parsers.flatMap(({ name, strategies, missing }) =>
    (strategies.length ? strategies : [OWN_STRATEGY]).map((strategy) => ({
      parser: name,
      strategy,
      missing: missing[strategy] ?? [],
    })),
  );
}
