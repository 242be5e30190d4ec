import { describe, expect, it } from "vitest";
import { argumentFields, type Json } from "./fields";
import { type ArgumentDraft, argumentsOf } from "./values";

const SCHEMA: Json = {
  type: "object",
  properties: {
    path: { type: "string", description: "Where", pattern: "^/" },
    depth: { anyOf: [{ type: "integer", minimum: 1, exclusiveMaximum: 10 }, { type: "null" }], default: 2 },
    order: { enum: ["name", 7, null], default: 7 },
    hidden: { type: "boolean" },
    tags: { type: "array", items: { type: "string" }, minItems: 1 },
    day: { type: "string", format: "date" },
    time: { type: "string", format: "date-time" },
    owner: { $ref: "#/$defs/person" },
    size: { oneOf: [{ type: "number" }, { title: "Box", type: "object", properties: { width: { type: "number" } } }] },
    unit: { oneOf: [{ const: "cm" }, { const: "in" }] },
    version: { const: 3 },
    extra: { type: "object", additionalProperties: { type: "string" } },
  },
  required: ["path", "tags", "owner", "version"],
  $defs: {
    person: {
      type: "object",
      properties: { name: { type: "string", minLength: 1 }, chief: { $ref: "#/$defs/person" } },
      required: ["name"],
    },
  },
};

function form(schema: Json) {
  const field = argumentFields(schema);
  if (!field) throw new Error("no form");
  return field;
}

const read = (schema: Json, draft: ArgumentDraft) => argumentsOf(form(schema), draft);
const within = (property: Json, isRequired = false): Json => ({
  type: "object",
  properties: { x: property },
  required: isRequired ? ["x"] : [],
});

describe("a form from a JSON Schema", () => {
  it("has a field for each property", () => {
    const kinds = form(SCHEMA).entries.map(([name, { kind, isRequired }]) => [name, kind, isRequired]);
    expect(kinds).toEqual([
      ["path", "text", true],
      ["depth", "number", false],
      ["order", "choice", false],
      ["hidden", "boolean", false],
      ["tags", "list", true],
      ["day", "text", false],
      ["time", "text", false],
      ["owner", "group", true],
      ["size", "variant", false],
      ["unit", "choice", false],
      ["version", "fixed", true],
      ["extra", "json", false],
    ]);
  });

  it("knows bounds, also exclusive ones, and shows a pattern instead of running it", () => {
    const [[, path], [, depth]] = form(SCHEMA).entries as never as [[string, Json], [string, Json]];
    expect(path.description).toBe("Where · ^/");
    expect([depth.minimum, depth.maximum, depth.isNullable]).toEqual([1, 9, true]);
  });

  it("is none where alternatives stand on top", () => {
    expect(argumentFields({ anyOf: [{ type: "object" }, { type: "array", items: {} }] })).toBeNull();
  });

  it("is empty for a tool that takes nothing", () => {
    expect(read({ type: "object" }, {})).toEqual({ value: {} });
  });

  it("ends where a schema refers to itself", () => {
    const wide = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`p${index}`, { $ref: "#" }]));
    const text = JSON.stringify(form({ type: "object", properties: wide }));
    expect(text.length).toBeLessThan(1_000_000);
  });

  it("survives a server's nonsense", () => {
    for (const nonsense of [
      3,
      null,
      [],
      { type: 7 },
      { enum: 7 },
      { items: [] },
      { $ref: "#/nowhere" },
      { allOf: [1] },
    ])
      expect(form(within(nonsense as Json)).entries).toHaveLength(1);
    expect(argumentFields({ properties: [1] })).toBeNull();
  });

  it("joins what all hold", () => {
    const { entries } = form(
      within({ allOf: [{ $ref: "#/$defs/a" }, { properties: { c: {} } }], properties: { b: {} }, $defs: {} }),
    );
    expect(entries[0]?.[1].kind).toBe("group");
  });
});

describe("the arguments of a form", () => {
  it("leave out what is empty, and begin with the defaults", () => {
    expect(read(SCHEMA, { path: "/a", owner: { name: "Ann" } })).toEqual({
      value: { path: "/a", depth: 2, order: 7, tags: [""], owner: { name: "Ann" }, version: 3 },
    });
  });

  it("are nested as the schema says", () => {
    const draft = {
      path: "",
      depth: "",
      order: "0",
      hidden: "false",
      tags: ["a", "b"],
      day: "2026-01-31",
      owner: { name: "Ann", chief: { name: "Bea" } },
      size: { choice: "1", "0": "4", "1": { width: "2.5" } },
      unit: "1",
      extra: '{"a": "b"}',
    };
    expect(read(SCHEMA, draft)).toEqual({
      value: {
        path: "",
        order: "name",
        hidden: false,
        tags: ["a", "b"],
        day: "2026-01-31",
        owner: { name: "Ann", chief: { name: "Bea" } },
        size: { width: 2.5 },
        unit: "in",
        version: 3,
        extra: { a: "b" },
      },
    });
  });

  it("have null where nothing is given but something must be", () => {
    expect(read(within({ type: ["integer", "null"] }, true), {})).toEqual({ value: { x: null } });
    expect(read(within({ type: ["integer", "null"] }), {})).toEqual({ value: {} });
  });

  it("say times with the zone", () => {
    const time = read(within({ type: "string", format: "date-time" }), { x: "2026-01-31T09:00" });
    expect(time).toEqual({ value: { x: new Date("2026-01-31T09:00").toISOString() } });
  });

  it("name the fields that can't be read", () => {
    const schema = within({ type: "array", items: { type: "integer" } });
    expect(read(schema, { x: ["1", "x", "9007199254740993"] })).toEqual({ unreadable: ["/x/1", "/x/2"] });
    expect(read(within({}), { x: "[" })).toEqual({ unreadable: ["/x"] });
    expect(read(within({ type: "integer" }, true), {})).toEqual({ unreadable: ["/x"] });
  });

  it("take no name for more than a name", () => {
    const schema = { type: "object", properties: JSON.parse('{"__proto__": {"type": "string"}, "toString": {}}') };
    const read_ = read(schema, JSON.parse('{"__proto__": "a"}'));
    expect(JSON.stringify(read_)).toBe('{"value":{"__proto__":"a"}}');
  });
});
