import { expect, test } from "vitest";
import { documentationOf } from "./progress";

const progress = { counts: {}, percent: 0, eta_seconds: null, paused: false };

test("documentation is ready when nothing of it is in work and some was read", () => {
  expect(documentationOf({ ...progress, counts: { completed: 3, failed: 1 } })).toEqual({ state: "ready" });
});

test("documentation in work has its progress", () => {
  const counts = { completed: 1, processing: 2, pending: 1 };
  const reading = { state: "reading", percent: 25, secondsLeft: 12 };
  expect(documentationOf({ ...progress, counts, percent: 25, eta_seconds: 12 })).toEqual(reading);
});

test("nobody waits for documentation that is paused, failed or empty", () => {
  expect(documentationOf({ ...progress, counts: { pending: 4 }, paused: true })).toEqual({ state: "absent" });
  expect(documentationOf({ ...progress, counts: { failed: 4 } })).toEqual({ state: "absent" });
  expect(documentationOf(progress)).toEqual({ state: "absent" });
});
