import { expect, test } from "vitest";
import { CONNECTOR_FORMS } from "./connectorForms";
import { bodyOf, chosen, credentialNames, draftOf, isComplete, type SourceDraft, valuesOf } from "./sourceDraft";
import type { KnowledgeSource } from "./sourceQueries";

const empty = draftOf(undefined);

function typed(part: Partial<SourceDraft>): SourceDraft {
  return { ...empty, ...part, values: { ...empty.values, ...part.values } };
}

test("an address becomes a web source that is named after it", () => {
  const values = { url: " https://example.org/docs/ ", include: "*/a/*\n\n*.pdf " };
  const body = bodyOf(typed({ values }));
  expect(body.name).toBe("example.org/docs");
  expect(body.connector).toBe("web");
  expect(body.settings).toMatchObject({
    url: "https://example.org/docs/",
    mode: "site",
    max_pages: 500,
    include: ["*/a/*", "*.pdf"],
  });
  expect(body.sync_every_minutes).toBe(1440);
  expect(body).not.toHaveProperty("credentials");
});

test("a folder has no settings of a web site", () => {
  const values = { ...valuesOf("folder", {}), path: "/srv/manuals" };
  expect(bodyOf({ ...empty, connector: "folder", values, every: "0" })).toEqual({
    name: "manuals",
    connector: "folder",
    settings: { path: "/srv/manuals", watch: true, include: [], exclude: [] },
    sync_every_minutes: null,
  });
});

test("a place is needed", () => {
  expect(isComplete(typed({ values: { url: "  " } }))).toBe(false);
  expect(isComplete(typed({ values: { url: "https://example.org/" } }))).toBe(true);
});

const settings = { url: "https://example.org/a.git", branch: "next", exclude: ["*.zip"], later: 3 };
const source = {
  name: "Docs",
  connector: "git",
  settings,
  credentials_set: ["password"],
  sync_every_minutes: 60,
} as unknown as KnowledgeSource;

test("what is not changed stays, also settings and credentials that the form does not show", () => {
  const body = bodyOf(draftOf(source), source);
  expect(body).toMatchObject({ name: "Docs", sync_every_minutes: 60, settings: { ...settings, folder: "" } });
  expect(body).not.toHaveProperty("credentials");
});

test("credentials are sent where they were typed, and cleared where that was asked for", () => {
  const draft = draftOf(source);
  expect(bodyOf({ ...draft, credentials: { username: "", password: "t" } }, source).credentials).toEqual({
    password: "t",
  });
  expect(bodyOf({ ...draft, clearsCredentials: true }, source).credentials).toBeNull();
});

test("a repository is named without its ending", () => {
  const values = { ...valuesOf("git", {}), url: "https://example.org/team/manuals.git" };
  expect(bodyOf({ ...empty, connector: "git", values }).name).toBe("example.org/team/manuals");
  const named = (url: string) => bodyOf({ ...empty, connector: "git", values: { ...values, url } }).name;
  expect(named("ssh://git@example.org/team/manuals.git")).toBe("git@example.org/team/manuals");
  expect(named("git@example.org:team/manuals.git")).toBe("manuals");
});

test("host keys are asked for where the address is one over SSH", () => {
  const { isShown } = CONNECTOR_FORMS.git.fields.find(({ name }) => name === "known_hosts") ?? {};
  const shown = ["https://example.org/a.git", "", "ssh://git@example.org/a.git", "git@example.org:a.git"].map((url) =>
    isShown?.({ url }),
  );
  expect(shown).toEqual([false, false, true, true]);
});

test("arguments of a reader are JSON, and what is none is left to the server", () => {
  const reader = "llama_index.readers.json.JSONReader";
  const stored = valuesOf("llama_index", { arguments: { levels_back: 1 } });
  const values = { ...stored, reader, load_arguments: "{" };
  expect(stored.arguments).toBe('{\n  "levels_back": 1\n}');
  const body = bodyOf({ ...empty, connector: "llama_index", values });
  expect(body.name).toBe(reader);
  expect(body.settings).toMatchObject({ reader, arguments: { levels_back: 1 }, load_arguments: "{", id_key: "" });
});

test("a query has lists of columns, and a database is named without its scheme", () => {
  const values = { ...valuesOf("sql", {}), url: "postgresql://db.example.org:5432/shop", key_columns: "id\nlang\n" };
  expect(isComplete({ ...empty, connector: "sql", values })).toBe(false);
  const body = bodyOf({ ...empty, connector: "sql", values: { ...values, query: "SELECT 1 AS id" } });
  expect(body.name).toBe("db.example.org:5432/shop");
  expect(body.settings).toMatchObject({ key_columns: ["id", "lang"], content_columns: [], timeout_seconds: 300 });
});

test("a mailbox at a provider brings its server, and asks for what the sign-in needs", () => {
  const signIn = CONNECTOR_FORMS.imap.fields.find(({ name }) => name === "sign_in");
  if (!signIn) throw new Error("no such field");
  const first = valuesOf("imap", {});
  expect(credentialNames({ connector: "imap", values: first })).toEqual(["username", "password"]);
  const microsoft = { ...first, ...chosen(signIn, "microsoft", first) };
  expect(microsoft.host).toBe("outlook.office365.com");
  expect(isComplete({ ...empty, connector: "imap", values: microsoft })).toBe(false);
  const tenant = { ...microsoft, tenant: "example.org" };
  expect(isComplete({ ...empty, connector: "imap", values: tenant })).toBe(true);
  expect(chosen(signIn, "google", tenant).host).toBe("imap.gmail.com");
  expect(chosen(signIn, "password", tenant).host).toBe("");
  expect(chosen(signIn, "google", { ...first, host: "mail.example.org" })).toEqual({ sign_in: "google" });
  // What was typed for another way to sign in is not sent.
  const credentials = { username: "a@example.org", password: "p", client_id: "c", client_secret: "s" };
  expect(bodyOf({ ...empty, connector: "imap", values: tenant, credentials }).credentials).toEqual({
    username: "a@example.org",
    client_id: "c",
    client_secret: "s",
  });
});
