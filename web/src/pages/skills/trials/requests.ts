/** The requests that a skill is tested with: typed one a line, and kept for the next visit. */
import { writePersistentForm } from "../editor/usePersistentForm";

interface TestRequest {
  query: string;
  should_trigger: boolean;
}

export const TEST_FORM = { yes: "", no: "", by: "auto", runs: "3", model: "" };

export function testFormName(skillId: string): string {
  return `tests.${skillId}`;
}

/** Fill the form of a skill's trigger test. */
export function keepRequests(skillId: string, requests: readonly TestRequest[]): void {
  const lines = (should: boolean) =>
    requests
      .filter(({ should_trigger }) => should_trigger === should)
      .map(({ query }) => query)
      .join("\n");
  writePersistentForm(testFormName(skillId), { ...TEST_FORM, yes: lines(true), no: lines(false) });
}
