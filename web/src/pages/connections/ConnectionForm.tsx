/** A dialog that adds or changes an MCP connection. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { SelectField, SwitchField, TextField } from "@/components/Field";
import { FormDialog } from "@/pages/admin/FormDialog";
import { type Connection, useInvalidateConnections } from "./connectionQueries";
import { useDraft } from "./useDraft";

interface Props {
  /** The connection to change, null for a new one. */
  connection: Connection | null;
  onSaved?: (connection: Connection) => void;
  onClose: () => void;
}

type Type = Schemas["McpConnectionBody"]["type"];

export function ConnectionForm({ connection, onSaved, onClose }: Props) {
  const { t } = useTranslation(["connections", "common"]);
  const initial = {
    name: connection?.name ?? "",
    type: (connection?.type ?? "standard") as Type,
    url: connection?.url ?? "",
  };
  const { draft, change, forget } = useDraft(`connection.${connection?.id ?? "new"}`, initial);
  const [token, setToken] = useState("");
  const [keepsToken, setKeepsToken] = useState(true);
  const invalidate = useInvalidateConnections();
  async function send() {
    const fields = { name: draft.name.trim(), type: draft.type, url: draft.url.trim() };
    const drops = connection?.has_secret && !keepsToken;
    const body = {
      ...fields,
      ...(token.trim() && { auth_type: "bearer" as const, auth_token: token.trim() }),
      ...(drops && !token.trim() && { auth_type: "none" as const }),
    };
    const saved = connection
      ? await call(
          api.PUT("/api/v1/mcp/connections/{connection_id}", {
            params: { path: { connection_id: connection.id } },
            body,
          }),
        )
      : await call(api.POST("/api/v1/mcp/connections", { body: { ...body, config: {}, enabled: true } }));
    forget();
    await invalidate();
    onSaved?.(saved);
  }
  return (
    <FormDialog
      title={t(connection ? "mcp.edit" : "mcp.add")}
      action={t("common:action.save")}
      onSend={send}
      onClose={onClose}
    >
      <TextField
        label={t("mcp.name")}
        hint={t("mcp.name_hint")}
        value={draft.name}
        maxLength={100}
        onChange={(event) => change({ name: event.target.value })}
        required
      />
      <SelectField
        label={t("mcp.type")}
        value={draft.type}
        options={(["standard", "websocket"] as const).map((value) => ({ value, label: t(`mcp.type_${value}`) }))}
        onChange={(event) => change({ type: event.target.value as Type })}
      />
      <TextField
        label={t("mcp.url")}
        type="url"
        placeholder={draft.type === "websocket" ? "wss://mcp.example.com/mcp" : "https://mcp.example.com/mcp"}
        value={draft.url}
        onChange={(event) => change({ url: event.target.value })}
        spellCheck={false}
        required
      />
      {connection?.has_secret && (
        <SwitchField label={t("mcp.keep_token")} checked={keepsToken} onChange={setKeepsToken} />
      )}
      <TextField
        label={t("mcp.token")}
        hint={t(connection?.has_secret ? "mcp.token_kept" : "mcp.token_hint")}
        type="password"
        autoComplete="off"
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
    </FormDialog>
  );
}
