/** A form that calls a tool once, made from its schema; any arguments can be given as JSON. */
import { useMutation } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/ErrorNotice";
import { SelectField, SwitchField, TextAreaField, TextField } from "@/components/Field";
import { Notice } from "@/components/Notice";
import { formatNumber } from "@/i18n/format";
import type { McpTool } from "./connectionQueries";
import styles from "./Form.module.css";
import { parseObject } from "./models/modelDraft";
import { argumentsOf, fieldsOf, type SchemaField } from "./schemaFields";
import { useDraft } from "./useDraft";

type Params = Schemas["McpCallBody"]["params"];

export function ToolTrial({ connectionId, tool }: { connectionId: string; tool: McpTool }) {
  const { t } = useTranslation("connections");
  const fields = useMemo(() => fieldsOf(tool.input_schema), [tool.input_schema]);
  const texts = useDraft<Record<string, string>>(`tool.${connectionId}.${tool.name}`, {});
  const [isRaw, setRaw] = useState(fields === null);
  const [raw, setRaw_] = useState("{}");
  const [unreadable, setUnreadable] = useState<string | null>(null);
  const trial = useMutation({
    mutationFn: (params: Params) =>
      call(
        api.POST("/api/v1/mcp/connections/{connection_id}/tools/{tool_name}/call", {
          params: { path: { connection_id: connectionId, tool_name: tool.name } },
          body: { params },
        }),
      ),
  });
  function submit() {
    const object = parseObject(raw);
    const read =
      isRaw || !fields ? (object ? { value: object } : { unreadable: "" }) : argumentsOf(fields, texts.draft);
    setUnreadable("unreadable" in read ? read.unreadable : null);
    if ("value" in read) trial.mutate(read.value as Params);
  }
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {fields && <SwitchField label={t("mcp.raw")} checked={isRaw} onChange={setRaw} />}
      {isRaw || !fields ? (
        <TextAreaField
          label={t("mcp.arguments")}
          error={unreadable === "" ? t("model.options_unreadable") : undefined}
          className={styles.mono}
          spellCheck={false}
          value={raw}
          onChange={(event) => setRaw_(event.target.value)}
        />
      ) : (
        fields.map((field) => (
          <ArgumentField
            key={field.name}
            field={field}
            text={texts.draft[field.name] ?? field.initial}
            isUnreadable={unreadable === field.name}
            onChange={(text) => texts.change({ [field.name]: text })}
          />
        ))
      )}
      <div>
        <Button type="submit" variant="primary" busy={trial.isPending}>
          {t("mcp.call")}
        </Button>
      </div>
      {trial.error && <ErrorNotice error={trial.error} />}
      <div role="status">{trial.data && <Result called={trial.data} />}</div>
    </form>
  );
}

interface ArgumentProps {
  field: SchemaField;
  text: string;
  isUnreadable: boolean;
  onChange: (text: string) => void;
}

function ArgumentField({ field, text, isUnreadable, onChange }: ArgumentProps) {
  const { t } = useTranslation("connections");
  const words = {
    label: field.isRequired ? t("mcp.required", { name: field.label }) : field.label,
    hint: field.description,
    error: isUnreadable ? t("mcp.unreadable") : undefined,
  };
  if (field.kind === "boolean" || field.kind === "choice") {
    const values =
      field.kind === "choice"
        ? field.choices.map((choice, index) => ({ value: String(index), label: String(choice) }))
        : (["true", "false"] as const).map((value) => ({ value, label: t(`mcp.${value}`) }));
    return (
      <SelectField
        {...words}
        required={field.isRequired}
        value={text}
        options={[{ value: "", label: t("mcp.unset") }, ...values]}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  }
  if (field.kind === "json")
    return (
      <TextAreaField
        {...words}
        required={field.isRequired}
        className={styles.mono}
        placeholder={t("mcp.json")}
        spellCheck={false}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  const isText = field.kind === "text";
  return (
    <TextField
      {...words}
      type={isText ? "text" : "number"}
      step={isText ? undefined : field.kind === "integer" ? 1 : "any"}
      required={field.isRequired && !isText}
      value={text}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

/** What a tool gave; it is a stranger's text and shown as such. */
function Result({ called }: { called: Schemas["McpCalled"] }) {
  const { t } = useTranslation("connections");
  const { content, isError } = called.result;
  const blocks = Array.isArray(content) ? content : [];
  const texts = blocks.map((block) =>
    typeof block === "object" && block !== null && "text" in block && typeof block.text === "string"
      ? block.text
      : null,
  );
  const isPlain = texts.length > 0 && texts.every((text) => text !== null) && !called.result.structuredContent;
  return (
    <>
      <Notice tone={isError ? "danger" : "success"}>
        {t(isError ? "mcp.gave_error" : "mcp.gave", { milliseconds: formatNumber(called.duration) })}
      </Notice>
      <pre className={styles.code}>{isPlain ? texts.join("\n\n") : JSON.stringify(called.result, null, 2)}</pre>
    </>
  );
}
