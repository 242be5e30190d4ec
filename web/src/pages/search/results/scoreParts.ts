/** How a passage's score is put together, and what the rerank changed. */
import type { Schemas } from "@/api/client";

export type Legs = Schemas["Explanation"];
export type Weights = Schemas["Weights"];
export type PartName = "sparse" | "dense" | "window" | "phrase" | "relevance";

export interface ScorePart {
  name: PartName;
  /** Before its weight, from 0 to 1. */
  value: number;
  weight: number;
  /** Its share of the score; the parts of a passage add up to the score. */
  share: number;
}

export interface Places {
  /** Place by fusion alone, from 1. */
  fused: number;
  /** Place after the rerank, from 1. */
  final: number;
}

interface Ranked {
  chunk_id: string;
  score?: number | null;
  legs?: Legs | null;
}

/** The parts of a score; a reranker's own judgement is the whole of it. */
export function scoreParts(legs: Legs, weights: Weights): ScorePart[] {
  if (legs.relevance != null)
    return [{ name: "relevance", value: legs.relevance, weight: 1, share: clamp(legs.relevance) }];
  const values: [Exclude<PartName, "relevance">, number][] = [
    ["dense", legs.dense?.normalised ?? 0],
    ["sparse", legs.sparse?.normalised ?? 0],
    ["window", legs.window],
    ["phrase", legs.phrase],
  ];
  return values
    .map(([name, value]) => ({
      name,
      value,
      weight: weights[name],
      share: clamp((value * weights[name]) / weights.highest),
    }))
    .filter(({ weight }) => weight > 0);
}

/** The places of all ranked passages, by id. */
export function rankPlaces(shown: readonly Ranked[], dropped: readonly Ranked[]): Map<string, Places> {
  const ranked = [...shown, ...dropped].filter(({ legs }) => legs);
  const byFusion = [...ranked].sort((a, b) => (b.legs?.fused ?? 0) - (a.legs?.fused ?? 0));
  // Sorting is stable, so that passages of equal score keep the server's order.
  const byScore = [...ranked].sort((a, b) => (b.score ?? 0) - (a.score ?? 0));
  const places = new Map(byFusion.map(({ chunk_id }, index) => [chunk_id, { fused: index + 1, final: 0 }]));
  byScore.forEach(({ chunk_id }, index) => {
    const place = places.get(chunk_id);
    if (place) place.final = index + 1;
  });
  shown.forEach(({ chunk_id }, index) => {
    const place = places.get(chunk_id);
    if (place) place.final = index + 1;
  });
  return places;
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}
