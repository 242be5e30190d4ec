/** The parsers that may be chosen here, each with its strategies. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, call } from "@/api/client";

export const BUILT_IN = "built_in";
const OWN_STRATEGY = "auto";

export interface ParserChoice {
  parser: string;
  strategy: string;
}

export const parsersQuery = queryOptions({
  queryKey: ["parsers"],
  queryFn: () => call(api.GET("/api/v1/parsers")),
  select: ({ items }) => items.filter(({ available }) => available),
  // The operator switches parsers on at a start of the server.
  staleTime: Number.POSITIVE_INFINITY,
});

/** A choice as the value of a field, and back. */
export function keyOf({ parser, strategy }: ParserChoice): string {
  return parser === BUILT_IN ? BUILT_IN : `${parser} ${strategy}`;
}

export function choiceOf(key: string): ParserChoice {
  const [parser = BUILT_IN, strategy = OWN_STRATEGY] = key.split(" ");
  return { parser, strategy };
}

/** What may be chosen; one entry where there is nothing to choose. */
export function useParserChoices(): ParserChoice[] {
  const parsers = useQuery(parsersQuery).data ?? [];
  return parsers.flatMap(({ name, strategies }) =>
    (strategies.length ? strategies : [OWN_STRATEGY]).map((strategy) => ({ parser: name, strategy })),
  );
}
