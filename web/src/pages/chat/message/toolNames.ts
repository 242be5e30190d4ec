/** What tools and steps are called on the page. */

export const TOOLS = {
  search_knowledge_base: "tool.search_knowledge_base",
  read_document: "tool.read_document",
  current_time: "tool.current_time",
  confirm_action: "tool.confirm_action",
  request_input: "tool.request_input",
  calendar_read: "tool.calendar_read",
  calendar_write: "tool.calendar_write",
  recall_memory: "tool.recall_memory",
  save_memory: "tool.save_memory",
  load_skill: "tool.load_skill",
  read_skill_file: "tool.read_skill_file",
  find_skills: "tool.find_skills",
  complete_step: "tool.complete_step",
  mcp_list_resources: "tool.mcp_list_resources",
  mcp_read_resource: "tool.mcp_read_resource",
  mcp_list_prompts: "tool.mcp_list_prompts",
  mcp_get_prompt: "tool.mcp_get_prompt",
} as const;

export const STEPS = {
  act: "step.act",
  answer: "step.answer",
  attempt: "step.attempt",
  check_citations: "step.check_citations",
  decide: "step.decide",
  evaluate: "step.evaluate",
  execute: "step.execute",
  grade: "step.grade",
  observe: "step.observe",
  plan: "step.plan",
  reflect: "step.reflect",
  replan: "step.replan",
  retrieve: "step.retrieve",
  rewrite: "step.rewrite",
  router: "step.router",
  synthesise: "step.synthesise",
  think: "step.think",
  widen: "step.widen",
  worker: "step.worker",
} as const;

export const AGENT_TYPES = ["agentic_rag", "react", "plan_execute", "reflexion", "worker"] as const;
export type AgentType = (typeof AGENT_TYPES)[number];

export function isAgentType(value: unknown): value is AgentType {
  return AGENT_TYPES.some((type) => type === value);
}

/** A tool's key in the catalogue, or its own name: of an MCP server's tool "tool · connection". */
export function toolName(name: string): { key: (typeof TOOLS)[keyof typeof TOOLS] } | { name: string } {
  if (name in TOOLS) return { key: TOOLS[name as keyof typeof TOOLS] };
  const [, connection, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
  return { name: connection && tool ? `${tool} · ${connection}` : name };
}

export function stepKey(name: string): (typeof STEPS)[keyof typeof STEPS] | null {
  return name in STEPS ? STEPS[name as keyof typeof STEPS] : null;
}
