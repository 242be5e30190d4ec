/** Ready-made ways to cut documents, for people who do not want to think about tokens. */

export const SPLITTERS = [
  "heading_recursive",
  "parent_child",
  "markdown_sections",
  "sentence",
  "fixed",
  "llama_index:SentenceSplitter",
  "llama_index:TokenTextSplitter",
  "llama_index:SentenceWindowNodeParser",
  "llama_index:MarkdownNodeParser",
  "llama_index:SemanticSplitterNodeParser",
] as const;
export type Splitter = (typeof SPLITTERS)[number];
type TextKey<S extends string> = S extends `${string}:${infer Name}` ? Name : S;

/** The key of a splitter's texts: a colon would stand for a namespace there. */
export function splitterKey(splitter: Splitter): TextKey<Splitter> {
  return splitter.slice(splitter.indexOf(":") + 1) as TextKey<Splitter>;
}

export interface Splitting {
  splitter: Splitter;
  chunk_size: number;
  chunk_overlap: number;
}

export const PRESETS = {
  general: { splitter: "heading_recursive", chunk_size: 500, chunk_overlap: 50 },
  manuals: { splitter: "parent_child", chunk_size: 600, chunk_overlap: 60 },
  faq: { splitter: "markdown_sections", chunk_size: 300, chunk_overlap: 0 },
  code: { splitter: "markdown_sections", chunk_size: 800, chunk_overlap: 80 },
  transcripts: { splitter: "sentence", chunk_size: 400, chunk_overlap: 60 },
} as const satisfies Record<string, Splitting>;

export type PresetName = keyof typeof PRESETS;
export const PRESET_NAMES = Object.keys(PRESETS) as PresetName[];

export const CHUNK_SIZES = { least: 32, most: 2000 } as const;

/** What is wrong with these numbers; null when the server takes them. */
export function splittingProblem({ chunk_size, chunk_overlap }: Splitting): "size" | "overlap" | null {
  const { least, most } = CHUNK_SIZES;
  if (!Number.isInteger(chunk_size) || chunk_size < least || chunk_size > most) return "size";
  return Number.isInteger(chunk_overlap) && chunk_overlap >= 0 && chunk_overlap * 2 <= chunk_size ? null : "overlap";
}

export function sameSplitting(one: Splitting, other: Splitting): boolean {
  return (
    one.splitter === other.splitter && one.chunk_size === other.chunk_size && one.chunk_overlap === other.chunk_overlap
  );
}

/** What a knowledge base is set to, as far as this console knows its splitter. */
export function splittingOf(base: { splitter: string; chunk_size: number; chunk_overlap: number }): Splitting {
  const splitter = SPLITTERS.find((name) => name === base.splitter) ?? "heading_recursive";
  return { splitter, chunk_size: base.chunk_size, chunk_overlap: base.chunk_overlap };
}
