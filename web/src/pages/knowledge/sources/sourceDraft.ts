/** What is typed of a source, and the request that it becomes. */
import {
  CONNECTOR_FORMS,
  CONNECTOR_NAMES,
  type ConnectorName,
  type CredentialName,
  type Field,
  type Values,
} from "./connectorForms";
import type { KnowledgeSource, SourceBody } from "./sourceQueries";

const INTERVALS = [0, 5, 15, 60, 360, 1440, 10_080];
const DAILY = 1440;
type Setting = SourceBody["settings"][string];

export interface SourceDraft {
  name: string;
  connector: ConnectorName;
  values: Values;
  /** Empty ones are not sent: what is stored never comes back. */
  credentials: Readonly<Partial<Record<CredentialName, string>>>;
  clearsCredentials: boolean;
  every: string;
}

export function draftOf(source: KnowledgeSource | undefined): SourceDraft {
  const connector = CONNECTOR_NAMES.find((name) => name === source?.connector) ?? "web";
  return {
    name: source?.name ?? "",
    connector,
    values: valuesOf(connector, source?.settings ?? {}),
    credentials: {},
    clearsCredentials: false,
    every: String(source ? (source.sync_every_minutes ?? 0) : DAILY),
  };
}

/** The values of a form: those of a source, or those that a new one begins with. */
export function valuesOf(connector: ConnectorName, settings: KnowledgeSource["settings"]): Values {
  return Object.fromEntries(
    CONNECTOR_FORMS[connector].fields.map((field) => [field.name, shownValue(field, settings[field.name])]),
  );
}

function shownValue({ kind, initial }: Field, setting: Setting | undefined): string | boolean {
  if (kind === "switch") return setting === undefined ? initial === true : setting === true;
  if (Array.isArray(setting)) return setting.join("\n");
  if (kind === "json") return jsonText(setting);
  return String(setting ?? initial ?? "");
}

/** The request; settings that the form does not show stay as they are. */
export function bodyOf(draft: SourceDraft, source?: KnowledgeSource): SourceBody {
  const { fields } = CONNECTOR_FORMS[draft.connector];
  const settings = { ...source?.settings };
  for (const field of fields) settings[field.name] = settingOf(field, draft.values[field.name]);
  const names: readonly string[] = credentialNames(draft);
  const credentials = Object.entries(draft.credentials).filter(([name, value]) => value && names.includes(name));
  return {
    name: draft.name.trim() || nameOf(placeOf(draft)),
    connector: draft.connector,
    settings,
    ...(credentials.length > 0 && { credentials: Object.fromEntries(credentials) }),
    ...(credentials.length === 0 && draft.clearsCredentials && { credentials: null }),
    sync_every_minutes: Number(draft.every) || null,
  };
}

function settingOf({ kind }: Field, value: string | boolean | undefined): Setting {
  if (kind === "switch") return value === true;
  const text = String(value ?? "").trim();
  if (kind === "number") return Number(text);
  if (kind === "json") return jsonOf(text);
  return kind === "patterns" ? patternsOf(text) : text;
}

/** Whether something is missing without which the server would refuse it. */
export function isComplete({ connector, values }: SourceDraft): boolean {
  return CONNECTOR_FORMS[connector].fields.every(
    ({ name, required, isShown }) => !required || (isShown && !isShown(values)) || String(values[name]).trim(),
  );
}

/** Which credentials the source takes with its settings as they are. */
export function credentialNames({ connector, values }: Pick<SourceDraft, "connector" | "values">) {
  const { credentials } = CONNECTOR_FORMS[connector];
  return typeof credentials === "function" ? credentials(values) : credentials;
}

/** What changes with a choice: also a field that is empty, or has what another choice brought. */
export function chosen({ name, presets }: Field, choice: string, values: Values): Values {
  if (!presets) return { [name]: choice };
  const present = String(values[presets.field] ?? "").trim();
  const isOwn = present !== "" && !Object.values(presets.values).includes(present);
  return isOwn ? { [name]: choice } : { [name]: choice, [presets.field]: presets.values[choice] ?? "" };
}

function placeOf({ connector, values }: SourceDraft): string {
  return String(values[CONNECTOR_FORMS[connector].fields[0].name] ?? "").trim();
}

/** The place without what all have: `example.org/docs`, or the folder's own name. */
function nameOf(place: string): string {
  const scheme = /^(https?|postgres(ql)?|mysql|mariadb|ssh):\/\//;
  const address = place.replace(scheme, "").replace(/(\.git)?\/*$/, "");
  const isAddress = scheme.test(place);
  return (isAddress ? address : address.split("/").at(-1))?.slice(0, 200) || place.slice(0, 200);
}

/** Minutes to choose from, that of the source among them; 0 stands for no schedule. */
export function intervals(source: KnowledgeSource | undefined): number[] {
  const choices = new Set([...INTERVALS, source?.sync_every_minutes ?? 0]);
  return [...choices].toSorted((first, second) => first - second);
}

function jsonText(setting: Setting | undefined): string {
  const isEmpty = !setting || Object.keys(setting).length === 0;
  return isEmpty ? "" : JSON.stringify(setting, null, 2);
}

/** What is no JSON goes to the server as it is, which says so. */
function jsonOf(text: string): Setting {
  try {
    return text ? JSON.parse(text) : {};
  } catch {
    return text;
  }
}

function patternsOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}
