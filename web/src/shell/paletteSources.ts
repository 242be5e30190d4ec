/** What the command palette finds on the server, by kind. */
import type { Permission } from "@/api/account";
import { api, call } from "@/api/client";

export interface PaletteEntry {
  kind: "page" | "knowledge_base" | "document" | "skill" | "rule" | "conversation";
  title: string;
  /** The knowledge base that it is in. */
  place?: string;
  /** The address of its page. */
  href: string;
}

const SHOWN = 6;

/** Entries whose name has these words; a kind that the account may not see, or that fails, is left out. */
export async function findEntries(
  words: string,
  may: (permission: Permission) => boolean,
  signal: AbortSignal,
): Promise<PaletteEntry[]> {
  const sources = [
    may("kb:view") && findKnowledgeBases(words, signal),
    may("kb:view") && findDocuments(words, signal),
    may("skill:view") && findSkills(words, signal),
    may("rule:view") && findRules(words, signal),
    may("session:view") && findConversations(words, signal),
  ];
  const found = await Promise.allSettled(sources.filter((source) => source !== false));
  return found.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
}

async function findKnowledgeBases(words: string, signal: AbortSignal): Promise<PaletteEntry[]> {
  const query = { page: 1, page_size: 100, sort_by: "updated_at", sort_order: "desc" } as const;
  const { items } = await call(api.GET("/api/v1/knowledge-bases", { params: { query }, signal }));
  return items
    .filter(({ name }) => name.toLowerCase().includes(words.toLowerCase()))
    .slice(0, SHOWN)
    .map(({ id, name }) => ({ kind: "knowledge_base", title: name, href: `/knowledge-bases/${id}` }));
}

async function findDocuments(words: string, signal: AbortSignal): Promise<PaletteEntry[]> {
  const query = { page: 1, page_size: SHOWN, name_contains: words, sort_by: "updated_at", sort_order: "desc" } as const;
  const { items } = await call(api.GET("/api/v1/documents", { params: { query }, signal }));
  return items.map(({ id, name, knowledge_base_id, knowledge_base_name }) => ({
    kind: "document",
    title: name,
    place: knowledge_base_name,
    href: `/knowledge-bases/${knowledge_base_id}/documents/${id}`,
  }));
}

async function findSkills(words: string, signal: AbortSignal): Promise<PaletteEntry[]> {
  const query = { page: 1, page_size: SHOWN, q: words, include_public: true };
  const { items } = await call(api.GET("/api/v1/skills", { params: { query }, signal }));
  return items.map(({ id, name }) => ({ kind: "skill", title: name, href: `/skills/${id}` }));
}

async function findRules(words: string, signal: AbortSignal): Promise<PaletteEntry[]> {
  const query = { page: 1, page_size: SHOWN, q: words };
  const { items } = await call(api.GET("/api/v1/rules", { params: { query }, signal }));
  return items.map(({ id, name }) => ({ kind: "rule", title: name, href: `/rules/${id}` }));
}

async function findConversations(words: string, signal: AbortSignal): Promise<PaletteEntry[]> {
  const query = { page: 1, page_size: SHOWN, search: words };
  const { items } = await call(api.GET("/api/v1/sessions", { params: { query }, signal }));
  return items.map(({ thread_id, title }) => ({
    kind: "conversation",
    title,
    href: `/chat/${encodeURIComponent(thread_id)}`,
  }));
}
