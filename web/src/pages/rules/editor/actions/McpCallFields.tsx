/** A tool of an MCP server, and its arguments. */
import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { SelectField, TextField } from "@/components/forms/Field";
import { type McpTool, toolsQuery } from "@/pages/connections/connectionQueries";
import { useSources } from "../../useSources";
import { JsonField } from "../JsonField";
import type { ActionFieldsProps } from "./fields";
import { skeletonOf } from "./toolArguments";

export function McpCallFields({ action, sourceId, template, onChange }: ActionFieldsProps<"mcp_call">) {
  const { t } = useTranslation("rules");
  const list = useId();
  const { connections } = useSources();
  const connectionId = action.connection_id ?? connections.find(({ id }) => id === sourceId)?.id ?? "";
  const { data: tools } = useQuery({ ...toolsQuery(connectionId), enabled: connectionId !== "" });
  const tool = tools?.items.find(({ name }) => name === action.target);
  return (
    <>
      <SelectField
        label={t("then.connection")}
        value={action.connection_id ?? ""}
        options={[
          { value: "", label: t("then.connection_event") },
          ...connections.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        onChange={({ target }) => onChange({ ...action, connection_id: target.value || null })}
      />
      <TextField
        label={t("then.tool")}
        hint={tool?.description}
        list={list}
        value={action.target}
        maxLength={200}
        spellCheck={false}
        onChange={({ target }) => onChange({ ...action, target: target.value })}
        required
      />
      <datalist id={list}>
        {tools?.items.map(({ name }: McpTool) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <JsonField
        label={t("then.arguments")}
        hint={t("then.template_hint", { example: template })}
        value={action.params ?? {}}
        object
        onChange={(params) => onChange({ ...action, params })}
      />
      {tool && Object.keys(action.params ?? {}).length === 0 && (
        <div>
          <Button
            size="s"
            onClick={() => onChange({ ...action, params: skeletonOf(tool.input_schema, template) as never })}
          >
            {t("then.fill_in")}
          </Button>
        </div>
      )}
    </>
  );
}
