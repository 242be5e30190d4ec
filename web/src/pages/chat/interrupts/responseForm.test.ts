import { describe, expect, it } from "vitest";
import { fieldsOf, payloadOf } from "./responseForm";

const SCHEMA = {
  type: "object",
  properties: {
    name: { type: "string" },
    count: { type: "integer" },
    sure: { type: "boolean" },
    kind: { type: "string", enum: ["a", "b"] },
    extra: { type: "object" },
  },
  required: ["name", "count"],
};

describe("payloadOf", () => {
  const fields = fieldsOf(SCHEMA);

  it("reads values by their types", () => {
    expect(payloadOf(fields, { name: "x", count: "3", kind: "a", extra: '{"k": 1}' })).toEqual({
      payload: { name: "x", count: 3, sure: false, kind: "a", extra: { k: 1 } },
    });
  });

  it("names what is missing or can't be read", () => {
    expect(payloadOf(fields, { count: "3.5", extra: "{" })).toEqual({ faults: ["name", "count", "extra"] });
  });

  it("takes no schema for no fields", () => {
    expect(fieldsOf(undefined)).toEqual([]);
  });
});
