/** Queries of rules, and of what they are made of. */
import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { api, call, type Schemas } from "@/api/client";
import { currentLanguage } from "@/i18n";
import type { Definition } from "./editor/definition";
import type { ListSearch, LogSearch } from "./searchParams";

export type Rule = Schemas["RuleDetail"];
export type RuleItem = Schemas["RuleItem"];
export type RuleLogEntry = Schemas["RuleLogAnswer"];
export type EventType = Schemas["EventTypeAnswer"];

const route = getRouteApi("/shell/rules/$ruleId");
export const RULES_PER_PAGE = 20;
/** The source of what happens in Agentex itself. */
export const PLATFORM = "platform";
/** The type of the events of schedules. */
export const SCHEDULE = "schedule";

export function useRuleId(): string {
  return route.useParams().ruleId;
}

const path = (id: string) => ({ path: { rule_id: id } });

export const rulesQuery = ({ q, enabled, page = 1 }: ListSearch) =>
  queryOptions({
    queryKey: ["rules", "list", { q, enabled, page }],
    queryFn: () => {
      const query = { page, page_size: RULES_PER_PAGE, ...(q && { q }), ...(enabled !== undefined && { enabled }) };
      return call(api.GET("/api/v1/rules", { params: { query } }));
    },
    placeholderData: (before) => before,
  });

export const ruleQuery = (id: string) =>
  queryOptions({
    queryKey: ["rules", id],
    queryFn: () => call(api.GET("/api/v1/rules/{rule_id}", { params: path(id) })),
  });

export const logsQuery = (id: string, { status, page = 1 }: LogSearch) =>
  queryOptions({
    queryKey: ["rules", id, "logs", { status, page }],
    queryFn: () => {
      const query = { page, page_size: RULES_PER_PAGE, ...(status && { status }) };
      return call(api.GET("/api/v1/rules/{rule_id}/logs", { params: { ...path(id), query } }));
    },
    placeholderData: (before) => before,
  });

export const versionsQuery = (id: string, page: number) =>
  queryOptions({
    queryKey: ["rules", id, "versions", page],
    queryFn: () => {
      const query = { page, page_size: RULES_PER_PAGE };
      return call(api.GET("/api/v1/rules/{rule_id}/versions", { params: { ...path(id), query } }));
    },
    placeholderData: (before) => before,
  });

/** The types of events that rules may name, of all sources; the platform's own are described in the language. */
export const eventTypesQuery = () =>
  queryOptions({
    queryKey: ["event-types", currentLanguage()],
    queryFn: () => {
      const headers = { "Accept-Language": currentLanguage() };
      return call(api.GET("/api/v1/rules/event-types", { params: { query: {}, header: {} }, headers }));
    },
  });

export const eventSourcesQuery = queryOptions({
  queryKey: ["event-sources"],
  queryFn: () => call(api.GET("/api/v1/rules/sources")),
});

/** A function that has the lists and the rule read again, after one was changed. */
export function useInvalidateRules(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ["rules"] });
}

/** Keep a new rule. */
export function createRule(definition: Definition) {
  return call(api.POST("/api/v1/rules", { body: sent(definition) }));
}

/** Change a rule, unless it is no longer the version that was read. */
export function changeRule(id: string, definition: Definition, version: number) {
  // An empty key removes it.
  const body = { ...definition, cooldown_key: definition.cooldown_key ?? "", version };
  return call(api.PUT("/api/v1/rules/{rule_id}", { params: path(id), body: sent(body) }));
}

/** openapi-fetch takes a field that may be null alone for one that may not be given. */
export function sent(body: Definition): never {
  return body as never;
}
