import { describe, expect, it } from "vitest";
import { argumentsOf, fieldsOf } from "./schemaFields";

const SCHEMA = {
  type: "object",
  properties: {
    path: { type: "string", description: "Where" },
    depth: { anyOf: [{ type: "integer" }, { type: "null" }], default: 2 },
    order: { enum: ["name", "size"], default: "size" },
    hidden: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
  },
  required: ["path"],
};

describe("a form from a JSON Schema", () => {
  it("has a field for each property", () => {
    const fields = fieldsOf(SCHEMA) ?? [];
    expect(fields.map(({ kind, isRequired, initial }) => [kind, isRequired, initial])).toEqual([
      ["text", true, ""],
      ["integer", false, "2"],
      ["choice", false, "1"],
      ["boolean", false, ""],
      ["json", false, ""],
    ]);
  });

  it("is none where alternatives stand on top", () => {
    expect(fieldsOf({ anyOf: [{ type: "object" }] })).toBeNull();
  });

  it("survives a server's nonsense", () => {
    expect(fieldsOf({ properties: [1] })).toBeNull();
    expect(fieldsOf({ properties: { a: 3 } })?.[0]?.kind).toBe("json");
  });

  it("gives the arguments, without what is left empty", () => {
    const fields = fieldsOf(SCHEMA) ?? [];
    expect(argumentsOf(fields, { order: "0", hidden: "false", tags: '["a"]', depth: "" })).toEqual({
      value: { path: "", order: "name", hidden: false, tags: ["a"] },
    });
  });

  it("names the field that can't be read", () => {
    expect(argumentsOf(fieldsOf(SCHEMA) ?? [], { tags: "[" })).toEqual({ unreadable: "tags" });
  });
});
