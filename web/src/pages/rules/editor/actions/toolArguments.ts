/** The arguments of a tool, to be filled in. */

/** An example for each argument that the tool needs, else for each that it takes. */
export function skeletonOf(schema: unknown, template: string): Record<string, unknown> {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, { type?: unknown; default?: unknown }>;
    required?: string[];
  };
  const names = required.length > 0 ? required : Object.keys(properties);
  return Object.fromEntries(names.map((name) => [name, exampleOf(properties[name] ?? {}, template)]));
}

function exampleOf({ type, default: preset }: { type?: unknown; default?: unknown }, template: string): unknown {
  if (preset !== undefined) return preset;
  if (type === "number" || type === "integer") return 0;
  if (type === "boolean") return false;
  if (type === "array") return [];
  return type === "object" ? {} : template;
}
