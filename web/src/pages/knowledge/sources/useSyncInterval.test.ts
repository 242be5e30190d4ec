import i18next from "i18next";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { initReactI18next } from "react-i18next";
import { beforeAll, describe, expect, it } from "vitest";
import knowledge from "@/i18n/en/knowledge.json";
import { unitsOf, useSyncInterval } from "./useSyncInterval";

beforeAll(() => i18next.use(initReactI18next).init({ lng: "en", resources: { en: { knowledge } } }));

function Interval({ minutes }: { minutes: number }) {
  return useSyncInterval()(minutes);
}

describe("intervals of syncs", () => {
  it.each([
    [5, [5, "minute"]],
    [60, [1, "hour"]],
    [90, [90, "minute"]],
    [360, [6, "hour"]],
    [1440, [1, "day"]],
    [2160, [36, "hour"]],
    [10_080, [1, "week"]],
  ])("says %i minutes exactly", (minutes, words) => {
    expect(unitsOf(minutes)).toEqual(words);
  });

  it.each([
    [0, "Only on request"],
    [90, "Every 90 minutes"],
    [1440, "Every day"],
  ])("calls %i minutes “%s”", (minutes, words) => {
    expect(renderToStaticMarkup(createElement(Interval, { minutes }))).toBe(words);
  });
});
