/** What is chosen once for a conversation: the agent, its model, and what it may use. */
import { queryOptions, useQueries, useQuery } from "@tanstack/react-query";
import { useMay } from "@/api/account";
import { api, call } from "@/api/client";
import { isLanguageModel } from "@/api/models";
import { knowledgeBaseQuery } from "@/pages/knowledge/queries";
import { listOf, objectOf } from "../message/citations";
import { type AgentType, isAgentType } from "../message/toolNames";

export interface Choices {
  agentType: AgentType;
  /** Empty for the default model. */
  modelId: string;
  /** None: all that the person may use. */
  knowledgeBases: readonly string[];
  connections: readonly string[];
  /** None: the agent picks. */
  skills: readonly string[];
}

export const NO_CHOICES: Choices = {
  agentType: "agentic_rag",
  modelId: "",
  knowledgeBases: [],
  connections: [],
  skills: [],
};

export interface Option {
  id: string;
  name: string;
}

const PAGE = { page: 1, page_size: 100 } as const;

export const modelsQuery = queryOptions({
  queryKey: ["models", "chat"],
  queryFn: () => call(api.GET("/api/v1/models", { params: { query: { type: "chat" } } })),
});

/** What there is to choose from; among the knowledge bases are all that are chosen. */
export function useOptions({ knowledgeBases: chosen }: Choices) {
  const may = useMay();
  const models = useQuery({ ...modelsQuery, enabled: may("models:view") });
  const knowledgeBases = useQuery({
    queryKey: ["knowledge-bases", "choices"],
    queryFn: () => call(api.GET("/api/v1/knowledge-bases", { params: { query: PAGE } })),
    enabled: may("kb:view"),
  });
  const others = useKnowledgeBases(chosen, knowledgeBases.data?.items);
  const skills = useQuery({
    queryKey: ["skills", "choices"],
    queryFn: () => call(api.GET("/api/v1/skills", { params: { query: { ...PAGE, include_public: true } } })),
    enabled: may("skill:view"),
  });
  const connections = useQuery({
    queryKey: ["mcp-connections", "choices"],
    queryFn: () => call(api.GET("/api/v1/mcp/connections", { params: { query: PAGE } })),
    enabled: may("mcp:view"),
  });
  return {
    models: models.data?.items.filter(({ enabled }) => enabled) ?? [],
    knowledgeBases: [
      ...(knowledgeBases.data?.items.filter(({ id, enabled }) => enabled || chosen.includes(id)) ?? []),
      ...others,
    ],
    skills: skills.data?.items.filter(({ enabled, valid }) => enabled && valid) ?? [],
    connections: connections.data?.items.filter(({ enabled }) => enabled) ?? [],
  };
}

/** The knowledge bases that are chosen and don't stand in a list, which has the first ones only. */
function useKnowledgeBases(chosen: readonly string[], listed: readonly Option[] | undefined): readonly Option[] {
  const missing = listed ? chosen.filter((id) => !listed.some((option) => option.id === id)) : [];
  return useQueries({
    queries: missing.map(knowledgeBaseQuery),
    combine: (results) => results.flatMap(({ data }) => data ?? []),
  });
}

/** Whether answers are quoted instead of written; false until that is known. */
export function useIsOffline(): boolean {
  const may = useMay();
  const { data } = useQuery({ ...modelsQuery, enabled: may("models:view") });
  return data ? !data.items.some(isLanguageModel) : false;
}

/** A session's settings as choices; what this page doesn't know is left alone. */
export function choicesOf(config: Readonly<Record<string, unknown>>): Choices {
  return {
    agentType: isAgentType(config.agent_type) ? config.agent_type : NO_CHOICES.agentType,
    modelId: typeof config.model_id === "string" ? config.model_id : "",
    knowledgeBases: listOf(config.knowledge_base_ids).map(String),
    connections: listOf(config.mcp_connection_ids).map(String),
    skills: listOf(config.skill_ids).map((skill) => String(objectOf(skill).id ?? skill)),
  };
}

export function configOf(choices: Choices) {
  const { agentType, modelId, knowledgeBases, connections, skills } = choices;
  return {
    agent_type: agentType,
    ...(modelId ? { model_id: modelId } : {}),
    ...(knowledgeBases.length ? { knowledge_base_ids: [...knowledgeBases] } : {}),
    ...(connections.length ? { mcp_connection_ids: [...connections] } : {}),
    ...(skills.length ? { skill_ids: [...skills] } : {}),
  };
}
