/** One MCP connection: whether it works, its tools, and what they may do. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Pencil, Power, Trash2 } from "lucide-react";
import { type ReactElement, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call, callEmpty, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ConfirmDialog } from "@/components/Dialog";
import { ErrorNotice } from "@/components/ErrorNotice";
import { Notice } from "@/components/Notice";
import { Card, Page, Skeleton } from "@/components/Page";
import { useErrorToast } from "@/components/toasts";
import { formatNumber, formatRelative } from "@/i18n/format";
import { ConnectionForm } from "./ConnectionForm";
import { ConnectionBadges, useFault } from "./ConnectionStatus";
import { type Connection, connectionQuery, testConnection, useInvalidateConnections } from "./connectionQueries";
import { Facts } from "./ItemList";
import { ToolList } from "./ToolList";

const route = getRouteApi("/shell/connections/$connectionId");

export function ConnectionPage(): ReactElement {
  const { t } = useTranslation(["connections", "common"]);
  const { connectionId } = route.useParams();
  const { data, error, refetch } = useQuery(connectionQuery(connectionId));
  const test = useMutation({ mutationFn: () => testConnection(connectionId) });
  return (
    <Page
      title={data?.name ?? t("common:nav.connections")}
      lead={data?.url}
      actions={data && <Actions connection={data} onTest={() => test.mutate()} tests={test.isPending} />}
    >
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={6} />}
      <div role="status">{test.data && <Tested outcome={test.data} />}</div>
      {test.error && <ErrorNotice error={test.error} />}
      {data && (
        <>
          <Overview connection={data} />
          <ToolList connection={data} />
        </>
      )}
    </Page>
  );
}

function Overview({ connection }: { connection: Connection }) {
  const { t } = useTranslation("connections");
  const fault = useFault();
  return (
    <Card>
      <p>
        <ConnectionBadges connection={connection} /> {fault(connection)}
      </p>
      <Facts
        facts={[
          [t("mcp.type"), t(`mcp.type_${connection.type}`)],
          [t("mcp.token"), t(connection.has_secret ? "mcp.has_token" : "mcp.no_token")],
          [t("mcp.tools"), formatNumber(connection.tool_count)],
          [t("mcp.checked"), connection.checked_at && formatRelative(connection.checked_at)],
        ]}
      />
    </Card>
  );
}

function Tested({ outcome }: { outcome: Schemas["McpTested"] }) {
  const { t } = useTranslation("connections");
  return (
    <Notice tone={outcome.success ? "success" : "danger"}>
      {outcome.success
        ? t("mcp.works", { count: outcome.tool_count, milliseconds: formatNumber(outcome.latency) })
        : outcome.message}
    </Notice>
  );
}

interface ActionsProps {
  connection: Connection;
  onTest: () => void;
  tests: boolean;
}

function Actions({ connection, onTest, tests }: ActionsProps) {
  const { t } = useTranslation(["connections", "common"]);
  const [open, setOpen] = useState<"edit" | "delete" | null>(null);
  const navigate = route.useNavigate();
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
