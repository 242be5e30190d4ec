/** A rule as a person writes it, and what the form can show of it. */
import type { Schemas } from "@/api/client";
import type { Rule } from "../ruleQueries";

export type Definition = Schemas["RuleBody"];
export type ConditionNode = Definition["conditions"] extends (infer Node)[] | undefined ? Node : never;
export type Condition = Schemas["Condition"];
export type ConditionGroup = Schemas["ConditionGroup"];
export type Action = Definition["actions"][number];
export type ActionType = Action["type"];

export const ACTION_TYPES: readonly ActionType[] = [
  "notify",
  "agent_run",
  "mcp_call",
  "search",
  "ingest",
  "webhook",
  "set_state",
];

/** What is stored of a rule beside what the server keeps of it. */
export function definitionOf(rule: Rule): Definition {
  const { name, description, trigger_config, conditions, actions, cooldown, cooldown_key, enabled } = rule;
  return { name, description, trigger_config, conditions, actions, cooldown, cooldown_key, enabled };
}

export function isGroup(node: ConditionNode): node is ConditionGroup {
  return "conditions" in node;
}

export const NEW_ACTIONS: { readonly [Type in ActionType]: Extract<Action, { type: Type }> } = {
  notify: { type: "notify", on_error: "continue", params: { title: "", text: "", level: "info" } },
  agent_run: {
    type: "agent_run",
    on_error: "continue",
    params: { prompt: "", knowledge_base_ids: [], skill_ids: [] },
  },
  mcp_call: { type: "mcp_call", on_error: "continue", target: "", params: {} },
  search: { type: "search", on_error: "continue", params: { query: "", knowledge_base_ids: [], top_k: 5 } },
  ingest: { type: "ingest", on_error: "continue", params: { knowledge_base_id: "", name: "", text: "" } },
  webhook: { type: "webhook", on_error: "continue", target: "", params: { headers: {}, body: {} } },
  set_state: { type: "set_state", on_error: "continue", params: {} },
};

export const NEW_CONDITION: Condition = { field: "", operator: "==", value: "", logic: "AND" };

export const NEW_DEFINITION: Definition = {
  name: "",
  description: "",
  trigger_config: { event_type: "" },
  conditions: [],
  actions: [NEW_ACTIONS.notify],
  cooldown: 0,
  enabled: true,
};
