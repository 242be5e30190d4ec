/** What is asked for a source of each kind; names are those of the connector's settings and credentials. */

export const CONNECTOR_NAMES = ["web", "git", "rss", "s3", "webdav", "imap", "folder"] as const;

export type ConnectorName = (typeof CONNECTOR_NAMES)[number];
export type SettingName =
  | "url"
  | "path"
  | "mode"
  | "max_pages"
  | "max_depth"
  | "whole_site"
  | "branch"
  | "folder"
  | "watch"
  | "max_items"
  | "linked_pages"
  | "bucket"
  | "endpoint"
  | "region"
  | "prefix"
  | "addressing"
  | "host"
  | "port"
  | "security"
  | "since"
  | "max_messages"
  | "attachments"
  | "include"
  | "exclude";
export type CredentialName = "username" | "password" | "access_key_id" | "secret_access_key" | "session_token";
export type Value = string | boolean;
export type Values = Readonly<Record<string, Value>>;

export interface Field {
  name: SettingName;
  kind: "text" | "url" | "number" | "switch" | "choice" | "patterns";
  /** Of a new source; empty text without. */
  initial?: Value;
  required?: boolean;
  choices?: readonly string[];
  min?: number;
  max?: number;
  isShown?: (values: Values) => boolean;
}

interface ConnectorForm {
  /** The first one is the place that an unnamed source is named after. */
  fields: readonly [Field, ...Field[]];
  credentials: readonly CredentialName[];
}

const PATTERNS: readonly Field[] = [
  { name: "include", kind: "patterns" },
  { name: "exclude", kind: "patterns" },
];

export const CONNECTOR_FORMS: Readonly<Record<ConnectorName, ConnectorForm>> = {
  web: {
    fields: [
      { name: "url", kind: "url", required: true },
      { name: "mode", kind: "choice", choices: ["site", "sitemap", "page"], initial: "site" },
      {
        name: "max_pages",
        kind: "number",
        initial: "500",
        min: 1,
        max: 10_000,
        isShown: ({ mode }) => mode !== "page",
      },
      { name: "max_depth", kind: "number", initial: "5", min: 0, max: 20, isShown: ({ mode }) => mode === "site" },
      { name: "whole_site", kind: "switch", initial: false, isShown: ({ mode }) => mode === "site" },
      ...PATTERNS,
    ],
    credentials: [],
  },
  git: {
    fields: [
      { name: "url", kind: "url", required: true },
      { name: "branch", kind: "text" },
      { name: "folder", kind: "text" },
      ...PATTERNS,
    ],
    credentials: ["username", "password"],
  },
  rss: {
    fields: [
      { name: "url", kind: "url", required: true },
      { name: "linked_pages", kind: "switch", initial: true },
      { name: "max_items", kind: "number", initial: "100", min: 1, max: 1000 },
    ],
    credentials: [],
  },
  s3: {
    fields: [
      { name: "bucket", kind: "text", required: true },
      { name: "endpoint", kind: "url" },
      { name: "region", kind: "text", initial: "us-east-1", required: true },
      { name: "prefix", kind: "text" },
      { name: "addressing", kind: "choice", choices: ["auto", "path", "virtual"], initial: "auto" },
      ...PATTERNS,
    ],
    credentials: ["access_key_id", "secret_access_key", "session_token"],
  },
  webdav: {
    fields: [{ name: "url", kind: "url", required: true }, ...PATTERNS],
    credentials: ["username", "password"],
  },
  imap: {
    fields: [
      { name: "host", kind: "text", required: true },
      { name: "security", kind: "choice", choices: ["tls", "starttls", "plain"], initial: "tls" },
      { name: "port", kind: "number", initial: "993", min: 0, max: 65_535 },
      { name: "max_messages", kind: "number", initial: "1000", min: 1, max: 20_000 },
      { name: "since", kind: "text" },
      { name: "attachments", kind: "switch", initial: false },
      { name: "include", kind: "patterns", initial: "INBOX" },
      { name: "exclude", kind: "patterns" },
    ],
    credentials: ["username", "password"],
  },
  folder: {
    fields: [
      { name: "path", kind: "text", required: true },
      { name: "watch", kind: "switch", initial: true },
      ...PATTERNS,
    ],
    credentials: [],
  },
};

/** Those that are names: they may be seen while they are typed. */
export const OPEN_CREDENTIALS: readonly CredentialName[] = ["username", "access_key_id"];
