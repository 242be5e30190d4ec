/** Usage of models by day, ready for a plot and a table. */
import type { Schemas } from "@/api/client";

type UsageRow = Schemas["UsageAnswer"];
export type Measure = "tokens" | "cost";

export interface ModelSum {
  id: string;
  name: string;
  runs: number;
  prompt: number;
  completion: number;
  cost: number | null;
}

/** More models than that share the last colour. */
export const MOST_SERIES = 5;

export const OTHERS = "others";

/** The sums of each model, the most used first. */
export function sumByModel(rows: readonly UsageRow[]): ModelSum[] {
  const sums = new Map<string, ModelSum>();
  for (const row of rows) {
    const sum = sums.get(row.model_id) ?? {
      id: row.model_id,
      name: row.name ?? row.model,
      runs: 0,
      prompt: 0,
      completion: 0,
      cost: null,
    };
    sum.runs += row.runs;
    sum.prompt += row.prompt_tokens;
    sum.completion += row.completion_tokens;
    if (row.cost !== null) sum.cost = (sum.cost ?? 0) + row.cost;
    sums.set(row.model_id, sum);
  }
  return [...sums.values()].sort((a, b) => b.prompt + b.completion - a.prompt - a.completion);
}

/** All days from the first to the last, as `2026-01-31`. */
export function daysBetween(since: string, until: string): string[] {
  const days: string[] = [];
  for (let time = Date.parse(`${since}T00:00Z`); time <= Date.parse(`${until}T00:00Z`); time += 86_400_000)
    days.push(new Date(time).toISOString().slice(0, 10));
  return days;
}

export interface Series {
  id: string;
  name: string;
  /** One for each day. */
  values: number[];
}

export function seriesOf(rows: readonly UsageRow[], days: readonly string[], measure: Measure): Series[] {
  const models = sumByModel(rows);
  const own = models.slice(0, models.length > MOST_SERIES ? MOST_SERIES - 1 : MOST_SERIES);
  const place = new Map(days.map((day, index) => [day, index]));
  const series = new Map<string, Series>(own.map(({ id, name }) => [id, { id, name, values: days.map(() => 0) }]));
  for (const row of rows) {
    const id = series.has(row.model_id) ? row.model_id : OTHERS;
    const each = series.get(id) ?? { id, name: "", values: days.map(() => 0) };
    series.set(id, each);
    const index = place.get(row.day);
    const value = measure === "cost" ? (row.cost ?? 0) : row.prompt_tokens + row.completion_tokens;
    if (index !== undefined) each.values[index] = (each.values[index] ?? 0) + value;
  }
  return [...series.values()];
}

/** Each series on top of those before it. */
export function stacked(series: readonly Series[]): number[][] {
  const heights: number[][] = [];
  for (const { values } of series) {
    const below = heights.at(-1);
    heights.push(values.map((value, index) => value + (below?.[index] ?? 0)));
  }
  return heights;
}
