import { describe, expect, it } from "vitest";
import { daysBetween, MOST_SERIES, OTHERS, seriesOf, stacked, sumByModel } from "./usageSeries";

function row(day: string, model: string, tokens: number, cost: number | null = null) {
  return {
    day,
    user_id: "u",
    username: "ana",
    model_id: model,
    name: null,
    model: model.toUpperCase(),
    runs: 1,
    prompt_tokens: tokens,
    completion_tokens: 1,
    cost,
  };
}

const DAYS = ["2026-02-28", "2026-03-01"];

describe("usage of models", () => {
  it("has every day from the first to the last", () => {
    expect(daysBetween("2026-02-27", "2026-03-01")).toEqual(["2026-02-27", ...DAYS]);
  });

  it("is summed by model, without a cost where none is known", () => {
    const sums = sumByModel([row("2026-03-01", "a", 1), row("2026-03-01", "b", 5, 2), row("2026-02-28", "b", 5, 3)]);
    expect(sums.map(({ name, runs, prompt, cost }) => [name, runs, prompt, cost])).toEqual([
      ["B", 2, 10, 5],
      ["A", 1, 1, null],
    ]);
  });

  it("stacks one model on the other", () => {
    const series = seriesOf([row("2026-02-28", "a", 9), row("2026-03-01", "b", 4)], DAYS, "tokens");
    expect(stacked(series)).toEqual([
      [10, 0],
      [10, 5],
    ]);
  });

  it("puts the models beyond the colours together", () => {
    const rows = Array.from({ length: MOST_SERIES + 2 }, (_, index) => row("2026-03-01", `m${index}`, 100 - index));
    const series = seriesOf(rows, DAYS, "tokens");
    expect(series).toHaveLength(MOST_SERIES);
    expect(series.at(-1)).toMatchObject({ id: OTHERS, values: [0, 96 + 95 + 94 + 3] });
  });
});
