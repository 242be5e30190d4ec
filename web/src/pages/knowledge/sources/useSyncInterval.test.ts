import { describe, expect, it } from "vitest";
import { unitsOf } from "./useSyncInterval";

describe("intervals of syncs", () => {
  it.each([
    [5, [5, "minute"]],
    [60, [1, "hour"]],
    [90, [90, "minute"]],
    [360, [6, "hour"]],
    [1440, [1, "day"]],
    [2160, [36, "hour"]],
    [10_080, [1, "week"]],
  ])("says %i minutes exactly", (minutes, words) => {
    expect(unitsOf(minutes)).toEqual(words);
  });
});
