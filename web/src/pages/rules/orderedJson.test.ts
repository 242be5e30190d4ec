import { describe, expect, it } from "vitest";
import { orderedJson } from "./orderedJson";

describe("a rule as JSON", () => {
  it("is the same however its keys were stored", () => {
    const one = {
      actions: [{ params: { b: 1, a: [2, { d: null, c: "x" }] }, type: "notify" }],
      name: "n",
      cooldown: 0,
    };
    const other = {
      cooldown: 0,
      name: "n",
      actions: [{ type: "notify", params: { a: [2, { c: "x", d: null }], b: 1 } }],
    };
    expect(orderedJson(one)).toBe(orderedJson(other));
  });

  it("begins with what a reader looks for, and keeps the order of lists", () => {
    const rule = { cooldown: 0, actions: ["b", "a"], conditions: [], trigger_config: {}, name: "n" };
    expect(Object.keys(JSON.parse(orderedJson(rule)))).toEqual([
      "name",
      "trigger_config",
      "conditions",
      "actions",
      "cooldown",
    ]);
    expect(JSON.parse(orderedJson(rule)).actions).toEqual(["b", "a"]);
  });
});
