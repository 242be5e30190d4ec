/** A block of code with a button that copies it. */
import { Check, Copy } from "lucide-react";
import { isValidElement, type ReactNode, useRef } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "@/components/Button";
import styles from "./Markdown.module.css";
import { useCopy } from "./useCopy";

export function CodeBlock({ children }: { children: ReactNode }) {
  const { t } = useTranslation(["chat", "common"]);
  const code = useRef<HTMLPreElement>(null);
  const { copied, copy } = useCopy();
  const language = isValidElement<{ className?: string }>(children)
    ? /language-([\w+-]+)/.exec(children.props.className ?? "")?.[1]
    : undefined;
  return (
    <div className={styles.code} dir="ltr">
      <div className={styles.codeBar}>
        <span>{language}</span>
        <IconButton
          size="s"
          icon={copied ? Check : Copy}
          label={copied ? t("message.copied") : t("message.copy_code")}
          onClick={() => copy(code.current?.textContent ?? "")}
        />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre ref={code} tabIndex={0}>
        {children}
      </pre>
    </div>
  );
}
