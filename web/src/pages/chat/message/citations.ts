/** Citations of an answer as its metadata tells them. */

export interface Citation {
  number: number;
  chunkId: string;
  documentId: string;
  documentName: string;
  /** Empty for a document that was attached to the conversation. */
  knowledgeBaseId: string;
  revision: number | null;
  headings: readonly string[];
  start: number;
  end: number;
  quote: string;
  page: number | null;
}

export interface UnsupportedClaim {
  text: string;
  reason: string;
}

export interface AnswerFacts {
  citations: readonly Citation[];
  invalid: readonly number[];
  unsupported: readonly UnsupportedClaim[];
  endedBy: string | null;
  stopped: boolean;
}

/** Everything is checked: it came from outside. */
export function factsOf(metadata: unknown): AnswerFacts {
  const fields = objectOf(metadata);
  return {
    citations: listOf(fields.citations)
      .map(citationOf)
      .filter((citation) => citation !== null),
    invalid: listOf(fields.invalid_citations).filter((value) => typeof value === "number"),
    unsupported: listOf(fields.unsupported_claims).map((claim) => {
      const { text, reason } = objectOf(claim);
      return { text: String(text ?? ""), reason: String(reason ?? "") };
    }),
    endedBy: typeof fields.ended_by === "string" ? fields.ended_by : null,
    stopped: fields.stopped === true,
  };
}

export function citationOf(value: unknown): Citation | null {
  const fields = objectOf(value);
  if (typeof fields.number !== "number") return null;
  return {
    number: fields.number,
    chunkId: String(fields.chunk_id ?? ""),
    documentId: String(fields.document_id ?? ""),
    documentName: String(fields.document_name ?? ""),
    knowledgeBaseId: String(fields.knowledge_base_id ?? ""),
    revision: typeof fields.revision === "number" ? fields.revision : null,
    headings: listOf(fields.heading_path).map(String),
    start: Number(fields.char_start ?? 0),
    end: Number(fields.char_end ?? 0),
    quote: String(fields.quote ?? ""),
    page: typeof fields.page === "number" ? fields.page : null,
  };
}

export function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
