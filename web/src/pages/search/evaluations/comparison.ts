/** What two answers to one query have in common. */

export interface Twin {
  /** Of the pair, from 1, in the order of the first answer. */
  number: number;
  /** Its place in the other answer, from 1. */
  place: number;
}

export interface AnswerComparison {
  first: Map<string, Twin>;
  second: Map<string, Twin>;
  shared: number;
  onlyFirst: number;
  onlySecond: number;
}

interface Found {
  chunk_id: string;
}

export function compareAnswers(first: readonly Found[], second: readonly Found[]): AnswerComparison {
  const places = new Map(second.map(({ chunk_id }, index) => [chunk_id, index + 1]));
  const twins: AnswerComparison = { first: new Map(), second: new Map(), shared: 0, onlyFirst: 0, onlySecond: 0 };
  first.forEach(({ chunk_id }, index) => {
    const place = places.get(chunk_id);
    if (place === undefined) return;
    twins.shared += 1;
    twins.first.set(chunk_id, { number: twins.shared, place });
    twins.second.set(chunk_id, { number: twins.shared, place: index + 1 });
  });
  twins.onlyFirst = first.length - twins.shared;
  twins.onlySecond = second.length - twins.shared;
  return twins;
}
