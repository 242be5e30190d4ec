import { expect, test } from "vitest";
import { type Condition, readValue, toConditions, toMetadata } from "./conditions";

test("values read as numbers, flags or texts", () => {
  expect([readValue("7"), readValue("true"), readValue('"101"'), readValue("ops")]).toEqual([7, true, "101", "ops"]);
});

const rows: Condition[] = [
  { key: "team", operator: "=", value: "ops" },
  { key: "team", operator: "=", value: "hr" },
  { key: "year", operator: ">=", value: "2020" },
  { key: "year", operator: "<", value: "2024" },
  { key: "room", operator: "=", value: '"101"' },
];

test("rows of one key become alternatives or a range", () => {
  expect(toMetadata(rows)).toEqual({ team: ["ops", "hr"], year: { gte: 2020, lt: 2024 }, room: "101" });
});

test("what was written is read back", () => {
  expect(toConditions(toMetadata(rows))).toEqual(rows);
});

test("unfinished rows count as none", () => {
  expect(toMetadata([{ key: "team", operator: "=", value: " " }])).toEqual({});
});
