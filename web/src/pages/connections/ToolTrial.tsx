/** A form that calls a tool once, made from its schema; any arguments can be given as JSON. */
import { useMutation } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { SwitchField, TextAreaField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { useDraft } from "@/components/forms/useDraft";
import { plainText } from "@/components/plainText";
import { formatNumber } from "@/i18n/format";
import type { McpTool } from "./connectionQueries";
import { parseObject } from "./models/modelDraft";
import { argumentFields } from "./schema/fields";
import { GroupEntries } from "./schema/SchemaInput";
import { type ArgumentDraft, argumentsOf, groupDraft } from "./schema/values";

type Params = Schemas["McpCallBody"]["params"];

export function ToolTrial({ connectionId, tool }: { connectionId: string; tool: McpTool }) {
  const { t } = useTranslation("connections");
  const form = useMemo(() => argumentFields(tool.input_schema), [tool.input_schema]);
  const texts = useDraft<{ [name: string]: ArgumentDraft }>(`tool.${connectionId}.${tool.name}`, {});
  const [isRaw, setRaw] = useState(form === null);
  const [raw, setRawText] = useState("{}");
  const [unreadable, setUnreadable] = useState<readonly string[]>([]);
  const trial = useToolCall(connectionId, tool.name);
  const object = parseObject(raw);
  function showRaw(isOn: boolean) {
    const read = form && argumentsOf(form, texts.draft);
    if (isOn && read && "value" in read) setRawText(JSON.stringify(read.value, null, 2));
    setRaw(isOn);
  }
  function submit() {
    if (isRaw || !form) {
      if (object) trial.mutate(object as Params);
      return;
    }
    const read = argumentsOf(form, texts.draft);
    setUnreadable("unreadable" in read ? read.unreadable : []);
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
      {form && <SwitchField label={t("mcp.raw")} checked={isRaw} onChange={showRaw} />}
      {isRaw || !form ? (
        <TextAreaField
          label={t("mcp.arguments")}
          error={object ? undefined : t("model.options_unreadable")}
          className={styles.mono}
          spellCheck={false}
          value={raw}
          onChange={(event) => setRawText(event.target.value)}
        />
      ) : (
        <GroupEntries
          field={form}
          draft={texts.draft}
          path=""
          unreadable={unreadable}
          onChange={(draft) => texts.change(groupDraft(draft))}
        />
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

function useToolCall(connectionId: string, toolName: string) {
  return useMutation({
    mutationFn: (params: Params) =>
      call(
        api.POST("/api/v1/mcp/connections/{connection_id}/tools/{tool_name}/call", {
          params: { path: { connection_id: connectionId, tool_name: toolName } },
          body: { params },
        }),
      ),
  });
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
      <pre className={styles.code}>
        {plainText(isPlain ? texts.join("\n\n") : JSON.stringify(called.result, null, 2))}
      </pre>
    </>
  );
}
