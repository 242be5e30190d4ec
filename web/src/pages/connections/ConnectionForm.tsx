/** A dialog that adds or changes an MCP connection. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { SelectField, SwitchField, TextField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { FormDialog } from "@/components/forms/FormDialog";
import { useDraft } from "@/components/forms/useDraft";
import { CONFIG_FIELDS, type ConfigField, configNumber, configOf } from "./connectionConfig";
import { type McpConnection, useInvalidateConnections } from "./connectionQueries";

interface Props {
  /** The connection to change, null for a new one. */
  connection: McpConnection | null;
  onSaved?: (connection: McpConnection) => void;
  onClose: () => void;
}

type Type = Schemas["McpConnectionBody"]["type"];

export function ConnectionForm({ connection, onSaved, onClose }: Props) {
  const { t } = useTranslation(["connections", "common"]);
  const initial = {
    name: connection?.name ?? "",
    type: (connection?.type ?? "standard") as Type,
    url: connection?.url ?? "",
    clientId: connection?.client_id ?? "",
    ...configTexts(connection),
  };
  const { draft, change, forget } = useDraft(`connection.${connection?.id ?? "new"}`, initial);
  const [token, setToken] = useState("");
  const [secret, setSecret] = useState("");
  const [keepsToken, setKeepsToken] = useState(true);
  const invalidate = useInvalidateConnections();
  async function send() {
    const saved = await saveConnection(
      connection,
      bodyOf(connection, draft, { token: token.trim(), secret: secret.trim(), keepsToken }),
    );
    forget();
    await invalidate();
    onSaved?.(saved);
  }
  return (
    <FormDialog
      title={t(connection ? "mcp.edit" : "mcp.add")}
      action={t("common:action.save")}
      onSend={send}
      onClose={() => {
        forget();
        onClose();
      }}
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
      {draft.type === "standard" && (
        <OAuthClientFields
          connection={connection}
          clientId={draft.clientId}
          secret={secret}
          onClientId={(clientId) => change({ clientId })}
          onSecret={setSecret}
        />
      )}
      <ConfigFields draft={draft} onChange={change} />
    </FormDialog>
  );
}

type ConnectionBody = Omit<Schemas["McpConnectionBody"], "enabled">;
type Draft = Record<"name" | "url" | "clientId" | ConfigField, string> & { type: Type };

function bodyOf(
  connection: McpConnection | null,
  draft: Readonly<Draft>,
  { token, secret, keepsToken }: { token: string; secret: string; keepsToken: boolean },
): ConnectionBody {
  const drops = connection?.has_secret && !keepsToken;
  return {
    name: draft.name.trim(),
    type: draft.type,
    url: draft.url.trim(),
    config: configOf(draft),
    ...(token && { auth_type: "bearer" as const, auth_token: token }),
    ...(drops && !token && { auth_type: "none" as const }),
    ...(!token && draft.type === "standard" && clientOf(connection, draft.clientId.trim(), secret)),
  };
}

function saveConnection(connection: McpConnection | null, body: ConnectionBody): Promise<McpConnection> {
  if (!connection) return call(api.POST("/api/v1/mcp/connections", { body: { ...body, enabled: true } }));
  const params = { path: { connection_id: connection.id } };
  return call(api.PUT("/api/v1/mcp/connections/{connection_id}", { params, body }));
}

interface OAuthClientProps {
  connection: McpConnection | null;
  clientId: string;
  secret: string;
  onClientId: (clientId: string) => void;
  onSecret: (secret: string) => void;
}

function OAuthClientFields({ connection, clientId, secret, onClientId, onSecret }: OAuthClientProps) {
  const { t } = useTranslation("connections");
  return (
    <details className={styles.more} open={connection?.client_id != null || undefined}>
      <summary>{t("oauth.client")}</summary>
      <TextField
        label={t("oauth.client_id")}
        hint={t("oauth.client_id_hint")}
        value={clientId}
        maxLength={2048}
        onChange={(event) => onClientId(event.target.value)}
        spellCheck={false}
      />
      <TextField
        label={t("oauth.client_secret")}
        hint={t(connection?.has_client_secret ? "oauth.client_secret_kept" : "oauth.client_secret_hint")}
        type="password"
        autoComplete="off"
        value={secret}
        onChange={(event) => onSecret(event.target.value)}
      />
    </details>
  );
}

/** What is sent of the OAuth client: nothing where it stays; another one takes its secret's place, too. */
function clientOf(connection: McpConnection | null, clientId: string, secret: string) {
  const isSame = clientId === (connection?.client_id ?? "");
  if (isSame && !secret) return {};
  const drops = !isSame && !secret && connection?.has_client_secret;
  return {
    client_id: clientId,
    ...(clientId && { auth_type: "oauth" as const }),
    ...(secret && { client_secret: secret }),
    ...(drops && { client_secret: "" }),
  };
}

const configTexts = (connection: McpConnection | null) =>
  Object.fromEntries(CONFIG_FIELDS.map(([field]) => [field, String(configNumber(connection, field) ?? "")])) as Record<
    ConfigField,
    string
  >;

interface ConfigFieldsProps {
  draft: Readonly<Record<ConfigField, string>> & { type: Type };
  onChange: (part: Partial<Record<ConfigField, string>>) => void;
}

function ConfigFields({ draft, onChange }: ConfigFieldsProps) {
  const { t } = useTranslation("connections");
  const shown = CONFIG_FIELDS.filter(([field]) => field !== "heartbeat_interval" || draft.type === "websocket");
  return (
    <details className={styles.more}>
      <summary>{t("mcp.config.title")}</summary>
      <div className={styles.pair}>
        {shown.map(([field, least, most, usual]) => (
          <TextField
            key={field}
            label={t(`mcp.config.${field}`)}
            hint={t(`mcp.config.${field}_hint`)}
            type="number"
            min={least}
            max={most}
            step={1}
            placeholder={String(usual)}
            value={draft[field]}
            onChange={(event) => onChange({ [field]: event.target.value })}
          />
        ))}
      </div>
    </details>
  );
}
