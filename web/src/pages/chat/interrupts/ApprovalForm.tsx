/** Consent to a call: make it, make it with other arguments, or decline. */
import type { Interrupt } from "@ag-ui/core";
import { Check, Pencil, X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { TextAreaField } from "@/components/forms/Field";
import { objectOf } from "../message/citations";
import { toolName } from "../message/toolNames";
import { parsed } from "../message/toolResults";
import styles from "./InterruptCards.module.css";

export interface ApprovalFormProps {
  interrupt: Interrupt;
  onResolve: (payload: unknown) => void;
}

export function ApprovalForm({ interrupt, onResolve }: ApprovalFormProps) {
  const { t } = useTranslation(["chat", "common"]);
  const { tool, arguments: args } = objectOf(interrupt.metadata);
  const given = JSON.stringify(args ?? {}, null, 2);
  const mayEdit = "editedArgs" in objectOf(objectOf(interrupt.responseSchema).properties);
  const [mode, setMode] = useState<"ask" | "edit" | "decline">("ask");
  const known = toolName(String(tool ?? ""));
  return (
    <>
      <p className={styles.tool}>{"key" in known ? t(known.key) : known.name}</p>
      {mode === "edit" ? (
        <EditedArguments given={given} onResolve={onResolve} onBack={() => setMode("ask")} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <pre tabIndex={0}>{given}</pre>
      )}
      {mode === "decline" && <Decline onResolve={onResolve} onBack={() => setMode("ask")} />}
      {mode === "ask" && (
        <div className={styles.row}>
          <Button variant="primary" icon={Check} onClick={() => onResolve({ approved: true })}>
            {t("interrupt.approve")}
          </Button>
          {mayEdit && (
            <Button icon={Pencil} onClick={() => setMode("edit")}>
              {t("interrupt.edit")}
            </Button>
          )}
          <Button icon={X} onClick={() => setMode("decline")}>
            {t("interrupt.decline")}
          </Button>
        </div>
      )}
    </>
  );
}

function EditedArguments({ given, onResolve, onBack }: ModeProps & { given: string }) {
  const { t } = useTranslation(["chat", "common"]);
  const [text, setText] = useState(given);
  const value = parsed(text);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return (
    <>
      <TextAreaField
        label={t("interrupt.arguments")}
        rows={Math.min(16, text.split("\n").length + 1)}
        value={text}
        spellCheck={false}
        className={styles.json}
        error={isObject ? undefined : t("interrupt.no_object")}
        onChange={(event) => setText(event.target.value)}
      />
      <div className={styles.row}>
        <Button
          variant="primary"
          icon={Check}
          disabled={!isObject}
          onClick={() => onResolve({ approved: true, editedArgs: value })}
        >
          {t("interrupt.approve_edited")}
        </Button>
        <Button onClick={onBack}>{t("common:action.cancel")}</Button>
      </div>
    </>
  );
}

interface ModeProps {
  onResolve: (payload: unknown) => void;
  onBack: () => void;
}

function Decline({ onResolve, onBack }: ModeProps) {
  const { t } = useTranslation(["chat", "common"]);
  const [words, setWords] = useState("");
  const response = words.trim();
  return (
    <>
      <TextAreaField
        label={t("interrupt.words")}
        hint={t("interrupt.words_hint")}
        rows={2}
        maxLength={10_000}
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      <div className={styles.row}>
        <Button variant="danger" onClick={() => onResolve({ approved: false, ...(response ? { response } : {}) })}>
          {t("interrupt.decline")}
        </Button>
        <Button onClick={onBack}>{t("common:action.cancel")}</Button>
      </div>
    </>
  );
}
