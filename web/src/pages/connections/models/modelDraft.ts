/** The fields of the form of a model, and what of them is sent. */
import type { Schemas } from "@/api/client";

export type Provider = Schemas["ModelBody"]["provider"];
type Options = Schemas["LlmOptions"];

export interface ModelDraft {
  name: string;
  provider: Provider;
  baseUrl: string;
  apiKey: string;
  modelId: string;
  isDefault: boolean;
  maxTokens: string;
  temperature: string;
  inputPrice: string;
  outputPrice: string;
  contextWindow: string;
  tools: "" | "auto" | "native" | "text" | "none";
  vision: "" | "yes" | "no";
  /** The other options, as JSON. */
  options: string;
  /** Ids of roles, null for everybody. */
  roles: string[] | null;
  /** Ids of single people who may use it, too. */
  people: string[];
}

export const NEW_MODEL: ModelDraft = {
  name: "",
  provider: "openai",
  baseUrl: "",
  apiKey: "",
  modelId: "",
  isDefault: false,
  maxTokens: "",
  temperature: "",
  inputPrice: "",
  outputPrice: "",
  contextWindow: "",
  tools: "",
  vision: "",
  options: "",
  roles: null,
  people: [],
};

const text = (value: number | null | undefined) => (value === null || value === undefined ? "" : String(value));

export function draftOf(model: Schemas["ModelConfigAnswer"]): ModelDraft {
  const { context_window, tools, vision, ...others } = model.options as Options;
  const isLimited = model.role_access !== null || model.user_access !== null;
  return {
    name: model.name,
    provider: model.provider as Provider,
    baseUrl: model.base_url ?? "",
    apiKey: "",
    modelId: model.model_id,
    isDefault: model.is_default,
    maxTokens: text(model.max_tokens),
    temperature: text(model.temperature),
    inputPrice: text(model.input_price),
    outputPrice: text(model.output_price),
    contextWindow: text(context_window),
    tools: tools ?? "",
    vision: vision === null || vision === undefined ? "" : vision ? "yes" : "no",
    options: Object.keys(others).length > 0 ? JSON.stringify(others, null, 2) : "",
    roles: isLimited ? (model.role_access ?? []) : null,
    people: model.user_access ?? [],
  };
}

/** The object that a text of JSON holds; undefined where it holds none. */
export function parseObject(json: string): Record<string, unknown> | undefined {
  if (!json.trim()) return {};
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

const number = (value: string) => (value.trim() === "" ? null : Number(value));

/** The body that registers or changes a model; an empty key is not sent, so that the one that is kept stays. */
export function bodyOf(draft: ModelDraft, before: Schemas["ModelConfigAnswer"] | null): Schemas["ModelBody"] {
  const options: Options = { ...parseObject(draft.options) };
  const contextWindow = number(draft.contextWindow);
  if (contextWindow !== null) options.context_window = contextWindow;
  if (draft.tools) options.tools = draft.tools;
  if (draft.vision) options.vision = draft.vision === "yes";
  return {
    name: draft.name.trim() || draft.modelId.trim(),
    provider: draft.provider,
    base_url: draft.baseUrl.trim() || null,
    ...(draft.apiKey.trim() && { api_key: draft.apiKey.trim() }),
    model_id: draft.modelId.trim(),
    max_tokens: number(draft.maxTokens),
    temperature: number(draft.temperature),
    input_price: number(draft.inputPrice),
    output_price: number(draft.outputPrice),
    options,
    is_default: draft.isDefault,
    enabled: before?.enabled ?? true,
    role_access: draft.roles,
    user_access: draft.roles === null ? null : draft.people,
  };
}
