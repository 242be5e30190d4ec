import { describe, expect, it } from "vitest";
import { fieldsOf, initialValues, payloadOf } from "./responseForm";

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

describe("fieldsOf", () => {
  const choices = { type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"] };
  const schema = {
    type: "object",
    properties: {
      colour: { ...choices, default: "g" },
      tags: { type: "array", items: choices },
      count: { type: "integer", default: 2 },
    },
    required: ["tags"],
  };
  const fields = fieldsOf(schema);

  it("names choices and begins with what the schema gives", () => {
    expect(fields.map(({ type, labels }) => [type, labels])).toEqual([
      ["choice", ["Red", "Green"]],
      ["several", ["Red", "Green"]],
      ["integer", []],
    ]);
    expect(initialValues(fields)).toEqual({ colour: "g", count: "2" });
  });

  it("sends what is chosen of several, and asks for it where it is required", () => {
    expect(payloadOf(fields, { tags: '["r"]' })).toEqual({ payload: { tags: ["r"] } });
    expect(payloadOf(fields, { tags: "[]" })).toEqual({ faults: ["tags"] });
  });
});
