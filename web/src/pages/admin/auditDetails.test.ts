import { describe, expect, it } from "vitest";
import { type DetailWords, detailText } from "./auditDetails";

const WORDS: DetailWords = {
  name: (name) => name.toUpperCase(),
  value: (name, value) => `${name}=${value}`,
  change: (before, after) => `${before} → ${after}`,
  pair: (name, value) => `${name}: ${value}`,
  nothing: "none",
};

describe("the details of an act", () => {
  it("say who got what", () => {
    const shares = [
      { who: "user mia", access: "read" },
      { who: "role editors", access: "write" },
    ];
    expect(detailText({ shares }, WORDS)).toBe("SHARES: who=user mia (access=read), who=role editors (access=write)");
    expect(detailText({ policies: [{ tool: "web_fetch", policy: "ask" }] }, WORDS)).toBe(
      "POLICIES: web_fetch (policy=ask)",
    );
  });

  it("say what was before and what is now", () => {
    expect(detailText({ role: { before: "user", after: "admin" }, grants: { before: [], after: ["a"] } }, WORDS)).toBe(
      "ROLE: role=user → role=admin; GRANTS: none → grants=a",
    );
    expect(detailText({ before: 5, after: null }, WORDS)).toBe("value=5 → none");
  });

  it("name each of several counts", () => {
    expect(detailText({ transferred_to: null, owned: { skills: 2, images: 0 } }, WORDS)).toBe(
      "TRANSFERRED_TO: none; OWNED: SKILLS skills=2, IMAGES images=0",
    );
  });
});
