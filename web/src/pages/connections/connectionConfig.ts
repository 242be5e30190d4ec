/** How a connection is kept up: numbers that are left to their defaults unless somebody gives them. */
import type { Schemas } from "@/api/client";
import type { McpConnection } from "./connectionQueries";

type Config = Schemas["McpConfig"];
export type ConfigField = keyof Config;

/** The fields with their bounds and defaults; the first two are milliseconds. */
export const CONFIG_FIELDS = [
  ["reconnect_delay", 100, 600_000, 5000],
  ["max_retries", 0, 10, 3],
  ["heartbeat_interval", 1000, 600_000, 30_000],
] as const satisfies readonly (readonly [ConfigField, number, number, number])[];

/** The number that a connection has for a field; null where it has the default. */
export function configNumber(connection: McpConnection | null, field: ConfigField): number | null {
  const value = connection?.config[field];
  return typeof value === "number" ? value : null;
}

/** What is sent of the texts of a form; an empty one is the default. */
export function configOf(texts: Readonly<Record<ConfigField, string>>): Config {
  const given = CONFIG_FIELDS.filter(([field]) => texts[field].trim() !== "");
  return Object.fromEntries(given.map(([field]) => [field, Number(texts[field])]));
}
