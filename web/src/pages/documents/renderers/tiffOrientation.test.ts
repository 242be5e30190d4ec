import { describe, expect, it } from "vitest";
import { type ExifOrientation, orientationOf, swapsSides, uprightTransform } from "./tiffOrientation";

const [WIDTH, HEIGHT] = [30, 20];

// Where the first row and the first column of the file are in the upright picture (TIFF 6.0, page 36).
const SIDES: Record<ExifOrientation, [row: string, column: string]> = {
  1: ["top", "left"],
  2: ["top", "right"],
  3: ["bottom", "right"],
  4: ["bottom", "left"],
  5: ["left", "top"],
  6: ["right", "top"],
  7: ["right", "bottom"],
  8: ["left", "bottom"],
};

describe("the upright picture", () => {
  it.each(Object.entries(SIDES))("has the file's first row and column where orientation %s says", (key, sides) => {
    const orientation = orientationOf(Number(key));
    const [a, b, c, d, e, f] = uprightTransform(orientation, WIDTH, HEIGHT);
    const at = (x: number, y: number) => ({ x: a * x + c * y + e, y: b * x + d * y + f });
    const [width, height] = swapsSides(orientation) ? [HEIGHT, WIDTH] : [WIDTH, HEIGHT];
    const sideOf = (start: { x: number; y: number }, end: { x: number; y: number }) =>
      start.x === end.x ? (start.x ? "right" : "left") : start.y ? "bottom" : "top";
    expect([sideOf(at(0, 0), at(WIDTH, 0)), sideOf(at(0, 0), at(0, HEIGHT))]).toEqual(sides);
    const far = at(WIDTH, HEIGHT);
    for (const point of [at(0, 0), far])
      expect([0, width].includes(point.x) && [0, height].includes(point.y)).toBe(true);
  });

  it("is as in the file where the file says nothing sensible", () => {
    expect([0, 9, Number.NaN].map(orientationOf)).toEqual([1, 1, 1]);
  });
});
