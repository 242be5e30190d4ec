/** The nodes of a card: each kind as its own piece of the page, and everything in them as text. */
import { CornerDownRight } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { Badge, type Tone } from "@/components/feedback/Badge";
import { TextTable } from "@/components/layout/TextTable";
import { Disclosure } from "@/components/overlays/Disclosure";
import { OutsideLink } from "../message/OutsideLink";
import { useQuestionActions } from "../message/questionActions";
import { useSources } from "../sources/sources";
import styles from "./AnswerCard.module.css";
import type { CardNode, CardStatus } from "./cardSchema";

type Node<Type extends CardNode["type"]> = Extract<CardNode, { type: Type }>;

const TONES: Record<CardStatus, Tone> = {
  info: "info",
  success: "success",
  warning: "warning",
  error: "danger",
  pending: "neutral",
};

export function CardNodeView({ node }: { node: CardNode }) {
  switch (node.type) {
    case "text":
      return <CardText node={node} />;
    case "badge":
      return (
        <p>
          <Badge tone={TONES[node.status]}>{node.label}</Badge>
        </p>
      );
    case "list":
      return node.actions ? <Actions node={node} /> : <PointList node={node} />;
    case "table":
      return <CardTable node={node} />;
    case "link":
      return <CardLink node={node} />;
    case "citation":
      return <CardCitation node={node} />;
    case "stack":
      return (
        <div className={node.framed ? styles.card : styles.plain}>
          {node.children.map((child, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: they never change
            <CardNodeView key={index} node={child} />
          ))}
        </div>
      );
    case "unknown":
      return <UnknownNode node={node} />;
  }
}

function CardText({ node: { role, content } }: { node: Node<"text"> }) {
  switch (role) {
    case "title":
      return <h3 dir="auto">{content}</h3>;
    case "subtitle":
      return <h4 dir="auto">{content}</h4>;
    case "quote":
      return <blockquote dir="auto">{content}</blockquote>;
    case "code":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <pre tabIndex={0}>{content}</pre>
      );
    default:
      return (
        <p dir="auto" className={role === "caption" ? styles.caption : undefined}>
          {content}
        </p>
      );
  }
}

function PointList({ node: { items, ordered } }: { node: Node<"list"> }) {
  const List = ordered ? "ol" : "ul";
  return (
    <List className={styles.list}>
      {items.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they never change
        <li key={index} dir="auto">
          {item}
        </li>
      ))}
    </List>
  );
}

/** Next steps: each can be taken over as the next question. */
function Actions({ node }: { node: Node<"list"> }) {
  const actions = useQuestionActions();
  if (!actions?.mayAsk) return <PointList node={node} />;
  return (
    <ul className={styles.actions}>
      {node.items.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they never change
        <li key={index}>
          <Button size="s" icon={CornerDownRight} className={styles.action} onClick={() => actions.draft(item)}>
            <span dir="auto">{item}</span>
          </Button>
        </li>
      ))}
    </ul>
  );
}

function CardTable({ node: { columns, rows } }: { node: Node<"table"> }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div className={styles.table} tabIndex={0}>
      <TextTable head={columns} rows={rows} />
    </div>
  );
}

function CardLink({ node: { label, url } }: { node: Node<"link"> }) {
  return (
    <p className={styles.link}>
      <OutsideLink href={url?.href}>
        <bdi>{label}</bdi>
      </OutsideLink>{" "}
      {/* A label may say anything: the server is what counts. */}
      {url && <span className={styles.caption}>{url.host}</span>}
    </p>
  );
}

function CardCitation({ node: { number, label, quote, page } }: { node: Node<"citation"> }) {
  const { t } = useTranslation("chat");
  const sources = useSources();
  const isKnown = sources?.citations.some((citation) => citation.number === number) ?? false;
  const name = (
    <>
      {number > 0 && <span className={styles.number}>{number}</span>}
      <bdi>{label}</bdi>
      {page !== null && <span className={styles.caption}>{t("sources.page", { page })}</span>}
    </>
  );
  return (
    <div className={styles.citation}>
      {isKnown && sources ? (
        <button
          type="button"
          className={styles.source}
          aria-pressed={sources.opened?.messageId === sources.messageId && sources.opened.number === number}
          onClick={() => sources.open(sources.messageId, number)}
        >
          {name}
        </button>
      ) : (
        <p className={styles.source}>{name}</p>
      )}
      {quote && <blockquote dir="auto">{quote}</blockquote>}
    </div>
  );
}

function UnknownNode({ node: { kind, json } }: { node: Node<"unknown"> }) {
  const { t } = useTranslation("chat");
  return (
    <Disclosure plain title={t("card.unknown", { kind })}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{json}</pre>
    </Disclosure>
  );
}
