/** Whether a text of JSON is a rule that the form can show; whether it is right, the server says. */
import { ACTION_TYPES, type Definition } from "./definition";

export type ParsedRule =
  | { definition: Definition }
  /** JSON, and not in the shape of a rule. */
  | { shapeless: unknown }
  | { invalid: string };

export function parseRule(text: string): ParsedRule {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { invalid: (error as Error).message };
  }
  return isDefinition(value) ? { definition: value } : { shapeless: value };
}

export function ruleText(definition: Definition): string {
  return JSON.stringify(definition, null, 2);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const isAbsentOr = (type: "string" | "number" | "boolean", value: unknown) =>
  value === undefined || value === null || typeof value === type;

function isDefinition(value: unknown): value is Definition {
  if (!isObject(value)) return false;
  const {
    name,
    description,
    trigger_config: trigger,
    conditions = [],
    actions,
    cooldown,
    cooldown_key,
    enabled,
  } = value;
  return (
    typeof name === "string" &&
    isAbsentOr("string", description) &&
    isTrigger(trigger) &&
    areConditions(conditions) &&
    Array.isArray(actions) &&
    actions.every(isAction) &&
    isAbsentOr("number", cooldown) &&
    isAbsentOr("string", cooldown_key) &&
    isAbsentOr("boolean", enabled)
  );
}

function isTrigger(value: unknown): boolean {
  if (!isObject(value) || typeof value.event_type !== "string" || !isAbsentOr("string", value.source_id)) return false;
  const { schedule } = value;
  if (schedule === undefined || schedule === null) return true;
  return isObject(schedule) && typeof schedule.cron === "string" && isAbsentOr("string", schedule.timezone);
}

function areConditions(value: unknown): boolean {
  return Array.isArray(value) && value.every((node) => isObject(node) && (isGroup(node) || isCondition(node)));
}

const isGroup = (node: Record<string, unknown>) => "conditions" in node && areConditions(node.conditions);

const isCondition = ({ field, operator }: Record<string, unknown>) =>
  typeof field === "string" && typeof operator === "string";

/** The parameters that the form takes for texts, or for lists. */
const TEXTS = ["title", "text", "level", "prompt", "model_id", "query", "knowledge_base_id", "name", "url"];
const LISTS = ["knowledge_base_ids", "skill_ids"];

const isBudget = (value: unknown) =>
  isObject(value) && Object.values(value).every((most) => isAbsentOr("number", most));

function isAction(value: unknown): boolean {
  if (!isObject(value) || !ACTION_TYPES.some((type) => type === value.type)) return false;
  if (!isAbsentOr("string", value.target) || !isAbsentOr("string", value.on_error)) return false;
  const { params = {}, type } = value;
  if (!isObject(params)) return false;
  if (type === "mcp_call" || type === "set_state") return true;
  return (
    TEXTS.every((key) => isAbsentOr("string", params[key])) &&
    LISTS.every((key) => params[key] === undefined || Array.isArray(params[key])) &&
    (params.budget === undefined || params.budget === null || isBudget(params.budget))
  );
}
