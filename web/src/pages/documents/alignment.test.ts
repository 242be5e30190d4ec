import { describe, expect, it } from "vitest";
import { locate, part, passageAt, reduce } from "./alignment";

const shown = (original: string, passage: string) =>
  locate(reduce(original), passage).map(({ start, end }) => original.slice(start, end));

describe("locate", () => {
  it("finds a passage in one stretch whatever markup and breaks stand between", () => {
    expect(shown("# Title\n\nStop the **wor-\nker** now. More.", "Stop the worker now.")).toEqual([
      "Stop the **wor-\nker** now",
    ]);
  });

  it("finds Chinese text", () => {
    expect(shown("第一段。\n一个文件夹里\n有全部数据。其他。", "一个文件夹里有全部数据。")).toEqual([
      "一个文件夹里\n有全部数据",
    ]);
  });

  it("leaves out what stands between the parts of a passage", () => {
    const original = "The harbour opens at dawn every day. [page 7 of 9] The crew rests until the storm is over.";
    expect(shown(original, "The harbour opens at dawn every day.\nThe crew rests until the storm is over.")).toEqual([
      "The harbour opens at dawn every day",
      "The crew rests until the storm is over",
    ]);
  });

  it("takes the place where most of a passage stands", () => {
    const row = "name and price of it";
    const original = `${row}; first article 10. ${row}; second article 20; third article 30.`;
    const found = locate(reduce(original), `${row}\nsecond article | 20\nthird article | 30 | new`);
    expect(found[0]?.start).toBe(original.lastIndexOf(row));
  });

  it("takes the nearest of several equal places, and looks into a part alone", () => {
    const original = "The same words. Between. The same words. Between. The same words.";
    expect(locate(reduce(original), "The same words.", 0.5)[0]?.start).toBe(25);
    expect(locate(reduce(original), "The same words.", 1)[0]?.start).toBe(50);
    expect(locate(part(reduce(original), { start: 20, end: 44 }), "same words")).toEqual([{ start: 29, end: 39 }]);
  });

  it("finds nothing where a passage is not there", () => {
    expect(shown("The harbour opens at dawn.", "An entirely different sentence about stones.")).toEqual([]);
    expect(shown("The harbour", " -- ")).toEqual([]);
  });
});

describe("passageAt", () => {
  const passages = ["The harbour opens at dawn every day.", "The crew rests until the storm is over."].map(reduce);
  const original = reduce("The harbour opens\nat dawn every day.\n\nThe crew rests until\nthe storm is over.");

  it("tells the passage around an offset", () => {
    expect(passageAt(original, 5, passages)).toBe(0);
    expect(passageAt(original, 60, passages)).toBe(1);
  });

  it("tells nothing where no passage is known", () => {
    expect(passageAt(original, 60, [passages[0], undefined])).toBe(-1);
  });
});
