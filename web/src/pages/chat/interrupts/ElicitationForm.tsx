/** A question of an MCP server: a form to fill in, or a page to visit. */
import { ExternalLink } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { OutsideLink } from "../message/OutsideLink";
import styles from "./InterruptCards.module.css";
import { FieldsForm } from "./ResponseForm";

export interface ElicitationFormProps {
  /** JSON Schema of the form's content. */
  schema: unknown;
  /** The page to visit; empty for a form. */
  url: string;
  onResolve: (payload: unknown) => void;
  onCancel: () => void;
}

export function ElicitationForm({ schema, url, onResolve, onCancel }: ElicitationFormProps) {
  const { t } = useTranslation("chat");
  const others = (
    <>
      <Button onClick={() => onResolve({ action: "decline" })}>{t("interrupt.decline")}</Button>
      <Button onClick={onCancel}>{t("interrupt.give_up")}</Button>
    </>
  );
  if (!url) {
    return (
      <>
        <p className={styles.quiet}>{t("interrupt.server_hint")}</p>
        <FieldsForm schema={schema} others={others} onSubmit={(content) => onResolve({ action: "accept", content })} />
      </>
    );
  }
  return (
    <>
      <p className={styles.quiet}>{t("interrupt.page_hint", { host: hostOf(url) })}</p>
      <p className={styles.message}>
        <ExternalLink size={14} aria-hidden /> <OutsideLink href={url}>{url}</OutsideLink>
      </p>
      <div className={styles.row}>
        <Button variant="primary" onClick={() => onResolve({ action: "accept" })}>
          {t("interrupt.page_agreed")}
        </Button>
        {others}
      </div>
    </>
  );
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
