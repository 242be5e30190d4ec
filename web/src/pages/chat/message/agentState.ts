/** What an agent tells of its work in the shared state. */
import { listOf, objectOf } from "./citations";

export interface PlanStep {
  task: string;
  status: "pending" | "running" | "done" | "failed" | "skipped";
  result: string;
}

export interface Attempt {
  number: number;
  score: number | null;
  passed: boolean;
  problems: readonly string[];
}

export interface ActiveSkill {
  name: string;
  steps: readonly { name: string; done: boolean }[];
}

export interface AgentState {
  plan: readonly PlanStep[];
  revision: number;
  attempts: readonly Attempt[];
  reflections: readonly string[];
  route: { agentType: string; reason: string } | null;
  skills: readonly ActiveSkill[];
}

const STATUSES = ["pending", "running", "done", "failed", "skipped"] as const;

export function readAgentState(state: Readonly<Record<string, unknown>>): AgentState {
  const plan = objectOf(state.plan);
  const route = objectOf(state.route);
  return {
    plan: listOf(plan.steps).map(planStep),
    revision: Number(plan.revision ?? 1),
    attempts: listOf(state.attempts).map(attempt),
    reflections: listOf(state.reflections).map(wordsOf).filter(Boolean),
    route: typeof route.agent_type === "string" ? { agentType: route.agent_type, reason: wordsOf(route.reason) } : null,
    skills: listOf(state.skills).map(activeSkill),
  };
}

function planStep(value: unknown): PlanStep {
  const { task, status, result } = objectOf(value);
  return {
    task: wordsOf(task),
    status: STATUSES.find((known) => known === status) ?? "pending",
    result: wordsOf(result),
  };
}

function attempt(value: unknown): Attempt {
  const { number, score, passed, problems } = objectOf(value);
  return {
    number: Number(number ?? 0),
    score: typeof score === "number" ? score : null,
    passed: passed === true,
    problems: listOf(problems).map(wordsOf),
  };
}

function activeSkill(value: unknown): ActiveSkill {
  const { name, slug, steps } = objectOf(value);
  return {
    name: wordsOf(name) || wordsOf(slug),
    steps: listOf(steps).map((step) => {
      const fields = objectOf(step);
      return { name: wordsOf(fields.name) || wordsOf(step), done: fields.status === "done" || fields.done === true };
    }),
  };
}

function wordsOf(value: unknown): string {
  if (typeof value === "string") return value;
  const { text } = objectOf(value);
  return typeof text === "string" ? text : "";
}
