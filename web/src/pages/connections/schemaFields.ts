/** The fields of a form for the arguments of a tool, made from the JSON Schema that its server gives. */

type Json = Record<string, unknown>;

export interface SchemaField {
  name: string;
  /** `json` is what has no plain input, such as a list or an object. */
  kind: "text" | "number" | "integer" | "boolean" | "choice" | "json";
  label: string;
  description: string;
  isRequired: boolean;
  choices: unknown[];
  /** The text that the form begins with. */
  initial: string;
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const asText = (value: unknown) => (typeof value === "string" ? value : "");

/** The one type of a schema that is not null. */
function typeOf(schema: Json): string | undefined {
  const types = Array.isArray(schema.type) ? schema.type.filter((type) => type !== "null") : [schema.type];
  return types.length === 1 && typeof types[0] === "string" ? types[0] : undefined;
}

/** A property that may be null is shown as what it is otherwise. */
function withoutNull(schema: Json): Json {
  const parts = schema.anyOf ?? schema.oneOf;
  if (!Array.isArray(parts)) return schema;
  const others = parts.filter((part) => isObject(part) && part.type !== "null");
  return others.length === 1 && isObject(others[0]) ? { ...schema, ...others[0] } : schema;
}

function kindOf(schema: Json): SchemaField["kind"] {
  if (Array.isArray(schema.enum)) return "choice";
  const type = typeOf(schema);
  if (type === "string") return "text";
  return type === "number" || type === "integer" || type === "boolean" ? type : "json";
}

/** The fields; null where the schema can't be shown as a form. */
export function fieldsOf(schema: Json): SchemaField[] | null {
  if (["anyOf", "oneOf", "allOf", "$ref"].some((key) => key in schema)) return null;
  const properties = schema.properties ?? {};
  if (!isObject(properties)) return null;
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).map(([name, value]) => {
    const property = withoutNull(isObject(value) ? value : {});
    const kind = kindOf(property);
    const initial = property.default;
    return {
      name,
      kind,
      label: asText(property.title) || name,
      description: asText(property.description),
      isRequired: required.includes(name),
      choices: kind === "choice" ? (property.enum as unknown[]) : [],
      initial:
        initial === undefined || initial === null
          ? ""
          : kind === "text"
            ? asText(initial)
            : kind === "json"
              ? JSON.stringify(initial, null, 2)
              : kind === "choice"
                ? String((property.enum as unknown[]).indexOf(initial))
                : String(initial),
    };
  });
}

/** The arguments that the texts of a form mean; the name of the field that can't be read otherwise. */
export function argumentsOf(
  fields: readonly SchemaField[],
  texts: Readonly<Record<string, string>>,
): { value: Json } | { unreadable: string } {
  const entries: [string, unknown][] = [];
  for (const field of fields) {
    const text = texts[field.name] ?? field.initial;
    // A text that must be there may be an empty one; all else that is empty is left out.
    if (text === "" && !(field.isRequired && field.kind === "text")) continue;
    const value = meaningOf(field, text);
    if (value === undefined) return { unreadable: field.name };
    entries.push([field.name, value]);
  }
  return { value: Object.fromEntries(entries) };
}

function meaningOf({ kind, choices }: SchemaField, text: string): unknown {
  if (kind === "text") return text;
  if (kind === "boolean") return text === "true";
  if (kind === "choice") return choices[Number(text)];
  if (kind !== "json") return Number.isFinite(Number(text)) ? Number(text) : undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
