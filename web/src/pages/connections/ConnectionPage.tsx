/** One MCP connection: whether it works, its tools, and what they may do. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Pencil, Power, Trash2 } from "lucide-react";
import { type ReactElement, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call, callEmpty, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { useErrorToast } from "@/components/feedback/toasts";
import styles from "@/components/forms/Form.module.css";
import { Facts } from "@/components/layout/ItemList";
import { Card, Page, Skeleton } from "@/components/layout/Page";
import { TabLink, TabList } from "@/components/layout/Tabs";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { currentLanguage } from "@/i18n";
import { formatNumber, formatRelative } from "@/i18n/format";
import { AuthorizationPanel } from "./AuthorizationPanel";
import { ConnectionForm } from "./ConnectionForm";
import { ConnectionBadges, useFault } from "./ConnectionStatus";
import { CONFIG_FIELDS, configNumber } from "./connectionConfig";
import { connectionQuery, type McpConnection, testConnection, useInvalidateConnections } from "./connectionQueries";
import { PromptList, ResourceList } from "./TextLists";
import { ToolList } from "./ToolList";

const route = getRouteApi("/shell/connections/$connectionId");
const resourcesRoute = getRouteApi("/shell/connections/$connectionId/resources");
const promptsRoute = getRouteApi("/shell/connections/$connectionId/prompts");

export function ConnectionPage(): ReactElement {
  const { connectionId } = route.useParams();
  return <ConnectionLayout connectionId={connectionId} list={(connection) => <ToolList connection={connection} />} />;
}

export function ConnectionResources(): ReactElement {
  const { connectionId } = resourcesRoute.useParams();
  const list = (connection: McpConnection) => <ResourceList connection={connection} />;
  return <ConnectionLayout connectionId={connectionId} list={list} />;
}

export function ConnectionPrompts(): ReactElement {
  const { connectionId } = promptsRoute.useParams();
  const list = (connection: McpConnection) => <PromptList connection={connection} />;
  return <ConnectionLayout connectionId={connectionId} list={list} />;
}

interface LayoutProps {
  connectionId: string;
  list: (connection: McpConnection) => ReactElement;
}

function ConnectionLayout({ connectionId, list }: LayoutProps) {
  const { t } = useTranslation(["connections", "common"]);
  const { data, error, refetch } = useQuery(connectionQuery(connectionId));
  const invalidate = useInvalidateConnections();
  // The server was contacted anew: what is shown of it is older.
  const test = useMutation({ mutationFn: () => testConnection(connectionId), onSettled: invalidate });
  return (
    <Page
      title={data?.name ?? t("common:nav.connections")}
      lead={data?.url}
      actions={data && <Actions connection={data} onTest={() => test.mutate()} tests={test.isPending} />}
    >
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={6} />}
      {test.error && <ErrorNotice error={test.error} />}
      {data && (
        <>
          <div>
            <div role="status" className={styles.outcome}>
              {test.data && <Tested outcome={test.data} />}
            </div>
            <Overview connection={data} />
          </div>
          <AuthorizationPanel connection={data} />
          {hasTools(data) && (
            <>
              <Lists connectionId={connectionId} />
              {list(data)}
            </>
          )}
        </>
      )}
    </Page>
  );
}

function Lists({ connectionId }: { connectionId: string }) {
  const { t } = useTranslation("connections");
  const params = { connectionId };
  return (
    <TabList label={t("mcp.lists")}>
      <TabLink
        to="/connections/$connectionId"
        params={params}
        activeOptions={{ exact: true, includeSearch: false }}
        resetScroll={false}
      >
        {t("mcp.tools")}
      </TabLink>
      <TabLink to="/connections/$connectionId/resources" params={params} resetScroll={false}>
        {t("mcp.resources")}
      </TabLink>
      <TabLink to="/connections/$connectionId/prompts" params={params} resetScroll={false}>
        {t("mcp.prompts")}
      </TabLink>
    </TabList>
  );
}

/** Nothing is known of the tools of a server that was never authorised, and to ask for them would fail. */
const hasTools = ({ status, tool_count }: McpConnection) => status !== "needs_authorization" || tool_count > 0;

function Overview({ connection }: { connection: McpConnection }) {
  const { t } = useTranslation("connections");
  const fault = useFault();
  return (
    <Card>
      <p>
        <ConnectionBadges connection={connection} /> {fault(connection.fault)}
      </p>
      <Facts
        facts={[
          [t("mcp.type"), t(`mcp.type_${connection.type}`)],
          [t("mcp.token"), t(connection.has_secret ? "mcp.has_token" : "mcp.no_token")],
          [t("oauth.client_id"), connection.client_id],
          [t("mcp.tools"), formatNumber(connection.tool_count)],
          [t("mcp.checked"), connection.checked_at && formatRelative(connection.checked_at)],
          ...CONFIG_FIELDS.map(([field]) => [t(`mcp.config.${field}`), configNumber(connection, field)] as const),
        ]}
      />
    </Card>
  );
}

function Tested({ outcome }: { outcome: Schemas["McpTested"] }) {
  const { t } = useTranslation("connections");
  const fault = useFault();
  const message = currentLanguage() === "zh" ? outcome.message_zh : outcome.message;
  return (
    <Notice tone={outcome.success ? "success" : "danger"}>
      {outcome.success
        ? t("mcp.works", { count: outcome.tool_count, milliseconds: formatNumber(outcome.latency) })
        : message}
      {outcome.fault && <p>{fault(outcome.fault)}</p>}
    </Notice>
  );
}

interface ActionsProps {
  connection: McpConnection;
  onTest: () => void;
  tests: boolean;
}

function Actions({ connection, onTest, tests }: ActionsProps) {
  const { t } = useTranslation(["connections", "common"]);
  const [open, setOpen] = useState<"edit" | "delete" | null>(null);
  const navigate = useNavigate();
  const creates = useMay()("mcp:create");
  const invalidate = useInvalidateConnections();
  const fail = useErrorToast();
  const params = { path: { connection_id: connection.id } };
  const toggle = useMutation({
    mutationFn: () =>
      call(api.PUT("/api/v1/mcp/connections/{connection_id}", { params, body: { enabled: !connection.enabled } })),
    onSuccess: invalidate,
    onError: fail,
  });
  async function remove() {
    await callEmpty(api.DELETE("/api/v1/mcp/connections/{connection_id}", { params }));
    await navigate({ to: "/connections" });
    await invalidate();
  }
  return (
    <>
      <Button variant="primary" busy={tests} onClick={onTest}>
        {t("test.action")}
      </Button>
      {creates && (
        <>
          <Button icon={Pencil} onClick={() => setOpen("edit")}>
            {t("common:action.edit")}
          </Button>
          <Button icon={Power} busy={toggle.isPending} onClick={() => toggle.mutate()}>
            {t(connection.enabled ? "model.switch_off" : "model.switch_on")}
          </Button>
          <Button icon={Trash2} onClick={() => setOpen("delete")}>
            {t("common:action.delete")}
          </Button>
        </>
      )}
      {open === "edit" && <ConnectionForm connection={connection} onClose={() => setOpen(null)} />}
      <ConfirmDialog
        open={open === "delete"}
        onClose={() => setOpen(null)}
        title={t("model.delete_title", { name: connection.name })}
        description={t("mcp.delete_text")}
        action={t("common:action.delete")}
        onConfirm={remove}
      />
    </>
  );
}
