import { describe, expect, it } from "vitest";
import { NEW_ACTIONS, NEW_DEFINITION } from "./definition";
import { parseRule, ruleText } from "./structure";

describe("a rule as text", () => {
  it("is the rule again", () => {
    for (const action of Object.values(NEW_ACTIONS)) {
      const rule = { ...NEW_DEFINITION, actions: [action] };
      expect(parseRule(ruleText(rule))).toEqual({ definition: rule });
    }
  });

  it.each([
    ["a list", []],
    ["no trigger", { name: "x", actions: [] }],
    ["a trigger that is a text", { name: "x", trigger_config: "x", actions: [] }],
    ["conditions that are none", { ...NEW_DEFINITION, conditions: ["x"] }],
    ["a group that holds none", { ...NEW_DEFINITION, conditions: [{ conditions: 3 }] }],
    ["an unknown action", { ...NEW_DEFINITION, actions: [{ type: "fly", params: {} }] }],
    ["a title that is a number", { ...NEW_DEFINITION, actions: [{ type: "notify", params: { title: 3 } }] }],
  ])("can't be shown by the form with %s", (_, value) => {
    expect(parseRule(JSON.stringify(value))).toEqual({ shapeless: value });
  });

  it("says where it is no JSON", () => {
    expect(parseRule("{")).toHaveProperty("invalid");
  });
});
