/** What is asked for a source of each kind; names are those of the connector's settings and credentials. */

export const CONNECTOR_NAMES = [
  "web",
  "git",
  "rss",
  "s3",
  "webdav",
  "imap",
  "sql",
  "github_issues",
  "confluence",
  "feishu",
  "notion",
  "folder",
  "sqlite",
  "llama_index",
] as const;

export type ConnectorName = (typeof CONNECTOR_NAMES)[number];
export type SettingName =
  | "url"
  | "path"
  | "mode"
  | "max_pages"
  | "max_depth"
  | "whole_site"
  | "branch"
  | "known_hosts"
  | "folder"
  | "watch"
  | "max_items"
  | "linked_pages"
  | "bucket"
  | "endpoint"
  | "region"
  | "prefix"
  | "addressing"
  | "state"
  | "labels"
  | "pull_requests"
  | "comments"
  | "edition"
  | "spaces"
  | "cql"
  | "attachments"
  | "space_id"
  | "node_token"
  | "folder_token"
  | "databases"
  | "pages"
  | "tls"
  | "ca_certificate"
  | "query"
  | "key_columns"
  | "title_column"
  | "content_columns"
  | "template"
  | "attribute_columns"
  | "fingerprint_column"
  | "format"
  | "timeout_seconds"
  | "reader"
  | "arguments"
  | "load_arguments"
  | "read"
  | "id_key"
  | "permissions"
  | "space_permissions"
  | "groups"
  | "people"
  | "host"
  | "port"
  | "security"
  | "since"
  | "max_messages"
  | "sign_in"
  | "tenant"
  | "token_url"
  | "scope"
  | "include"
  | "exclude";
export type CredentialName =
  | "username"
  | "password"
  | "access_key_id"
  | "secret_access_key"
  | "session_token"
  | "private_key"
  | "token"
  | "email"
  | "app_id"
  | "app_secret"
  | "client_id"
  | "client_secret"
  | "refresh_token"
  | "secret_arguments";
export type Value = string | boolean;
export type Values = Readonly<Record<string, Value>>;

export interface Field {
  name: SettingName;
  /** ``patterns`` are a list, one a line; ``lines`` one text of several lines, ``json`` an object. */
  kind: "text" | "url" | "number" | "switch" | "choice" | "patterns" | "lines" | "json";
  /** Of a new source; empty text without. */
  initial?: Value;
  required?: boolean;
  choices?: readonly string[];
  /** What a choice brings for another field, where nothing of one's own stands there. */
  presets?: { readonly field: SettingName; readonly values: Readonly<Record<string, string>> };
  min?: number;
  max?: number;
  /** Where it stands: with the address before the credentials, or apart below all others. */
  part?: "place" | "permissions";
  isShown?: (values: Values) => boolean;
}

interface ConnectorForm {
  /** The first one is the place that an unnamed source is named after. */
  fields: readonly [Field, ...Field[]];
  credentials: readonly CredentialName[] | ((values: Values) => readonly CredentialName[]);
}

/** As git takes addresses: ssh://git@host/path, or git@host:path. */
function isOverSsh(url: Value | undefined): boolean {
  return typeof url === "string" && /^\s*((git\+)?ssh:\/\/|[^\s/:@]+@[^\s/:@]+:)/.test(url);
}

const PATTERNS: readonly Field[] = [
  { name: "include", kind: "patterns" },
  { name: "exclude", kind: "patterns" },
];

const keepsPermissions = ({ permissions }: Values) => permissions === "keep";
const KEEP = { kind: "choice", choices: ["keep", "ignore"], initial: "keep", part: "permissions" } as const;
const PERMISSIONS: readonly Field[] = [
  { name: "permissions", ...KEEP },
  { name: "groups", kind: "json", part: "permissions", isShown: keepsPermissions },
  { name: "people", kind: "json", part: "permissions", isShown: keepsPermissions },
];

const QUERY: readonly Field[] = [
  { name: "query", kind: "lines", required: true },
  { name: "key_columns", kind: "patterns", required: true },
  { name: "title_column", kind: "text" },
  { name: "fingerprint_column", kind: "text" },
  { name: "format", kind: "choice", choices: ["markdown", "text", "html"], initial: "markdown" },
  { name: "template", kind: "lines" },
  { name: "timeout_seconds", kind: "number", initial: "300", min: 1, max: 3600 },
  { name: "content_columns", kind: "patterns" },
  { name: "attribute_columns", kind: "patterns" },
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
      { name: "url", kind: "text", required: true },
      { name: "branch", kind: "text" },
      { name: "folder", kind: "text" },
      { name: "known_hosts", kind: "lines", isShown: ({ url }) => isOverSsh(url) },
      ...PATTERNS,
    ],
    credentials: ["username", "password", "private_key"],
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
      { name: "endpoint", kind: "url", part: "place" },
      { name: "region", kind: "text", initial: "us-east-1", required: true, part: "place" },
      { name: "addressing", kind: "choice", choices: ["auto", "path", "virtual"], initial: "auto", part: "place" },
      { name: "prefix", kind: "text" },
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
      {
        name: "sign_in",
        kind: "choice",
        choices: ["password", "microsoft", "google", "oauth"],
        initial: "password",
        part: "place",
        presets: { field: "host", values: { microsoft: "outlook.office365.com", google: "imap.gmail.com" } },
      },
      {
        name: "tenant",
        kind: "text",
        required: true,
        part: "place",
        isShown: ({ sign_in }) => sign_in === "microsoft",
      },
      { name: "token_url", kind: "url", required: true, part: "place", isShown: ({ sign_in }) => sign_in === "oauth" },
      { name: "scope", kind: "text", part: "place", isShown: ({ sign_in }) => sign_in === "oauth" },
      { name: "security", kind: "choice", choices: ["tls", "starttls", "plain"], initial: "tls", part: "place" },
      { name: "port", kind: "number", initial: "993", min: 0, max: 65_535, part: "place" },
      { name: "max_messages", kind: "number", initial: "1000", min: 1, max: 20_000 },
      { name: "since", kind: "text" },
      { name: "attachments", kind: "switch", initial: false },
      { name: "include", kind: "patterns", initial: "INBOX" },
      { name: "exclude", kind: "patterns" },
    ],
    credentials: ({ sign_in }) =>
      sign_in === "password" ? ["username", "password"] : ["username", "client_id", "client_secret", "refresh_token"],
  },
  github_issues: {
    fields: [
      { name: "url", kind: "url", required: true },
      { name: "state", kind: "choice", choices: ["all", "open", "closed"], initial: "all" },
      { name: "comments", kind: "switch", initial: true },
      { name: "pull_requests", kind: "switch", initial: false },
      { name: "labels", kind: "patterns" },
    ],
    credentials: ["token"],
  },
  confluence: {
    fields: [
      { name: "url", kind: "url", required: true },
      { name: "edition", kind: "choice", choices: ["auto", "cloud", "data_center"], initial: "auto", part: "place" },
      { name: "cql", kind: "text" },
      { name: "attachments", kind: "switch", initial: false },
      { name: "spaces", kind: "patterns" },
      { name: "labels", kind: "patterns" },
      ...PERMISSIONS,
      { name: "space_permissions", ...KEEP, isShown: keepsPermissions },
    ],
    credentials: ["email", "token"],
  },
  feishu: {
    fields: [
      { name: "url", kind: "url", required: true, initial: "https://open.feishu.cn" },
      { name: "space_id", kind: "text" },
      { name: "node_token", kind: "text" },
      { name: "folder_token", kind: "text" },
      ...PERMISSIONS,
    ],
    credentials: ["app_id", "app_secret"],
  },
  notion: {
    fields: [
      { name: "url", kind: "url", required: true, initial: "https://api.notion.com" },
      { name: "databases", kind: "patterns" },
      { name: "pages", kind: "patterns" },
    ],
    credentials: ["token"],
  },
  folder: {
    fields: [
      { name: "path", kind: "text", required: true },
      { name: "watch", kind: "switch", initial: true },
      ...PATTERNS,
    ],
    credentials: [],
  },
  sql: {
    fields: [
      { name: "url", kind: "url", required: true },
      { name: "tls", kind: "choice", choices: ["verify", "encrypt", "off"], initial: "verify", part: "place" },
      { name: "ca_certificate", kind: "lines", part: "place", isShown: ({ tls }) => tls === "verify" },
      ...QUERY,
    ],
    credentials: ["username", "password"],
  },
  sqlite: { fields: [{ name: "path", kind: "text", required: true }, ...QUERY], credentials: [] },
  llama_index: {
    fields: [
      { name: "reader", kind: "text", required: true },
      { name: "arguments", kind: "json", part: "place" },
      { name: "load_arguments", kind: "json" },
      { name: "read", kind: "choice", choices: ["auto", "resources", "load_data"], initial: "auto" },
      { name: "id_key", kind: "text" },
      { name: "format", kind: "choice", choices: ["markdown", "text"], initial: "markdown" },
      { name: "timeout_seconds", kind: "number", initial: "600", min: 1, max: 3600 },
      ...PERMISSIONS,
    ],
    credentials: ["secret_arguments"],
  },
};

/** Those that are names: they may be seen while they are typed. */
export const OPEN_CREDENTIALS: readonly CredentialName[] = [
  "username",
  "access_key_id",
  "email",
  "app_id",
  "client_id",
];
