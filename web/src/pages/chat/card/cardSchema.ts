/** The card of an answer (`ui_schema`), read without trust in its shape or its size. */
import { plainText } from "@/components/plainText";
import { listOf, objectOf } from "../message/citations";

export type CardStatus = "info" | "success" | "warning" | "error" | "pending";
export type TextRole = "title" | "subtitle" | "body" | "caption" | "quote" | "code";

export type CardNode =
  | { type: "text"; role: TextRole; content: string }
  | { type: "badge"; status: CardStatus; label: string }
  | { type: "list"; items: readonly string[]; ordered: boolean; actions: boolean }
  | { type: "table"; columns: readonly string[]; rows: readonly (readonly string[])[] }
  /** `url` is null where the address is none of the web. */
  | { type: "link"; label: string; url: URL | null }
  | { type: "citation"; number: number; label: string; quote: string; page: number | null }
  | { type: "stack"; framed: boolean; children: readonly CardNode[] }
  /** A kind that this console does not know, as JSON. */
  | { type: "unknown"; kind: string; json: string };

export interface Card {
  /** Null where it says nothing that is known. */
  root: CardNode | null;
  /** Whether parts were left out, because there were too many or they stood too deep. */
  isCut: boolean;
}

/** Above what the server makes: a card beyond it is cut instead of holding up the page. */
const MOST_NODES = 500;
const DEEPEST = 6;
const MOST_ITEMS = 100;
const MOST_COLUMNS = 20;
const LONGEST_TEXT = 8000;
const LONGEST_LABEL = 500;
const LONGEST_JSON = 2000;

const STATUSES: readonly string[] = ["info", "success", "warning", "error", "pending"];
const ROLES: readonly string[] = ["title", "subtitle", "body", "caption", "quote", "code"];

export function cardOf(schema: unknown): Card {
  const reader = new CardReader();
  const root = reader.node(objectOf(schema).root, 0);
  return { root, isCut: reader.isCut };
}

class CardReader {
  isCut = false;
  private count = 0;

  node(value: unknown, depth: number): CardNode | null {
    const fields = objectOf(value);
    const { type } = fields;
    if (typeof type !== "string") return null;
    this.count++;
    if (depth > DEEPEST || this.count > MOST_NODES) {
      this.isCut = true;
      return null;
    }
    switch (type) {
      case "text":
        return textNode(fields);
      case "badge":
        return { type, label: text(fields.label, LONGEST_LABEL), status: statusOf(fields.status) };
      case "list":
        return this.list(fields);
      case "table":
        return this.table(fields);
      case "link":
        return linkNode(fields);
      case "citation":
        return citationNode(fields);
      case "stack":
        return { type, framed: fields.appearance !== "plain", children: this.children(fields.children, depth) };
      default:
        return { type: "unknown", kind: text(type, 60), json: jsonOf(fields) };
    }
  }

  private children(value: unknown, depth: number): CardNode[] {
    const nodes: CardNode[] = [];
    for (const child of listOf(value)) {
      if (this.count > MOST_NODES) {
        this.isCut = true;
        break;
      }
      const node = this.node(child, depth + 1);
      if (node) nodes.push(node);
    }
    return nodes;
  }

  private list(fields: Record<string, unknown>): CardNode {
    const items = this.some(fields.items, MOST_ITEMS).map((item) => text(item, LONGEST_TEXT));
    return { type: "list", items, ordered: fields.ordered === true, actions: fields.role === "actions" };
  }

  private table(fields: Record<string, unknown>): CardNode {
    const cells = (row: unknown) => this.some(row, MOST_COLUMNS).map((cell) => text(cell, LONGEST_LABEL));
    return { type: "table", columns: cells(fields.columns), rows: this.some(fields.rows, MOST_ITEMS).map(cells) };
  }

  private some(value: unknown, most: number): readonly unknown[] {
    const items = listOf(value);
    if (items.length <= most) return items;
    this.isCut = true;
    return items.slice(0, most);
  }
}

function textNode(fields: Record<string, unknown>): CardNode {
  const role = typeof fields.role === "string" && ROLES.includes(fields.role) ? (fields.role as TextRole) : "body";
  return { type: "text", role, content: text(fields.content, LONGEST_TEXT) };
}

function linkNode(fields: Record<string, unknown>): CardNode {
  const url = webUrl(fields.url);
  return { type: "link", url, label: text(fields.label, LONGEST_LABEL) || text(fields.url, LONGEST_LABEL) };
}

function citationNode(fields: Record<string, unknown>): CardNode {
  const { number, page } = fields;
  return {
    type: "citation",
    number: typeof number === "number" ? number : 0,
    label: text(fields.label, LONGEST_LABEL),
    quote: text(fields.quote, LONGEST_LABEL),
    page: typeof page === "number" ? page : null,
  };
}

function statusOf(value: unknown): CardStatus {
  return typeof value === "string" && STATUSES.includes(value) ? (value as CardStatus) : "info";
}

/** What is no text, number or truth value says nothing. */
function text(value: unknown, most: number): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "string") return "";
  return plainText(value.length > most ? `${value.slice(0, most)}…` : value);
}

function webUrl(value: unknown): URL | null {
  if (typeof value !== "string" || !URL.canParse(value)) return null;
  const url = new URL(value);
  return url.protocol === "https:" || url.protocol === "http:" ? url : null;
}

function jsonOf(fields: Record<string, unknown>): string {
  let json = "";
  try {
    json = JSON.stringify(fields, null, 2);
  } catch {
    // Nested deeper than the engine follows.
  }
  return text(json, LONGEST_JSON);
}
