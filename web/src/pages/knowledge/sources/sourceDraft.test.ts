import { expect, test } from "vitest";
import { bodyOf, draftOf } from "./sourceDraft";
import type { KnowledgeSource } from "./sourceQueries";

test("an address becomes a web source that is named after it", () => {
  const body = bodyOf({ ...draftOf(undefined), place: " https://example.org/docs/ ", include: "*/a/*\n\n*.pdf " });
  expect(body.name).toBe("example.org/docs");
  expect(body.connector).toBe("web");
  expect(body.settings).toMatchObject({ url: "https://example.org/docs/", mode: "site", include: ["*/a/*", "*.pdf"] });
  expect(body.sync_every_minutes).toBe(1440);
});

test("a folder has no settings of a web site", () => {
  const body = bodyOf({ ...draftOf(undefined), connector: "folder", place: "/srv/manuals", every: "0" });
  expect(body).toEqual({
    name: "manuals",
    connector: "folder",
    settings: { path: "/srv/manuals", include: [], exclude: [] },
    sync_every_minutes: null,
  });
});

test("what is not changed stays", () => {
  const settings = { url: "https://example.org/", mode: "page", max_pages: 7, exclude: ["*.zip"] };
  const source = { name: "Docs", connector: "web", settings, sync_every_minutes: 60 } as unknown as KnowledgeSource;
  const body = bodyOf(draftOf(source));
  expect(body.name).toBe("Docs");
  expect(body.sync_every_minutes).toBe(60);
  expect(body.settings).toMatchObject({ ...settings, max_pages: 7 });
});
