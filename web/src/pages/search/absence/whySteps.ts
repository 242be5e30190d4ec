/** The steps that a passage passes on its way into an answer, and the one that removed it. */

export const STEPS = [
  { name: "knowledge_base", reasons: ["knowledge_base_disabled", "knowledge_base_unsearched"] },
  { name: "revision", reasons: ["not_searchable", "not_active_revision", "gone"] },
  { name: "text", reasons: ["text_not_found"] },
  { name: "enabled", reasons: ["chunk_disabled"] },
  { name: "filter", reasons: ["filter"] },
  { name: "legs", reasons: ["beyond_depth", "no_match", "not_indexed"] },
  { name: "threshold", reasons: ["threshold"] },
  { name: "duplicate", reasons: ["duplicate"] },
  { name: "top_k", reasons: ["top_k"] },
] as const;

export type StepName = (typeof STEPS)[number]["name"];
export type ReasonCode = (typeof STEPS)[number]["reasons"][number];
export type StepState = "passed" | "failed" | "not_reached";

export interface WhyStep {
  name: StepName;
  state: StepState;
}

/** The step at which each known reason removes a passage. */
const STEP_OF = new Map<string, StepName>(
  STEPS.flatMap(({ name, reasons }) => reasons.map((reason): [string, StepName] => [reason, name])),
);

export function isKnownReason(code: string): code is ReasonCode {
  return STEP_OF.has(code);
}

/** All steps for a reason; `shown` passes them all, and of an unknown reason no step is known. */
export function whySteps(reason: string): WhyStep[] {
  if (reason === "shown") return STEPS.map(({ name }) => ({ name, state: "passed" }));
  const failed = STEPS.findIndex(({ name }) => name === STEP_OF.get(reason));
  if (failed < 0) return [];
  return STEPS.map(({ name }, index) => ({
    name,
    state: index < failed ? "passed" : index === failed ? "failed" : "not_reached",
  }));
}
