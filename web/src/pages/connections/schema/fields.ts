/** The fields of a form for the arguments of a tool, made from the JSON Schema that its server gives. */
import { plainText } from "@/components/plainText";

export type Json = Record<string, unknown>;

interface Words {
  label: string;
  description: string;
  isRequired: boolean;
  /** Whether null may stand for nothing where something must be given. */
  isNullable: boolean;
  /** What the form begins with; undefined where the schema says nothing. */
  initial: unknown;
}

export interface TextSchemaField extends Words {
  kind: "text";
  format: "text" | "date" | "date-time" | "email" | "uri";
  minLength: number | undefined;
  maxLength: number | undefined;
}

export interface NumberSchemaField extends Words {
  kind: "number";
  isInteger: boolean;
  minimum: number | undefined;
  maximum: number | undefined;
}

export interface ListSchemaField extends Words {
  kind: "list";
  item: SchemaField;
  minItems: number;
  maxItems: number;
}

export type SchemaField =
  | TextSchemaField
  | NumberSchemaField
  | ListSchemaField
  | (Words & { kind: "boolean" })
  | (Words & { kind: "choice"; choices: unknown[] })
  | (Words & { kind: "group"; entries: readonly (readonly [name: string, field: SchemaField])[] })
  /** One of several alternatives. */
  | (Words & { kind: "variant"; options: readonly SchemaField[] })
  /** What can be one value only. */
  | (Words & { kind: "fixed"; value: unknown })
  /** What has no inputs of its own. */
  | (Words & { kind: "json" });

/** Deeper parts, and more fields, are written as JSON: a schema is a stranger's, and may refer to itself. */
const DEEPEST = 6;
const MOST_FIELDS = 300;
const MOST_OPTIONS = 30;
const MOST_REFERENCES = 8;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const asText = (value: unknown) => (typeof value === "string" ? value : "");
const asNumber = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : undefined);
const asCount = (value: unknown) => (Number.isInteger(value) && Number(value) >= 0 ? Number(value) : undefined);

interface Reader {
  root: Json;
  left: number;
}

/** The group of a tool's arguments; null where they can't be shown as a form. */
export function argumentFields(schema: Json): Extract<SchemaField, { kind: "group" }> | null {
  const field = fieldOf("", schema, true, 0, { root: schema, left: MOST_FIELDS });
  return field.kind === "group" ? field : null;
}

function fieldOf(name: string, given: unknown, isRequired: boolean, depth: number, reader: Reader): SchemaField {
  reader.left -= 1;
  const { schema, isNullable } = withoutNull(resolved(isObject(given) ? given : {}, reader.root), reader.root);
  const words: Words = {
    label: plainText(asText(schema.title) || name),
    description: describe(schema),
    isRequired,
    isNullable,
    initial: schema.default,
  };
  if ("const" in schema) return { ...words, kind: "fixed", value: schema.const };
  if (Array.isArray(schema.enum)) return { ...words, kind: "choice", choices: schema.enum };
  if (depth > DEEPEST || reader.left <= 0) return { ...words, kind: "json" };
  const parts = alternatives(schema);
  if (parts) return variantOf(words, parts, depth, reader);
  return plainField(words, schema, depth, reader);
}

function plainField(words: Words, schema: Json, depth: number, reader: Reader): SchemaField {
  switch (typeof schema.type === "string" ? schema.type : isObject(schema.properties) ? "object" : undefined) {
    case "string":
      return { ...words, kind: "text", ...textBounds(schema) };
    case "integer":
    case "number":
      return { ...words, kind: "number", isInteger: schema.type === "integer", ...numberBounds(schema) };
    case "boolean":
      return { ...words, kind: "boolean" };
    case "array": {
      if (!isObject(schema.items)) return { ...words, kind: "json" };
      const item = fieldOf("", schema.items, true, depth + 1, reader);
      const most = asCount(schema.maxItems) ?? Number.POSITIVE_INFINITY;
      return { ...words, kind: "list", item, minItems: asCount(schema.minItems) ?? 0, maxItems: most };
    }
    case "object":
      return groupOf(words, schema, depth, reader);
    default:
      return { ...words, kind: "json" };
  }
}

function groupOf(words: Words, schema: Json, depth: number, reader: Reader): SchemaField {
  const { properties } = schema;
  // A map with names of the person's own is written as JSON; a tool without arguments needs no input.
  if (!isObject(properties)) return depth === 0 ? { ...words, kind: "group", entries: [] } : { ...words, kind: "json" };
  const required = Array.isArray(schema.required) ? schema.required : [];
  const entries = Object.entries(properties).map(
    ([name, property]) => [name, fieldOf(name, property, required.includes(name), depth + 1, reader)] as const,
  );
  return { ...words, kind: "group", entries };
}

function variantOf(words: Words, parts: unknown[], depth: number, reader: Reader): SchemaField {
  if (parts.length > MOST_OPTIONS) return { ...words, kind: "json" };
  const options = parts.map((part) => fieldOf("", part, true, depth + 1, reader));
  // Alternatives of single values are one choice.
  if (options.every((option) => option.kind === "fixed"))
    return { ...words, kind: "choice", choices: options.map((option) => option.value) };
  return { ...words, kind: "variant", options };
}

/** The alternatives of a schema, as schemas; null where there are none. */
function alternatives(schema: Json): unknown[] | null {
  const { oneOf, anyOf, type, ...rest } = schema;
  const parts = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : null;
  if (parts) return parts;
  return Array.isArray(type) && type.length > 1
    ? type.map((each) => ({ ...rest, title: undefined, type: each }))
    : null;
}

/** A schema that may be null is shown as what it is otherwise. */
function withoutNull(schema: Json, root: Json): { schema: Json; isNullable: boolean } {
  const { oneOf, anyOf, type } = schema;
  const parts = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : null;
  if (parts) {
    const others = parts.filter((part) => !(isObject(part) && part.type === "null"));
    const { oneOf: _, anyOf: __, ...rest } = schema;
    const [only] = others;
    if (others.length === 1 && isObject(only)) return nullable({ ...resolved(only, root), ...rest }, parts.length > 1);
    return nullable({ ...rest, oneOf: others }, others.length < parts.length);
  }
  if (Array.isArray(schema.enum) && schema.enum.includes(null))
    return nullable({ ...schema, enum: schema.enum.filter((value) => value !== null) }, true);
  if (!Array.isArray(type)) return nullable(schema, false);
  const types = type.filter((each) => each !== "null");
  return nullable({ ...schema, type: types.length === 1 ? types[0] : types }, types.length < type.length);
}

const nullable = (schema: Json, isNullable: boolean) => ({ schema, isNullable });

/** A schema with what it refers to in its own document, and with the parts that all hold. */
function resolved(schema: Json, root: Json): Json {
  let found = schema;
  for (let step = 0; step < MOST_REFERENCES && typeof found.$ref === "string"; step++) {
    const { $ref, ...rest } = found;
    found = { ...target(root, String($ref)), ...rest };
  }
  const { allOf, ...whole } = found;
  if (!Array.isArray(allOf)) return found;
  for (const part of allOf.filter(isObject)) include(whole, { ...target(root, asText(part.$ref)), ...part });
  return whole;
}

/** Add what another schema says, which holds, too. */
function include(whole: Json, part: Json): void {
  const { properties, required, ...rest } = part;
  for (const [name, value] of Object.entries(rest)) if (!(name in whole)) whole[name] = value;
  if (isObject(properties))
    whole.properties = { ...properties, ...(isObject(whole.properties) ? whole.properties : {}) };
  whole.required = [...asList(whole.required), ...asList(required)];
}

const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function target(root: Json, reference: string): Json {
  if (!reference.startsWith("#/")) return {};
  let place: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    place = isObject(place) && Object.hasOwn(place, name) ? place[name] : undefined;
  }
  return isObject(place) ? place : {};
}

const FORMATS = ["date", "date-time", "email", "uri"] as const;

function textBounds(schema: Json) {
  return {
    format: FORMATS.find((format) => format === schema.format) ?? ("text" as const),
    minLength: asCount(schema.minLength),
    maxLength: asCount(schema.maxLength),
  };
}

function numberBounds(schema: Json) {
  const step = schema.type === "integer" ? 1 : 0;
  const above = asNumber(schema.exclusiveMinimum);
  const below = asNumber(schema.exclusiveMaximum);
  return {
    minimum: asNumber(schema.minimum) ?? (above === undefined ? undefined : above + step),
    maximum: asNumber(schema.maximum) ?? (below === undefined ? undefined : below - step),
  };
}

/** The server's words, with the pattern, which is not run here: a stranger's can stop the page. */
function describe(schema: Json): string {
  return plainText([asText(schema.description), asText(schema.pattern)].filter(Boolean).join(" · "));
}
