/** Simple forms for the JSON Schema of an answer. */
import { listOf, objectOf } from "../message/citations";

export interface FormField {
  name: string;
  label: string;
  hint: string;
  type: "text" | "number" | "integer" | "boolean" | "choice" | "several" | "json";
  choices: readonly string[];
  /** What the choices are called; empty where they are called what they are. */
  labels: readonly string[];
  initial: string | boolean | undefined;
  required: boolean;
}

export type FormValues = Readonly<Record<string, string | boolean>>;

/** The fields of an object schema; an empty list where a form can't show it. */
export function fieldsOf(schema: unknown): readonly FormField[] {
  const { properties, required } = objectOf(schema);
  const needed = new Set(listOf(required));
  return Object.entries(objectOf(properties)).map(([name, property]) => {
    const { type, title, description, default: given } = objectOf(property);
    const { enum: values, enumNames: names } = objectOf(type === "array" ? objectOf(property).items : property);
    const choices = listOf(values).filter((value) => typeof value === "string");
    return {
      name,
      label: typeof title === "string" ? title : name,
      hint: typeof description === "string" ? description : "",
      type: choices.length === 0 ? typeOf(type) : type === "array" ? "several" : "choice",
      choices,
      labels: listOf(names).filter((label) => typeof label === "string"),
      initial: initialOf(given),
      required: needed.has(name),
    };
  });
}

function initialOf(value: unknown): string | boolean | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" || typeof value === "boolean" ? value : undefined;
}

/** The values that a form begins with. */
export function initialValues(fields: readonly FormField[]): FormValues {
  return Object.fromEntries(fields.flatMap(({ name, initial }) => (initial === undefined ? [] : [[name, initial]])));
}

/** What is chosen of several. */
export function chosenOf(value: string | boolean | undefined): readonly string[] {
  return typeof value === "string" && value ? JSON.parse(value) : [];
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
    else if (type === "several") {
      const chosen = chosenOf(value);
      if (chosen.length > 0 || !required) payload[name] = chosen;
      else faults.push(name);
    } else if (typeof value !== "string" || value === "") {
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
