import { describe, expect, it } from "vitest";
import { auditParameters, auditQueryString } from "./auditFilter";

describe("the filters of the audit log", () => {
  it("leave out what is not asked for, and actions that there are not", () => {
    expect(auditParameters({ q: "", action: "nothing.done" })).toEqual({});
  });

  it("reach to the end of the last day", () => {
    const { since, until } = auditParameters({ since: "2026-02-28", until: "2026-02-28" });
    expect([since, until]).toEqual([
      new Date("2026-02-28T00:00:00").toISOString(),
      new Date("2026-03-01T00:00:00").toISOString(),
    ]);
  });

  it("are one text for a download", () => {
    expect(auditQueryString({ q: "a b", action: "login.failed" })).toBe("q=a+b&action=login.failed");
  });
});
