import { describe, expect, it } from "vitest";
import { readOperand, readOperands, writeOperand, writeOperands } from "./operands";

describe("an operand", () => {
  it.each([
    ["20", 20],
    ["-1.50", -1.5],
    ['"20"', "20"],
    ["true", true],
    ["null", null],
    ["admin", "admin"],
    ["2026-03-17T09:00:00+08:00", "2026-03-17T09:00:00+08:00"],
    ["12345678901234567890", "12345678901234567890"],
    ["{}", "{}"],
    ["", ""],
  ])("is read from %s", (text, value) => {
    expect(readOperand(text)).toBe(value);
  });

  it.each([[20], ["20"], [true], ["true"], [null], ["null"], ["admin"], ['"x"'], [""], [" "]])(
    "is the same after it was written: %j",
    (value) => {
      expect(readOperand(writeOperand(value as never))).toBe(value);
    },
  );

  it("may be one of several", () => {
    const values = ["high", "a, b", 3, "3", false];
    expect(readOperands(writeOperands(values as never))).toEqual(values);
    expect(readOperands("high, critical")).toEqual(["high", "critical"]);
  });
});
