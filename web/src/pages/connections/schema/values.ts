/** What is typed into the form of a tool, and the arguments that it means. */
import type { Json, SchemaField } from "./fields";

/** Texts of inputs in the shape of the fields; a variant keeps its `choice` and one draft for each of its options. */
export type ArgumentDraft = string | ArgumentDraft[] | { [name: string]: ArgumentDraft };

/** The draft of an optional group, list or variant that is left out. */
export const LEFT_OUT = "";

const isGroup = (draft: ArgumentDraft | undefined): draft is { [name: string]: ArgumentDraft } =>
  typeof draft === "object" && !Array.isArray(draft);

export function groupDraft(draft: ArgumentDraft | undefined): { [name: string]: ArgumentDraft } {
  return isGroup(draft) ? draft : {};
}

export function partOf(draft: ArgumentDraft | undefined, name: string): ArgumentDraft | undefined {
  return isGroup(draft) && Object.hasOwn(draft, name) ? draft[name] : undefined;
}

/** What a field begins with: a value of the schema, or nothing. */
export function initialDraft(field: SchemaField): ArgumentDraft {
  if (field.initial !== undefined && field.initial !== null) return draftOf(field, field.initial);
  switch (field.kind) {
    case "group":
      return field.isRequired ? {} : LEFT_OUT;
    case "list":
      return Array.from({ length: field.isRequired ? Math.min(field.minItems, 20) : 0 }, () =>
        initialDraft(field.item),
      );
    case "variant":
      return field.isRequired && !field.isNullable ? { choice: "0" } : LEFT_OUT;
    default:
      return "";
  }
}

function draftOf(field: SchemaField, value: unknown): ArgumentDraft {
  switch (field.kind) {
    case "choice": {
      const index = field.choices.findIndex((choice) => JSON.stringify(choice) === JSON.stringify(value));
      return index < 0 ? "" : String(index);
    }
    case "text":
      return typeof value !== "string" ? "" : field.format === "date-time" ? localTime(value) : value;
    case "number":
    case "boolean":
      return String(value);
    case "group": {
      const given = (typeof value === "object" && value !== null ? value : {}) as Json;
      const known = field.entries.filter(([name]) => Object.hasOwn(given, name));
      return Object.fromEntries(known.map(([name, part]) => [name, draftOf(part, given[name])]));
    }
    case "list":
      return Array.isArray(value) ? value.map((each) => draftOf(field.item, each)) : [];
    case "json":
      return JSON.stringify(value, null, 2);
    default:
      return initialDraft({ ...field, initial: undefined });
  }
}

/** A time with its offset, as an input of the browser takes it: without, in the person's own zone. */
function localTime(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const ABSENT = Symbol("absent");

/** The arguments that a draft means; the paths of the fields that can't be read otherwise. */
export function argumentsOf(field: SchemaField, draft: ArgumentDraft): { value: Json } | { unreadable: string[] } {
  const unreadable: string[] = [];
  const value = read(field, draft, "", unreadable);
  return unreadable.length > 0 ? { unreadable } : { value: value as Json };
}

function read(field: SchemaField, given: ArgumentDraft | undefined, path: string, unreadable: string[]): unknown {
  const draft = given ?? initialDraft(field);
  if (field.kind === "fixed") return field.value;
  if (draft === "") return nothing(field, path, unreadable);
  switch (field.kind) {
    case "group":
      return readGroup(field.entries, draft, path, unreadable);
    case "list": {
      if (!Array.isArray(draft) || (draft.length === 0 && !field.isRequired)) return ABSENT;
      return draft.map((each, index) => read(field.item, each, `${path}/${index}`, unreadable));
    }
    case "variant": {
      const choice = String(partOf(draft, "choice") ?? "");
      const option = field.options[Number(choice)];
      return option ? read(option, partOf(draft, choice), `${path}/${choice}`, unreadable) : ABSENT;
    }
    default: {
      const value = leafValue(field, String(draft));
      if (value === undefined) unreadable.push(path);
      return value;
    }
  }
}

function readGroup(
  entries: readonly (readonly [string, SchemaField])[],
  draft: ArgumentDraft,
  path: string,
  unreadable: string[],
): Json {
  const values = entries.map(([name, part]) => [name, read(part, partOf(draft, name), `${path}/${name}`, unreadable)]);
  return Object.fromEntries(values.filter(([, value]) => value !== ABSENT)) as Json;
}

/** What is left empty: left out, null, or an empty text; anything else must be given. */
function nothing(field: SchemaField, path: string, unreadable: string[]): unknown {
  if (!field.isRequired) return ABSENT;
  if (field.isNullable) return null;
  if (field.kind === "text" && field.format === "text") return "";
  unreadable.push(path);
  return ABSENT;
}

function leafValue(field: SchemaField, text: string): unknown {
  switch (field.kind) {
    case "text": {
      if (field.format !== "date-time") return text;
      const time = new Date(text);
      return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
    }
    case "number": {
      const value = Number(text);
      return Number.isFinite(value) && (!field.isInteger || Number.isSafeInteger(value)) ? value : undefined;
    }
    case "boolean":
      return text === "true";
    case "choice":
      return field.choices[Number(text)];
    default:
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return undefined;
      }
  }
}
