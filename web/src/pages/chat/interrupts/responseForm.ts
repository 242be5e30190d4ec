/** Simple forms for the JSON Schema of an answer. */
import { listOf, objectOf } from "../message/citations";

export interface FormField {
  name: string;
  label: string;
  hint: string;
  type: "text" | "number" | "integer" | "boolean" | "choice" | "json";
  choices: readonly string[];
  required: boolean;
}

export type FormValues = Readonly<Record<string, string | boolean>>;

/** The fields of an object schema; an empty list where a form can't show it. */
export function fieldsOf(schema: unknown): readonly FormField[] {
  const { properties, required } = objectOf(schema);
  const needed = new Set(listOf(required));
  return Object.entries(objectOf(properties)).map(([name, property]) => {
    const { type, title, description, enum: values } = objectOf(property);
    const choices = listOf(values).filter((value) => typeof value === "string");
    return {
      name,
      label: typeof title === "string" ? title : name,
      hint: typeof description === "string" ? description : "",
      type: choices.length > 0 ? "choice" : typeOf(type),
      choices,
      required: needed.has(name),
    };
  });
}

function typeOf(type: unknown): FormField["type"] {
  if (type === "string") return "text";
  if (type === "number" || type === "integer" || type === "boolean") return type;
  return "json";
}

/** The payload, or the names of the fields that can't be read. */
export function payloadOf(
  fields: readonly FormField[],
  values: FormValues,
): { payload: Record<string, unknown> } | { faults: readonly string[] } {
  const payload: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const { name, type, required } of fields) {
    const value = values[name];
    if (type === "boolean") payload[name] = value === true;
    else if (typeof value !== "string" || value === "") {
      if (required) faults.push(name);
    } else if (type === "text" || type === "choice") payload[name] = value;
    else {
      const parsed = parsedAs(type, value);
      if (parsed === undefined) faults.push(name);
      else payload[name] = parsed;
    }
  }
  return faults.length > 0 ? { faults } : { payload };
}

function parsedAs(type: FormField["type"], text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    const isNumber = typeof value === "number";
    if (type === "number") return isNumber ? value : undefined;
    if (type === "integer") return isNumber && Number.isInteger(value) ? value : undefined;
    return value;
  } catch {
    return undefined;
  }
}
