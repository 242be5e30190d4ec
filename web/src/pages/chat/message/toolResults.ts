/** What a tool gave, as far as its text tells. */
import { listOf, objectOf } from "./citations";

export interface FoundPassage {
  number: number;
  document: string;
  headings: readonly string[];
  text: string;
}

export interface ToolOutcome {
  /** Why there is no result, in the agent's words; null if there is one. */
  failure: string | null;
  passages: readonly FoundPassage[] | null;
  /** The recorded search that gave the passages. */
  retrievalId: string | null;
  /** The result, indented where it is JSON. */
  text: string;
}

const FAILURES = new RegExp(
  [
    "There is no (tool|time zone) ",
    "The tool \\S+ (needs an answer|took longer|failed|is switched off)",
    "The arguments are not valid: ",
    "Not run(?: again)?: ",
    "Not finished: ",
    "Not saved: ",
    "Cancelled: ",
    "Declined: ",
    "Interrupted: ",
    "Begun again: ",
    "No passage has the number ",
    "No result was given: ",
  ]
    .map((beginning) => `^${beginning}`)
    .join("|"),
);

export function outcomeOf(content: string): ToolOutcome {
  if (FAILURES.test(content)) return { failure: content, passages: null, retrievalId: null, text: content };
  const value = parsed(content);
  const { passages, retrieval_id } = objectOf(value);
  return {
    failure: null,
    passages: Array.isArray(passages) ? passages.map(passageOf) : null,
    retrievalId: typeof retrieval_id === "string" ? retrieval_id : null,
    text: value === undefined || typeof value === "string" ? content : JSON.stringify(value, null, 2),
  };
}

function passageOf(value: unknown): FoundPassage {
  const { number, document, headings, text } = objectOf(value);
  return {
    number: Number(number ?? 0),
    document: String(document ?? ""),
    headings: listOf(headings).map(String),
    text: String(text ?? ""),
  };
}

/** JSON as a value, undefined where it is none, such as arguments that are still coming. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
