/** What the person's newest documents are about: a heading of each. */
import { queryOptions } from "@tanstack/react-query";
import { api, call } from "@/api/client";
import { plainText } from "@/components/plainText";

export interface DocumentTopic {
  knowledgeBaseId: string;
  document: string;
  heading: string;
}

export interface DocumentTopics {
  /** Whether anything can be asked; without it, documents have to come first. */
  hasDocuments: boolean;
  topics: readonly DocumentTopic[];
}

const MOST_BASES = 3;
const MOST_TOPICS = 3;
const LONGEST = 60;

export const topicsQuery = queryOptions({
  // Under the key of the lists, so that it follows what changes there.
  queryKey: ["knowledge-bases", "topics"],
  queryFn: loadTopics,
});

async function loadTopics(): Promise<DocumentTopics> {
  const query = { page: 1, page_size: 20, sort_by: "updated_at", sort_order: "desc" } as const;
  const { items } = await call(api.GET("/api/v1/knowledge-bases", { params: { query } }));
  const filled = items.filter(({ document_count: count }) => count > 0).slice(0, MOST_BASES);
  const found = (await Promise.all(filled.map(({ id }) => topicsOf(id)))).flat();
  // First one of each knowledge base, so that all of them are seen.
  const topics = found.sort((one, other) => one.place - other.place).map(({ topic }) => topic);
  return { hasDocuments: filled.length > 0, topics: distinct(topics).slice(0, MOST_TOPICS) };
}

/** Documents of one name and heading give one question. */
function distinct(topics: readonly DocumentTopic[]): DocumentTopic[] {
  return [...new Map(topics.map((topic) => [JSON.stringify([topic.document, topic.heading]), topic])).values()];
}

async function topicsOf(kbId: string): Promise<{ place: number; topic: DocumentTopic }[]> {
  const query = {
    page: 1,
    page_size: MOST_TOPICS,
    status: "completed",
    sort_by: "updated_at",
    sort_order: "desc",
  } as const;
  const path = { kb_id: kbId };
  const { items } = await call(api.GET("/api/v1/knowledge-bases/{kb_id}/documents", { params: { path, query } }));
  const headings = await Promise.all(items.map(({ id }) => headingOf(kbId, id)));
  return items.flatMap(({ name }, place) => {
    const heading = headings[place];
    return heading ? [{ place, topic: { knowledgeBaseId: kbId, document: short(name), heading: short(heading) } }] : [];
  });
}

/** The deepest heading of the first passage that has one; null where there is none. */
async function headingOf(kbId: string, documentId: string): Promise<string | null> {
  const path = { kb_id: kbId, doc_id: documentId };
  const query = { page: 1, page_size: 10 };
  const { items } = await call(
    api.GET("/api/v1/knowledge-bases/{kb_id}/documents/{doc_id}/chunks", { params: { path, query } }),
  );
  const paths = items.map(({ heading_path: headings }) => headings).filter((headings) => headings.length > 0);
  return (paths.find((headings) => headings.length > 1) ?? paths[0])?.at(-1) ?? null;
}

function short(text: string): string {
  const plain = plainText(text.trim());
  return plain.length > LONGEST ? `${plain.slice(0, LONGEST)}…` : plain;
}
