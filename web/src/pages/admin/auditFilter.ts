/** The filters of the audit log, as the API takes them. */
import type { Schemas } from "@/api/client";
import type { AuditSearch } from "./routes";

export type AuditAction = Schemas["AuditAction"];

export const ACTIONS = [
  "login.succeeded",
  "login.failed",
  "token.reused",
  "identity.linked",
  "password.changed",
  "api_key.created",
  "api_key.revoked",
  "user.created",
  "user.changed",
  "user.deleted",
  "role.created",
  "role.changed",
  "role.deleted",
  "config.changed",
  "config.reset",
  "model.registered",
  "model.changed",
  "model.removed",
  "mcp_connection.created",
  "mcp_connection.changed",
  "mcp_connection.deleted",
  "rule.created",
  "rule.changed",
  "rule.deleted",
  "rule.shared",
  "rule.unshared",
  "event_source.created",
  "event_source.rotated",
  "event_source.deleted",
  "mcp_connection.authorized",
  "mcp_connection.signed_out",
  "tool_policies.changed",
  "signing_key.rotated",
  "audit.exported",
  "backup.requested",
  "backup.check_requested",
  "backup.removal_requested",
  "backup.cancelled",
  "knowledge_base.shared",
  "knowledge_base.unshared",
  "knowledge_base.deleted",
  "knowledge_source.created",
  "knowledge_source.changed",
  "knowledge_source.deleted",
  "document.restricted",
  "document.opened",
  "skill.shared",
  "skill.unshared",
  "skill.deleted",
  "skill.reviewed",
  "skills.imported",
  "skill.tool_denied",
] as const satisfies readonly AuditAction[];

/** Days are the person's own: from the first one's beginning to the last one's end. */
export function auditParameters({ q, action, actor, since, until }: AuditSearch) {
  const known = ACTIONS.find((each) => each === action);
  return {
    ...(q && { q }),
    ...(known && { action: [known] }),
    ...(actor && { actor }),
    ...(since && { since: new Date(`${since}T00:00:00`).toISOString() }),
    ...(until && { until: dayAfter(until).toISOString() }),
  };
}

function dayAfter(day: string): Date {
  const date = new Date(`${day}T00:00:00`);
  date.setDate(date.getDate() + 1);
  return date;
}

export function auditQueryString(search: AuditSearch): string {
  const pairs = Object.entries(auditParameters(search)).map(([name, value]) => [name, String(value)]);
  return new URLSearchParams(pairs).toString();
}
